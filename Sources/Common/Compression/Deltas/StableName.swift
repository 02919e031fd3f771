/// The part of a path that stays the same between builds: its folder, and its file name without the bundler's
/// hash.
package struct StableName: Sendable, Hashable {
  /// The path up to and including its last slash.
  package let folder: Substring
  /// The pieces of the last segment; nil for a run that looks like a hash.
  package let pieces: [Substring?]

  package init(path: some StringProtocol) {
    let path = Substring(path)
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    folder = slash.map { path[...$0] } ?? ""
    pieces = Self.cut(slash.map { path[path.utf8.index(after: $0)...] } ?? path)
  }

  /// The extension, after the last dot.
  package var ending: Substring { pieces.last.flatMap { $0 } ?? "" }

  /// Returns the last segment with `mark` in place of each run that looks like a hash.
  package func name(mark: String) -> String { pieces.map { $0.map(String.init) ?? mark }.joined() }

  /// Cuts a name at each `.`, and between them before a hash that follows `-`, `_` or `~`.
  private static func cut(_ name: Substring) -> [Substring?] {
    var pieces: [Substring?] = []
    for (index, part) in name.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
      if index > 0 { pieces.append(".") }
      pieces += hashes(in: part)
    }
    return pieces
  }

  /// Returns the pieces of a part between dots: words and a hash after `-`, `_` or `~`, a hash alone, or words.
  private static func hashes(in part: Substring) -> [Substring?] {
    // Bundlers put the hash last: `index-BBnWuh07`, `main_3f1c0a7e`. Its own alphabet may include - and _.
    for at in part.indices where "-_~".contains(part[at]) {
      let rest = part.index(after: at)
      if isHash(part[rest...]) { return [part[..<rest], nil] }
    }
    return isHash(part) ? [nil] : [part]
  }

  /// Whether a text is six or more hexadecimal digits, or 8 to 64 letters, digits, - and _ mixed as only in a
  /// hash.
  private static func isHash(_ text: Substring) -> Bool {
    let bytes = Array(text.utf8)
    let digits = bytes.count { (0x30...0x39).contains($0) }
    if bytes.count >= 6, digits > 0, bytes.allSatisfy({ isHexadecimal($0) }) { return true }
    guard (8...64).contains(bytes.count), bytes.allSatisfy({ isBase64URL($0) }) else { return false }
    let small = bytes.contains { (0x61...0x7a).contains($0) }
    let large = bytes.dropFirst().contains { (0x41...0x5a).contains($0) }
    // A version or a size, such as `1_24_0-beta`, has no uppercase letters; a word has no digits.
    return small && large && (digits > 0 || changesCase(bytes))
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
  }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x2d || byte == 0x5f
  }

  /// Whether upper and lower case alternate as they don't in words: `DkwSIiHs`, not `FileHelper`.
  private static func changesCase(_ bytes: [UInt8]) -> Bool {
    let large = bytes.count { (0x41...0x5a).contains($0) }
    return bytes.count == 8 && large >= 3 || bytes.contains(0x2d) && large >= 2 && bytes.count == 8
  }
}
