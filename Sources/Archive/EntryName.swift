/// What names entries may have: relative paths of UTF-8 with `/` between their parts.
enum EntryName {
  static let limit = 0xFFFF

  /// What is wrong with a name; a slash at its end, which makes it a folder's, is none.
  static func problem(of name: [UInt8]) -> ArchiveError.NameProblem? {
    guard !name.isEmpty else { return .empty }
    guard name.count <= limit else { return .tooLong }
    guard String(validating: name, as: UTF8.self) != nil else { return .notUTF8 }
    if name.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return .control }
    if name.contains(UInt8(ascii: "\\")) { return .backslash }
    if name[0] == UInt8(ascii: "/") || hasDrive(name) { return .absolute }
    let path = name.last == UInt8(ascii: "/") ? name.dropLast() : name[...]
    let parts = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let hasDots = parts.contains { part in
      part.isEmpty || part.elementsEqual(".".utf8) || part.elementsEqual("..".utf8)
    }
    return hasDots ? .dots : nil
  }

  /// Whether it begins like `C:`, which is a drive to some systems.
  private static func hasDrive(_ name: [UInt8]) -> Bool {
    name.count >= 2 && name[1] == UInt8(ascii: ":") && (name[0] | 0x20) &- UInt8(ascii: "a") < 26
  }
}
