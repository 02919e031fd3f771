/// Writes a block into the window: literals, and matches with earlier output (RFC 8878 §3.1.1.4).
///
/// Copies are made in steps of 8 or 16 bytes, and so run up to 15 bytes too far: there is slack after the block, and the
/// excess is overwritten by what comes next, or never read.
struct MatchWriter {
  private let blockStart: UnsafeMutableRawPointer
  /// The next byte.
  private var next: UnsafeMutableRawPointer
  /// Where the block must end.
  private let end: UnsafeMutableRawPointer
  /// The first byte of this turn of the window, and the number of bytes in the previous turn.
  private let turnStart: UnsafeMutableRawPointer
  private let oldCount: Int
  private let windowSize: Int
  private let dictionary: UnsafeRawBufferPointer
  /// The number of bytes of the frame before this block.
  private let given: Int64

  init(_ window: borrowing Window, dictionary: UnsafeRawBufferPointer, limit: Int, given: Int64) {
    turnStart = window.start
    blockStart = window.start + window.position
    next = blockStart
    end = blockStart + limit
    oldCount = window.oldEnd
    windowSize = window.size
    self.dictionary = dictionary
    self.given = given
  }

  var written: Int { next - blockStart }

  /// - Parameters:
  ///   - literals: `count` bytes, followed by slack.
  ///   - count: the number of literals.
  ///   - length: the length of the match.
  ///   - offset: how far back the match begins.
  @inline(__always)
  mutating func write(literals: UnsafeRawPointer, _ count: Int, match length: Int, at offset: Int)
    throws(ZstdFault)
  {
    guard count &+ length <= end - next else { throw .blockSize }
    copy16(literals, next)
    if count > 16 { copy(literals, next, from: 16, to: count) }
    next += count
    guard offset <= next - turnStart, offset <= windowSize else { return try writeFromBehind(length, offset) }
    let source = UnsafeRawPointer(next - offset)
    if offset >= 16 {
      copy16(source, next)
      if length > 16 { copy(source, next, from: 16, to: length) }
    } else {
      copyNear(offset, length)
    }
    next += length
  }

  /// Appends literals without a match.
  mutating func append(_ literals: UnsafeRawPointer, _ count: Int) throws(ZstdFault) {
    guard count <= end - next else { throw .blockSize }
    next.copyMemory(from: literals, byteCount: count)
    next += count
  }

  @inline(__always)
  private func copy16(_ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer) {
    target.storeBytes(of: source.loadUnaligned(as: SIMD16<UInt8>.self), as: SIMD16<UInt8>.self)
  }

  /// Copies from position `first` on, 16 bytes at a time.
  @inline(__always)
  private func copy(
    _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, from first: Int, to count: Int
  ) {
    var at = first
    repeat {
      copy16(source + at, target + at)
      at &+= 16
    } while at < count
  }

  /// Copies a match that begins less than 16 bytes back, and so may overlap its own output.
  @inline(__always)
  private func copyNear(_ offset: Int, _ length: Int) {
    let source = UnsafeRawPointer(next - offset)
    var at = 0
    if offset >= 8 {
      repeat {
        let word = (source + at).loadUnaligned(as: UInt64.self)
        (next + at).storeBytes(of: word, as: UInt64.self)
        at &+= 8
      } while at < length
      return
    }
    // Eight bytes of the repeated pattern; each step advances by a whole number of repetitions. (`<<` by 64 or more gives 0.)
    let bits = 8 * offset
    var pattern = UInt64(littleEndian: source.loadUnaligned(as: UInt64.self)) & (1 << bits - 1)
    pattern |= pattern << bits
    pattern |= pattern << (2 * bits)
    pattern |= pattern << (4 * bits)
    let step = Self.steps[offset]
    repeat {
      (next + at).storeBytes(of: pattern.littleEndian, as: UInt64.self)
      at &+= step
    } while at < length
  }

  /// The largest multiple of each offset below 8 that is at most 8.
  private static let steps: SIMD8<Int> = [0, 8, 8, 6, 8, 5, 6, 7]

  /// Copies a match that begins before this turn of the window: in the previous turn or in the dictionary. Throws if it is in
  /// neither.
  @inline(never)
  private mutating func writeFromBehind(_ length: Int, _ offset: Int) throws(ZstdFault) {
    let reach = next - turnStart
    let behind = offset - reach
    let source: UnsafeRawPointer
    if oldCount > 0 {
      // The previous turn has more bytes than the window.
      guard offset <= windowSize, behind <= oldCount else { throw .farOffset }
      source = UnsafeRawPointer(turnStart + (oldCount - behind))
    } else {
      guard behind <= dictionary.count else { throw .offset }
      // "All dictionary bytes are accessible as long as no more than Window_Size bytes were output" (§5).
      guard behind > 0, given + Int64(written) <= Int64(windowSize), let first = dictionary.baseAddress else {
        throw .farOffset
      }
      source = first + (dictionary.count - behind)
    }
    // This copy can overwrite only bytes of the previous turn that have already been copied: they precede those being read.
    let count = min(behind, length)
    next.copyMemory(from: source, byteCount: count)
    next += count
    // The rest of the match begins with this turn's first byte.
    for at in 0..<length - count {
      let byte = (next - offset + at).load(as: UInt8.self)
      (next + at).storeBytes(of: byte, as: UInt8.self)
    }
    next += length - count
  }
}
