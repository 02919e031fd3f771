import HTTP
import System

/// One client's connection, owned by one loop.
///
/// While it is idle it holds no buffer: heads are read into the loop's memory, and only what is left over of
/// them is kept here.
final class Connection {
  let descriptor: Descriptor
  /// Names the connection in epoll and in messages; never used again for another one.
  let token: UInt64
  let peer: PeerAddress
  /// Held to the limit per address.
  let isCounted: Bool
  /// It was over a limit, and only lingers.
  let isRefused: Bool
  var state: ConnectionState

  /// The last read may have left something.
  var canRead = true
  /// The last write found room.
  var canWrite = true
  /// The kernel said that the client sends no more: read until the end shows.
  var peerDone = false
  /// The end was read.
  var inputEnded = false
  /// Closing at once could destroy the last answer: the client may still be sending.
  var lingers = false

  /// What was read and not used yet.
  var stash: [UInt8] = []
  /// The stash is the beginning of a head, and this is how far it was parsed.
  var partialHead: PartialHead?
  var upload: Upload?
  /// A body that nobody wants, read over.
  var discarding: BodyFraming?
  var discarded: UInt64 = 0
  /// What the exchange in progress needs when its answer comes.
  var exchange = Exchange()

  var queue = WriteQueue()
  /// Bytes of answers so far, and how many of them the kernel has.
  var produced: UInt64 = 0
  var sent: UInt64 = 0
  /// Answers that it hasn't whole.
  var pending = PendingAnswers()
  /// It used up its turn with work left.
  var takesTurn = false
  /// When the loop looks at the deadline next.
  var lookAt = UInt64.max

  init(
    _ descriptor: consuming Descriptor, token: UInt64, peer: PeerAddress, counted: Bool = false,
    refused: Bool = false, state: ConnectionState
  ) {
    self.descriptor = descriptor
    self.token = token
    self.peer = peer
    isCounted = counted
    isRefused = refused
    self.state = state
  }

  var isClosed: Bool { state.phase == .closed }

  /// The phases in which heads are read.
  var isBetweenAnswers: Bool { state.phase == .idle || state.phase == .head }
}

/// How far a head was parsed that hasn't arrived whole.
final class PartialHead {
  var parser: RequestParser

  init(_ parser: RequestParser) { self.parser = parser }
}

/// What is remembered of a request until it is answered.
struct Exchange {
  var isHead = false
  var isHTTP11 = true
  /// When its head was complete.
  var start: UInt64 = 0
  /// The words of its access line, where lines are written.
  var logged: LogRequest?
}
