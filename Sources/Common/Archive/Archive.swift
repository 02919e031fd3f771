/// A ZIP archive whose directory, headers, names and sizes are validated before any of it is returned.
///
/// The directory is never trusted: each entry's local header must agree with it, entries must not overlap, and reading an
/// entry returns exactly the bytes that it declares, with their checksum, or throws.
package struct Archive: Sendable {
  /// A file or folder of an archive.
  package struct Entry: Hashable, Sendable {
    /// A relative path with `/` between its parts; a folder's has no trailing slash.
    package let name: String
    /// Whether the entry is a folder, which has no bytes.
    package let isFolder: Bool
    /// The size of its contents, in bytes.
    package let size: Int64
    /// The size of its bytes in the archive.
    package let compressedSize: Int64
    /// How its bytes are compressed.
    package let method: Method
    let crc: UInt32
    /// The offset of its first packed byte.
    let dataOffset: Int64
  }

  /// An entry's compression method (APPNOTE.TXT 4.4.5).
  package enum Method: UInt16, Hashable, Sendable {
    case stored = 0
    case deflate = 8
  }

  let source: any ArchiveSource
  /// The entries in the order of the directory.
  package let entries: [Entry]
  private let indices: [String: Int]

  /// Opens an archive and validates everything except the packed bytes.
  ///
  /// - Throws: `ArchiveError` for the first thing that is invalid or refused.
  package init(_ source: any ArchiveSource, limits: ArchiveLimits = .standard) throws(ArchiveError) {
    let directory = try Self.directory(of: source, limits)
    let records = try Self.records(of: directory, in: source)
    indices = try Self.indices(of: records)
    try Self.check(records, limits, compressed: source.size)
    entries = try Self.entries(records, before: directory.offset, in: source)
    self.source = source
  }

  /// The entry with this name, or nil.
  package subscript(name: String) -> Entry? { indices[name].map { entries[$0] } }
}

/// Limits on what an archive may unpack to.
package struct ArchiveLimits: Hashable, Sendable {
  /// The maximum number of entries, including folders.
  package var entries: Int
  /// The maximum size of all files together, in bytes.
  package var bytes: Int64
  /// How many times the archive's size all files may take together; applies above `ratioFloor` bytes.
  package var maxRatio: Int64

  /// Below this many bytes, an archive may be as dense as deflate allows, 1,032 : 1.
  static let ratioFloor: UInt64 = 16 << 20

  /// A million files, 16 GiB, and 200 times the archive's size: web builds compress by a factor of 3 to 20.
  package static let standard = ArchiveLimits(entries: 1_000_000, bytes: 16 << 30, maxRatio: 200)

  package init(entries: Int, bytes: Int64, maxRatio: Int64) {
    self.entries = entries
    self.bytes = bytes
    self.maxRatio = maxRatio
  }
}

/// Rules for entry names: relative UTF-8 paths with `/` between their parts.
enum EntryName {
  /// The most bytes of a name, and of a part of it: no system that we know unpacks longer ones, and comparing them, or making all
  /// their folders, would take far longer than the archive's size suggests.
  static let limit = 4096
  static let partLimit = 255
  /// The most parts of a name.
  static let depthLimit = 128

  /// Returns what is wrong with a name; a trailing slash, which marks a folder, is allowed.
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
    if hasDots { return .dots }
    if parts.count > depthLimit { return .tooDeep }
    return parts.contains { $0.count > partLimit } ? .tooLong : nil
  }

  /// Whether it begins like `C:`, which some systems take for a drive.
  private static func hasDrive(_ name: [UInt8]) -> Bool {
    name.count >= 2 && name[1] == UInt8(ascii: ":") && (name[0] | 0x20) &- UInt8(ascii: "a") < 26
  }
}
