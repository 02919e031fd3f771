/// A ZIP archive whose directory, headers, names and sizes were found sound before anything of it is handed out.
///
/// What a directory says is never trusted: each entry's local header must agree with it, entries may not overlap,
/// and reading an entry gives exactly the bytes that it says, with their checksum, or throws.
package struct Archive: Sendable {
  /// A file or folder of an archive.
  package struct Entry: Hashable, Sendable {
    /// A relative path with `/` between its parts; a folder's without the slash at its end.
    package let name: String
    /// Whether the entry stands for a folder, which has no bytes.
    package let isFolder: Bool
    /// Bytes.
    package let size: Int64
    /// Bytes as they are in the archive.
    package let packedSize: Int64
    /// How its bytes are kept.
    package let method: Method
    let crc: UInt32
    /// Of the first packed byte.
    let dataOffset: Int64
  }

  /// How an entry's bytes are packed (APPNOTE.TXT 4.4.5).
  package enum Method: UInt16, Hashable, Sendable {
    case stored = 0
    case deflate = 8
  }

  let source: any ArchiveSource
  /// In the order of the directory.
  package let entries: [Entry]
  private let places: [String: Int]

  /// Opens an archive and checks all of it but the packed bytes.
  ///
  /// - Throws: `ArchiveError`, with the first thing that is wrong or refused.
  package init(_ source: any ArchiveSource, limits: ArchiveLimits = .usual) throws(ArchiveError) {
    let directory = try Self.directory(of: source, limits)
    let records = try Self.records(of: directory, in: source)
    places = try Self.places(of: records)
    try Self.check(records, limits, packed: source.size)
    entries = try Self.entries(records, before: directory.offset, in: source)
    self.source = source
  }

  /// The entry of this name; nil where there is none.
  package subscript(name: String) -> Entry? { places[name].map { entries[$0] } }
}

/// What an archive may unpack to before it is refused.
package struct ArchiveLimits: Hashable, Sendable {
  /// Entries, folders included.
  package var entries: Int
  /// Bytes of all files together.
  package var bytes: Int64
  /// How many times the archive's own size all files may take together; counts above `denseFloor` bytes.
  package var density: Int64

  /// Below this many bytes an archive may be as dense as deflate can be, 1,032 : 1.
  static let denseFloor: UInt64 = 16 << 20

  /// A million files, 16 GiB, 200 times the archive's size: web builds pack 3 to 20 times.
  package static let usual = ArchiveLimits(entries: 1_000_000, bytes: 16 << 30, density: 200)

  package init(entries: Int, bytes: Int64, density: Int64) {
    self.entries = entries
    self.bytes = bytes
    self.density = density
  }
}

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
