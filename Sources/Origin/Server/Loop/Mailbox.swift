import HTTP
import Linux
import System

/// Messages from other threads to a loop.
enum Message: Sendable {
  /// A worker made the answer.
  case answer(token: UInt64, Response)
  /// A worker took a piece of a body; has the answer if it takes no more.
  case consumed(token: UInt64, StreamingUpload, Response?)
  /// More bytes of a file that is being sent may have been checked.
  case sendMore(token: UInt64)
  /// A connection that another loop accepted.
  case adopt(descriptor: Int32, SocketAddress)
  /// Hand over the access lines collected so far; `done` is called afterwards.
  case flushLog(done: @Sendable () -> Void)
  /// The server is stopping: answers in flight have until `deadline`, a monotonic time.
  case stop(deadline: UInt64)
}

/// A loop's epoll and message queue: other threads post messages, the loop wakes up and takes them all.
final class Mailbox: Sendable {
  private let messages = Locked<[Message]>([])
  private let counter: Descriptor
  /// Watches the counter and the listener from the beginning.
  let epoll: Descriptor

  init(listener: borrowing Descriptor) throws(SystemError) {
    counter = try Kernel.eventCounter()
    epoll = try Kernel.epoll()
    try Kernel.watch(counter.raw, .readable, token: EventLoop.Token.mailbox, in: epoll.raw)
    try watch(listener: listener.raw)
  }

  /// Watches the listener; each new connection wakes one of the loops.
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

  /// Returns all messages so far, oldest first.
  func drain() -> [Message] {
    Kernel.reset(counter.raw)
    return messages.withLock { messages in
      let all = messages
      messages = []
      return all
    }
  }
}
