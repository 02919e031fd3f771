import HTTP
import Platform

/// What a client hasn't taken yet, in order.
struct WriteQueue {
  private var segments: [BodySegment] = []
  private var first = 0

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
      first &+= 1
    }
    if isEmpty { removeAll() }
  }

  /// Forgets everything, and its memory.
  mutating func removeAll() {
    segments = []
    first = 0
  }

  /// Lists the pieces of memory that come next, up to the first file; true when that comes right behind them.
  func gather(into pieces: inout GatherList) -> Bool {
    for segment in segments[first...] {
      if pieces.isFull { return false }
      guard case .bytes(let bytes, let range) = segment else { return true }
      pieces.append(UnsafeRawBufferPointer(rebasing: bytes.address[range]))
    }
    return false
  }
}
