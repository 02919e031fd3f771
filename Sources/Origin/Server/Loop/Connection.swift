import HTTP
import Linux
import System
import TLS
import Values

/// A client's connection, owned by one loop: its socket, and the data in flight in both directions.
///
/// `http` decides what to do. An idle connection has no buffer: heads are read into the loop's memory, and only unused
/// input is kept here.
final class Connection {
  let descriptor: Descriptor
  /// Identifies the connection in epoll and in messages; never reused.
  let token: UInt64
  let peer: IPAddress
  /// Whether it counts towards the limit per address.
  let isCounted: Bool
  /// Whether it was over a limit, and only lingers.
  let isRefused: Bool
  var http: HTTPConnection
  /// The TLS session, if the server uses TLS.
  var tls: TLSSession?

  /// Input that was read but not used yet.
  var savedInput: [UInt8] = []
  var upload: Upload?
  /// What a worker does, or is going to do, for the current request.
  var work: PendingWork?
  /// Gives up the answer to the current request; nil if that isn't possible.
  var abandon: (@Sendable () -> Void)?
  /// When the current request's head was complete.
  var start: UInt64 = 0
  /// The request's part of the access line, if there is an access log.
  var logged: LogRequest?

  var queue = WriteQueue()
  /// Answers that haven't been handed to the kernel completely.
  var pending = PendingAnswers()
  /// Whether it used up its turn with work left.
  var hasYielded = false
  /// When the loop will next check the deadline.
  var nextCheck = UInt64.max

  init(
    _ descriptor: consuming Descriptor, token: UInt64, peer: IPAddress, counted: Bool = false,
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

  /// The number of bytes that the kernel has sent, or will send, and the client hasn't acknowledged.
  var unacknowledged: UInt64 { UInt64(Kernel.unacknowledged(descriptor.raw)) }
}

/// A job for a connection, and where it was submitted.
struct PendingWork {
  let job: WorkerJob
  let pool: WorkerPool
}

/// What is still to be sent to a client, in order.
struct WriteQueue {
  private var segments: [BodySegment] = []
  private var first = 0
  /// The bytes of all that is left.
  private(set) var count: UInt64 = 0
  /// Replaces a segment that was sent.
  private static let sent = BodySegment.bytes(SharedBytes([]), 0..<0)

  var isEmpty: Bool { first == segments.count }

  /// The next segment to send.
  var next: BodySegment? { first < segments.count ? segments[first] : nil }

  mutating func append(_ segment: BodySegment) {
    guard segment.count > 0 else { return }
    segments.append(segment)
    count &+= segment.count
  }

  /// Inserts bytes before everything else.
  mutating func prepend(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else { return }
    let copy = SharedBytes(bytes.bytes)
    segments.replaceSubrange(0..<first, with: [.bytes(copy, 0..<copy.count)])
    first = 0
    self.count &+= UInt64(bytes.count)
  }

  /// Appends a copy of bytes.
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    let copy = SharedBytes(bytes.bytes)
    append(.bytes(copy, 0..<copy.count))
  }

  /// Removes `count` sent bytes from the front.
  mutating func remove(_ count: Int) {
    var left = UInt64(count)
    self.count &-= min(left, self.count)
    while left > 0, let segment = next {
      if segment.count > left {
        segments[first] = segment.part(left..<segment.count)
        return
      }
      left &-= segment.count
      // Its bytes may have been produced for this client only.
      segments[first] = Self.sent
      first &+= 1
    }
    if isEmpty { removeAll() }
  }

  /// Removes everything and frees the memory.
  mutating func removeAll() {
    segments = []
    first = 0
    count = 0
  }

  /// Copies the next bytes to the end of `buffer`, until that is full; returns a file that lacks its announced bytes, if
  /// any. `sendable` says how many of a file's bytes may be sent; nil if none ever.
  mutating func copy(into buffer: RecordBuffer, sendable: (FileBody) -> Int?) -> FileBody? {
    for index in first..<segments.count {
      if buffer.space.isEmpty { return nil }
      if case .made(let bytes) = segments[index] {
        segments[index] = .bytes(bytes.make(), 0..<bytes.count)
      }
      switch segments[index] {
      case .bytes(let bytes, let range):
        buffer.append(UnsafeRawBufferPointer(rebasing: bytes.address[range]))
      case .file(let file):
        guard let count = sendable(file) else { return file }
        guard buffer.append(file.part(0..<UInt64(count))) else { return file }
        // The rest is still being checked.
        if UInt64(count) < file.count { return nil }
      case .made: break
      }
    }
    return nil
  }

  /// How many bytes a call lists before it stops producing more. A client that reads nothing keeps them in memory, so it is
  /// less than a socket takes: one piece of a manifest is about 50 KB.
  private static let maxProduced = 32 << 10

  /// Lists the next pieces of memory, up to the first file or `limit` bytes; returns true if a file comes right after them.
  /// Pieces yet to be produced are produced here, as many as one call may send.
  mutating func gather(into pieces: inout GatherList, upTo limit: Int) -> Bool {
    var listed = 0
    for index in first..<segments.count {
      if pieces.isFull || listed >= limit { return false }
      if case .made(let bytes) = segments[index] {
        guard listed < Self.maxProduced else { return false }
        segments[index] = .bytes(bytes.make(), 0..<bytes.count)
      }
      guard case .bytes(let bytes, let range) = segments[index] else { return true }
      pieces.append(UnsafeRawBufferPointer(rebasing: bytes.address[range].prefix(limit &- listed)))
      listed &+= range.count
    }
    return false
  }
}
