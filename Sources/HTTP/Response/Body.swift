/// What follows an answer's head.
package enum Body: Sendable {
  case none
  case bytes(SharedBytes)
  case pieces([SharedBytes])
  case file(FileBody)
  case segments([BodySegment])

  /// How many bytes it has.
  package var count: UInt64 {
    switch self {
    case .none: 0
    case .bytes(let bytes): UInt64(bytes.count)
    case .pieces(let pieces): pieces.reduce(0) { $0 + UInt64($1.count) }
    case .file(let file): file.count
    case .segments(let segments): segments.reduce(0) { $0 + $1.count }
    }
  }

  /// The segments that make up `range` of it.
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

/// A run of an answer's body that comes from one place.
package enum BodySegment: Sendable {
  case bytes(SharedBytes, Range<Int>)
  case file(FileBody)
  case made(MadeBytes)

  /// How many bytes it has.
  package var count: UInt64 {
    switch self {
    case .bytes(_, let range): UInt64(range.count)
    case .made(let bytes): UInt64(bytes.count)
    case .file(let file): file.count
    }
  }

  /// The part of it that `range` names, counted from its own start.
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

/// Bytes that are made when they are about to be sent, so that a large document is never in memory as a whole.
package struct MadeBytes: Sendable {
  /// How many bytes it has.
  package let count: Int
  private let body: @Sendable () -> SharedBytes

  /// `count` bytes that `body` gives, the same each time, on the event loop: at most some dozens of kilobytes.
  package init(count: Int, _ body: @escaping @Sendable () -> SharedBytes) {
    self.count = count
    self.body = body
  }

  /// The bytes.
  package func make() -> SharedBytes {
    let bytes = body()
    precondition(bytes.count == count, "a body has other bytes than its head says")
    return bytes
  }
}

/// What keeps a file open from which answers are sent.
package protocol FileOwner: AnyObject, Sendable {
  /// The file doesn't have the bytes that an answer announced, or they can't be read: that answer was broken off. Called on a
  /// thread that may wait, once for each such answer.
  func bytesAreMissing()
}

/// A piece of an open file, sent without passing through user memory.
package struct FileBody: Sendable {
  /// Keeps the descriptor open until the answer is sent.
  package let owner: any FileOwner
  /// The open file.
  package let descriptor: Int32
  /// Where in the file the piece begins.
  package let offset: UInt64
  /// How many bytes it has.
  package let count: UInt64

  /// `count` bytes of an open file from `offset` on.
  package init(owner: any FileOwner, descriptor: Int32, offset: UInt64, count: UInt64) {
    self.owner = owner
    self.descriptor = descriptor
    self.offset = offset
    self.count = count
  }

  /// The part of it that `range` names, counted from its own start.
  package func part(_ range: Range<UInt64>) -> FileBody {
    let start = min(range.lowerBound, count)
    let end = min(range.upperBound, count)
    return FileBody(owner: owner, descriptor: descriptor, offset: offset &+ start, count: end &- start)
  }
}
