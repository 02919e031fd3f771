import HTTP
import Platform
import System

/// What other threads tell a loop.
enum Message: Sendable {
  /// A worker made the answer.
  case answer(token: UInt64, Response)
  /// A worker took a piece of a body; with an answer when it was the last it takes.
  case taken(token: UInt64, StreamingUpload, Response?)
  /// A connection that another loop accepted.
  case adopt(descriptor: Int32, SocketAddress)
  /// The access lines that the loop has are to be handed over; `done` is told when they are.
  case handOverLines(done: @Sendable () -> Void)
  /// The server stops: answers in flight until `deadline`, a monotonic time.
  case stop(deadline: UInt64)
}

/// A loop's epoll and letter box: other threads put messages in, the loop wakes and takes them all.
final class Mailbox: Sendable {
  private let messages = Locked<[Message]>([])
  private let counter: Descriptor
  /// Watches the counter and the listener from the start.
  let epoll: Descriptor

  init(listener: borrowing Descriptor) throws(SystemError) {
    counter = try Kernel.eventCounter()
    epoll = try Kernel.epoll()
    try Kernel.watch(counter.raw, .readable, token: EventLoop.Token.mailbox, in: epoll.raw)
    try watch(listener: listener.raw)
  }

  /// Watches for new connections, of which each wakes one of the loops.
  func watch(listener: Int32) throws(SystemError) {
    try Kernel.watch(listener, [.readable, .exclusive], token: EventLoop.Token.listener, in: epoll.raw)
  }

  deinit {
    // A connection that was passed on after the loop had ended.
    for case .adopt(let descriptor, _) in messages.withLock({ $0 }) { _ = Descriptor(owning: descriptor) }
  }

  func post(_ message: Message) {
    let first = messages.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if first { Kernel.raise(counter.raw) }
  }

  /// Every message so far, oldest first.
  func take() -> [Message] {
    Kernel.reset(counter.raw)
    return messages.withLock { messages in
      let all = messages
      messages = []
      return all
    }
  }
}
