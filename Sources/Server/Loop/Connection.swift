import HTTP
import Platform
import System
import TLS

/// One client's connection, owned by one loop: its socket, and what is on its way in either direction.
///
/// What is to be done with it `http` decides. While it is idle it holds no buffer: heads are read into the loop's memory,
/// and only what is left over of them is kept here.
final class Connection {
  let descriptor: Descriptor
  /// Names the connection in epoll and in messages; never used again for another one.
  let token: UInt64
  let peer: PeerAddress
  /// Held to the limit per address.
  let isCounted: Bool
  /// It was over a limit, and only lingers.
  let isRefused: Bool
  var http: HTTPConnection
  /// Between the socket and what is read and sent, where the server speaks TLS.
  var tls: TLSSession?

  /// What was read and not used yet.
  var stash: [UInt8] = []
  var upload: Upload?
  /// When the head of the request at hand was complete.
  var start: UInt64 = 0
  /// The words of its access line, where lines are written.
  var logged: LogRequest?

  var queue = WriteQueue()
  /// Answers that the kernel hasn't whole.
  var pending = PendingAnswers()
  /// It used up its turn with work left.
  var takesTurn = false
  /// When the loop looks at the deadline next.
  var lookAt = UInt64.max

  init(
    _ descriptor: consuming Descriptor, token: UInt64, peer: PeerAddress, counted: Bool = false,
    refused: Bool = false, tls: TLSSession? = nil, http: consuming HTTPConnection
  ) {
    self.descriptor = descriptor
    self.token = token
    self.peer = peer
    isCounted = counted
    isRefused = refused
    self.tls = tls
    self.http = http
  }

  var isClosed: Bool { http.isClosed }

  /// Bytes that the kernel has sent, or will send, and the client hasn't acknowledged.
  var unacknowledged: UInt64 { UInt64(Kernel.unacknowledged(descriptor.raw)) }
}

/// What a client hasn't taken yet, in order.
struct WriteQueue {
  private var segments: [BodySegment] = []
  private var first = 0
  /// What stands in the place of a segment that was sent.
  private static let sent = BodySegment.bytes(SharedBytes([]), 0..<0)

  var isEmpty: Bool { first == segments.count }

  /// The next segment to send.
  var next: BodySegment? { first < segments.count ? segments[first] : nil }

  mutating func append(_ segment: BodySegment) {
    if segment.count > 0 { segments.append(segment) }
  }

  /// Puts bytes before everything else.
  mutating func prepend(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else { return }
    let copy = SharedBytes(bytes.bytes)
    segments.replaceSubrange(0..<first, with: [.bytes(copy, 0..<copy.count)])
    first = 0
  }

  /// Adds a copy of bytes behind everything else.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let copy = SharedBytes(bytes.bytes)
    append(.bytes(copy, 0..<copy.count))
  }

  /// Takes `count` sent bytes from the front.
  mutating func remove(_ count: Int) {
    var left = UInt64(count)
    while left > 0, let segment = next {
      if segment.count > left {
        segments[first] = segment.part(left..<segment.count)
        return
      }
      left &-= segment.count
      // Its bytes may have been made for this client alone.
      segments[first] = Self.sent
      first &+= 1
    }
    if isEmpty { removeAll() }
  }

  /// Forgets everything, and its memory.
  mutating func removeAll() {
    segments = []
    first = 0
  }

  /// Copies what comes next behind what `buffer` has, until that is full; gives the file that doesn't have its bytes, where one
  /// doesn't.
  mutating func copy(into buffer: RecordBuffer) -> FileBody? {
    for index in first..<segments.count {
      if buffer.space.isEmpty { return nil }
      if case .made(let bytes) = segments[index] {
        segments[index] = .bytes(bytes.make(), 0..<bytes.count)
      }
      switch segments[index] {
      case .bytes(let bytes, let range):
        buffer.append(UnsafeRawBufferPointer(rebasing: bytes.address[range]))
      case .file(let file):
        guard buffer.append(file) else { return file }
      case .made: break
      }
    }
    return nil
  }

  /// Bytes that a call lists before it has no more of them made. A client that takes nothing keeps them, so it is less than
  /// what a socket may take: one piece of a manifest is about 50 KB.
  private static let madeAtOnce = 32 << 10

  /// Lists the pieces of memory that come next, up to the first file; true when that comes right behind them. Those that
  /// are still to be made are made here, as many as the call may take.
  mutating func gather(into pieces: inout GatherList) -> Bool {
    var listed = 0
    for index in first..<segments.count {
      if pieces.isFull { return false }
      if case .made(let bytes) = segments[index] {
        guard listed < Self.madeAtOnce else { return false }
        segments[index] = .bytes(bytes.make(), 0..<bytes.count)
      }
      guard case .bytes(let bytes, let range) = segments[index] else { return true }
      pieces.append(UnsafeRawBufferPointer(rebasing: bytes.address[range]))
      listed &+= range.count
    }
    return false
  }
}
