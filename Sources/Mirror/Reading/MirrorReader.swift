/// A mirror as its readers see it.
package protocol MirrorReader: Sendable {
  /// Where it is, for people.
  var name: String { get }
  /// What a wrong content type is; nil: files have none here.
  var wrongType: Divergence.Severity? { get }
  /// How many files are read at a time.
  var threads: Int { get }

  /// All bytes of a document; nil where there is none.
  func read(_ path: String) throws(MirrorError) -> [UInt8]?
  /// Reads a file through; nil where there is none.
  func facts(_ path: String) throws(MirrorError) -> FileFacts?
  /// A file of this machine with a file's bytes, made at `target` where there is none; nil where nothing is there.
  func local(_ path: String, at target: String, size: Int64) throws(MirrorError) -> LocalFile?
}

/// What a file turned out to be.
package struct FileFacts: Sendable {
  package let file: MirrorIndex.File
  /// As the host says it; nil where none does.
  package let type: String?
}

extension MirrorReader {
  /// - Throws: `noMirror`, `unreadable`.
  package func index() throws(MirrorError) -> (MirrorIndex, [UInt8]) {
    guard let bytes = try read(MirrorIndex.path) else { throw .noMirror(place: name) }
    return (try MirrorIndex(parsing: bytes), bytes)
  }
}
