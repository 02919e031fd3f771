/// The content of an answer, after its head.
package enum Body: Sendable {
  case none
  case bytes(SharedBytes)
  case pieces([SharedBytes])
  case file(FileBody)
  case segments([BodySegment])

  /// The number of bytes.
  package var count: UInt64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): UInt64(bytes.count)
    case .pieces(let pieces): pieces.reduce(0) { $0 + UInt64($1.count) }
    case .file(let file): file.count
    case .segments(let segments): segments.reduce(0) { $0 + $1.count }
    }
  }

  /// Returns the segments that make up a range of the body.
  package func part(_ range: Range<UInt64>) -> [BodySegment] {
    var start: UInt64 = 0
    var parts: [BodySegment] = []
    for segment in allSegments {
      let end = start + segment.count
      let low = max(range.lowerBound, start)
      let high = min(range.upperBound, end)
      if low < high { parts.append(segment.part((low - start)..<(high - start))) }
      start = end
    }
    return parts
  }

  /// The file that its first bytes, or those after the head of its first part, come from.
  package var firstFile: FileBody? {
    switch self {
    case .file(let file): return file
    case .segments(let segments):
      for case .file(let file) in segments { return file }
      return nil
    case .none, .bytes, .pieces: return nil
    }
  }

  private var allSegments: [BodySegment] {
    switch self {
    case .none: []
    case .bytes(let bytes): [.bytes(bytes, 0..<bytes.count)]
    case .pieces(let pieces): pieces.map { .bytes($0, 0..<$0.count) }
    case .file(let file): [.file(file)]
    case .segments(let segments): segments
    }
  }
}

/// A part of an answer's body that comes from one source.
package enum BodySegment: Sendable {
  case bytes(SharedBytes, Range<Int>)
  case file(FileBody)
  case made(MadeBytes)

  /// The number of bytes.
  package var count: UInt64 {
    switch self {
    case .bytes(_, let range): UInt64(range.count)
    case .made(let bytes): UInt64(bytes.count)
    case .file(let file): file.count
    }
  }

  /// Returns a part of the segment; `range` counts from the segment's start.
  package func part(_ range: Range<UInt64>) -> BodySegment {
    switch self {
    case .bytes(let bytes, let own):
      let low = own.lowerBound + Int(min(range.lowerBound, UInt64(own.count)))
      let high = own.lowerBound + Int(min(range.upperBound, UInt64(own.count)))
      return .bytes(bytes, low..<high)
    case .made(let bytes):
      return BodySegment.bytes(bytes.make(), 0..<bytes.count).part(range)
    case .file(let file):
      return .file(file.part(range))
    }
  }
}

/// Bytes made just before they are sent, so that a large document is never in memory as a whole.
package struct MadeBytes: Sendable {
  /// The number of bytes.
  package let count: Int
  private let body: @Sendable () -> SharedBytes

  /// `count` bytes that `body` returns, the same each time, on the event loop: at most some dozens of kilobytes.
  package init(count: Int, _ body: @escaping @Sendable () -> SharedBytes) {
    self.count = count
    self.body = body
  }

  /// Makes the bytes.
  package func make() -> SharedBytes {
    let bytes = body()
    precondition(bytes.count == count, "a body has other bytes than its head says")
    return bytes
  }
}

/// Keeps a file open from which answers are sent.
package protocol FileOwner: AnyObject, Sendable {
  /// Called when an answer was broken off because the file lacks bytes that it announced, or they can't be read. Called on a
  /// thread that may block, once per such answer.
  func bytesAreMissing()
  /// What decides which of its bytes may be sent; nil if all may.
  var gate: (any FileGate)? { get }
}

extension FileOwner {
  /// By default, all bytes may be sent.
  package var gate: (any FileGate)? { nil }
}

/// Decides which bytes of a file may be sent while it is still being checked.
package protocol FileGate: AnyObject, Sendable {
  /// How many bytes from `offset` on, up to `count`, may be sent; nil if they never may. If it is 0, `changed` is called when
  /// that may have changed: once, on any thread, perhaps before this returns.
  func sendable(at offset: UInt64, upTo count: Int, changed: @escaping @Sendable () -> Void) -> Int?
  /// The answer instead of one whose first bytes may never be sent.
  var failure: Response { get }
}

/// A range of an open file, sent without passing through user memory.
package struct FileBody: Sendable {
  /// The owner that keeps the descriptor open until the answer is sent.
  package let owner: any FileOwner
  /// The open file's descriptor.
  package let descriptor: Int32
  /// The offset in the file.
  package let offset: UInt64
  /// The number of bytes.
  package let count: UInt64

  /// `count` bytes of an open file from `offset` on.
  package init(owner: any FileOwner, descriptor: Int32, offset: UInt64, count: UInt64) {
    self.owner = owner
    self.descriptor = descriptor
    self.offset = offset
    self.count = count
  }

  /// Returns a part of it; `range` counts from its own start.
  package func part(_ range: Range<UInt64>) -> FileBody {
    let start = min(range.lowerBound, count)
    let end = min(range.upperBound, count)
    return FileBody(owner: owner, descriptor: descriptor, offset: offset &+ start, count: end &- start)
  }
}
