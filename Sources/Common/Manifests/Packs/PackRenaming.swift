import Values

/// Replaces the names that a release changes in an old file: bundlers put hashes into file names, and the names of
/// imported files into a file. What remains to be sent is what people changed.
///
/// A word is a maximal run of ASCII letters, digits, `_` and `-`. An arrival with a partner yields pairs of words: if
/// their URLs differ only in some words, each such word of the partner, of 6 to 64 bytes, becomes that of the arrival,
/// of at most 64 bytes and twice the old word's length. If two pairs have the same old word, the first counts, in the
/// order of the arrivals.
package struct PackRenaming: Sendable {
  private var words: [ArraySlice<UInt8>: [UInt8]] = [:]
  private var filter = WordFilter()

  private static let shortest = 6
  /// Longer words stay as they are.
  private static let longest = 64

  /// - Parameter urls: for each arrival with a partner, the URLs of both.
  package init(_ urls: some Sequence<(old: String, new: String)>) {
    for pair in urls where pair.old != pair.new { add(Array(pair.old.utf8), Array(pair.new.utf8)) }
  }

  /// Whether nothing is renamed.
  package var isEmpty: Bool { words.isEmpty }

  private mutating func add(_ old: [UInt8], _ new: [UInt8]) {
    let (before, after) = (Self.pieces(of: old), Self.pieces(of: new))
    guard before.count == after.count else { return }
    let differ = zip(before, after).filter { old[$0] != new[$1] }
    // Pieces alternate between words and the bytes between words, which must be the same.
    guard differ.allSatisfy({ Self.isWord(old[$0.0.lowerBound]) && Self.isWord(new[$0.1.lowerBound]) }) else {
      return
    }
    for (was, becomes) in differ
    where (Self.shortest...Self.longest).contains(was.count)
      && becomes.count <= min(2 * was.count, Self.longest) && words[old[was]] == nil
    {
      words[old[was]] = Array(new[becomes])
      old.withUnsafeBytes { filter.add(UnsafeRawBufferPointer(rebasing: $0[was])) }
    }
  }

  /// Returns words and the runs of other bytes between them, alternating.
  private static func pieces(of text: [UInt8]) -> [Range<Int>] {
    var pieces: [Range<Int>] = []
    var start = 0
    for index in text.indices where index > start && isWord(text[index]) != isWord(text[index - 1]) {
      pieces.append(start..<index)
      start = index
    }
    if start < text.count { pieces.append(start..<text.count) }
    return pieces
  }

  @inline(__always) private static func isWord(_ byte: UInt8) -> Bool {
    ASCII.isLetterOrDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
  }

  private static let isWordByte = (0...255).map { isWord(UInt8($0)) }

  /// Returns the file with its words renamed; nil if it contains none of them.
  package func applied(to file: [UInt8]) -> [UInt8]? {
    if isEmpty { return nil }
    var out: [UInt8] = []
    var copied = 0
    Self.isWordByte.withUnsafeBufferPointer { isWord in
      file.withUnsafeBytes { bytes in
        var index = 0
        while index < bytes.count {
          guard isWord[Int(bytes[index])] else {
            index += 1
            continue
          }
          let start = index
          repeat { index += 1 } while index < bytes.count && isWord[Int(bytes[index])]
          guard index - start >= Self.shortest, index - start <= Self.longest,
            filter.mayContain(bytes, start, index), let new = words[file[start..<index]]
          else { continue }
          if out.isEmpty { out.reserveCapacity(bytes.count + bytes.count / 8) }
          out.append(contentsOf: bytes[copied..<start])
          out.append(contentsOf: new)
          copied = index
        }
      }
    }
    if copied == 0 { return nil }
    out.append(contentsOf: file[copied...])
    return out
  }
}

/// Rules out most words that aren't in a table without a lookup: a file has a word every few bytes.
private struct WordFilter {
  private var bits: [UInt64] = []

  /// Adds a word of 4 bytes or more.
  mutating func add(_ word: UnsafeRawBufferPointer) {
    if bits.isEmpty { bits = [UInt64](repeating: 0, count: 1 << 10) }
    let bit = Self.bit(word, 0, word.count)
    bits[bit / 64] |= 1 << UInt64(bit % 64)
  }

  @inline(__always) func mayContain(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
    let bit = Self.bit(bytes, start, end)
    return bits[bit / 64] & 1 << UInt64(bit % 64) != 0
  }

  /// Returns 16 bits of a hash of the word's ends and its length.
  @inline(__always) private static func bit(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int)
    -> Int
  {
    let head = UInt64(bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
    let tail = UInt64(bytes.loadUnaligned(fromByteOffset: end - 4, as: UInt32.self))
    let mixed = (head << 32 ^ tail ^ UInt64(end - start) << 24) &* 0x9E37_79B9_7F4A_7C15
    return Int(mixed >> 48)
  }
}
