/// Replaces in an old file the names that a release changes: bundlers put hashes in file names, and the names of what a
/// file imports in the file. What is left to be sent is what people changed.
///
/// A word is a run of ASCII letters, digits, `_` and `-`, as long as possible. An arrival with a partner gives pairs of
/// words: where the URLs of both are the same but for some words, each such word of the partner, of 6 to 64
/// bytes, becomes that of the arrival, of 64 at most. Of two pairs with one old word the first counts, in the order of the arrivals.
package struct PackRenaming: Sendable {
  private var words: [ArraySlice<UInt8>: [UInt8]] = [:]
  private var lengths = Set<Int>()

  private static let shortest = 6
  /// Longer words stay as they are.
  private static let longest = 64

  /// - Parameter urls: the URL of the partner of each arrival that has one, and the arrival's own.
  package init(_ urls: some Sequence<(old: String, new: String)>) {
    for pair in urls {
      let (old, new) = (Array(pair.old.utf8), Array(pair.new.utf8))
      add(old, new)
    }
  }

  package var isEmpty: Bool { words.isEmpty }

  private mutating func add(_ old: [UInt8], _ new: [UInt8]) {
    let (before, after) = (Self.pieces(of: old), Self.pieces(of: new))
    guard before.count == after.count else { return }
    let differ = zip(before, after).filter { old[$0] != new[$1] }
    // Pieces take turns, words and what is between them; these have to be the same.
    guard differ.allSatisfy({ Self.isWord(old[$0.0.lowerBound]) && Self.isWord(new[$0.1.lowerBound]) }) else {
      return
    }
    for (was, becomes) in differ
    where (Self.shortest...Self.longest).contains(was.count) && becomes.count <= Self.longest
      && words[old[was]] == nil
    {
      words[old[was]] = Array(new[becomes])
      lengths.insert(was.count)
    }
  }

  /// Runs of words and of other bytes, in turns.
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

  /// The file with its words renamed; nil where it has none of them.
  package func applied(to file: [UInt8]) -> [UInt8]? {
    if isEmpty { return nil }
    var out: [UInt8] = []
    var copied = 0
    var index = 0
    let isWord = (0...255).map { Self.isWord(UInt8($0)) }
    var wanted = [Bool](repeating: false, count: Self.longest + 1)
    for length in lengths { wanted[length] = true }
    file.withUnsafeBufferPointer { bytes in
      while index < bytes.count {
        guard isWord[Int(bytes[index])] else {
          index += 1
          continue
        }
        let start = index
        while index < bytes.count, isWord[Int(bytes[index])] { index += 1 }
        guard index - start <= Self.longest, wanted[index - start], let new = words[file[start..<index]]
        else {
          continue
        }
        if out.isEmpty { out.reserveCapacity(bytes.count + bytes.count / 8) }
        out.append(contentsOf: bytes[copied..<start])
        out.append(contentsOf: new)
        copied = index
      }
    }
    if copied == 0 { return nil }
    out.append(contentsOf: file[copied...])
    return out
  }
}
