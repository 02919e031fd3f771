import Glibc
import Platform

/// What the first bytes of a database file say, read without SQLite, which would change them
/// (sqlite.org/fileformat.html, "The Database Header").
struct DatabaseHeader {
  /// "The "Application ID" set by PRAGMA application_id."
  let applicationID: Int64
  /// "Size of the database file in pages."
  let pages: Int64

  /// The header of the file at `path`; nil where there is no file, or one that is no database.
  init?(path: String) throws(SystemError) {
    guard let file = try Kernel.openExisting(path, O_RDONLY) else { return nil }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 8)
    defer { buffer.deallocate() }
    guard try Kernel.read(file, at: 0, into: buffer) == 100,
      buffer.starts(with: Array("SQLite format 3\0".utf8))
    else { return nil }
    func number(at offset: Int) -> Int64 {
      Int64(UInt32(bigEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
    pages = number(at: 28)
    applicationID = number(at: 68)
  }
}
