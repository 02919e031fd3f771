/// A ZIP archive whose directory, headers, names and sizes were found sound before anything of it is handed out.
///
/// What a directory says is never trusted: each entry's local header must agree with it, entries may not overlap,
/// and reading an entry gives exactly the bytes that it says, with their checksum, or throws.
package struct Archive: Sendable {
  /// A file or folder of an archive.
  package struct Entry: Hashable, Sendable {
    /// A relative path with `/` between its parts; a folder's without the slash at its end.
    package let name: String
    package let isFolder: Bool
    /// Bytes.
    package let size: Int64
    /// Bytes as they are in the archive.
    package let packedSize: Int64
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
