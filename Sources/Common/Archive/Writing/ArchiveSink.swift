import System

/// Where an archive is written: bytes arrive in order and are never changed afterwards.
package protocol ArchiveSink: AnyObject {
  func write(_ bytes: RawSpan) throws(ArchiveError)
}

/// A file that an archive is written to, with the digest of what was written.
package final class ArchiveFileSink: ArchiveSink {
  private let file: Descriptor
  private let path: String
  private var hasher = SHA256Hasher()
  private var pending: [UInt8] = []
  /// Carries out each write, of so many bytes.
  private let writing: (Int, () throws(ArchiveError) -> Void) throws(ArchiveError) -> Void
  /// Called after each write, with the file.
  private let written: (borrowing Descriptor) -> Void
  /// The number of bytes so far.
  package private(set) var size: Int64 = 0

  private static let step = 1 << 18

  /// Takes ownership of an open, empty file. Each write, of so many bytes, is carried out by `writing`, which may refuse it;
  /// `written` is called afterwards.
  package init(
    _ file: consuming Descriptor, path: String,
    writing: @escaping (Int, () throws(ArchiveError) -> Void) throws(ArchiveError) -> Void = {
      (_, write) throws(ArchiveError) in try write()
    }, written: @escaping (borrowing Descriptor) -> Void = { _ in }
  ) {
    self.file = file
    self.path = path
    self.writing = writing
    self.written = written
    pending.reserveCapacity(Self.step)
  }

  /// Appends `bytes` to the file.
  package func write(_ bytes: RawSpan) throws(ArchiveError) {
    size += Int64(bytes.byteCount)
    if pending.count + bytes.byteCount > Self.step { try flush() }
    if bytes.byteCount > Self.step { return try writeThrough(bytes) }
    bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
  }

  /// Syncs all bytes to disk and returns their digest.
  package func finish() throws(ArchiveError) -> SHA256 {
    try flush()
    try ArchiveError.kernel { () throws(SystemError) in try Kernel.sync(file, path: path) }
    return hasher.finish()
  }

  private func flush() throws(ArchiveError) {
    let bytes = pending
    pending = []
    pending.reserveCapacity(Self.step)
    try writeThrough(bytes.span.bytes)
  }

  private func writeThrough(_ bytes: RawSpan) throws(ArchiveError) {
    hasher.update(bytes)
    try writing(bytes.byteCount) { () throws(ArchiveError) in
      try ArchiveError.kernel { () throws(SystemError) in try Kernel.write(bytes, to: file, path: path) }
    }
    written(file)
  }
}
