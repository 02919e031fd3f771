import Linux
import System

/// The digest of what the disk has under a name, read in slices so that the reader can pause.
struct DiskDigest {
  enum Result: Equatable {
    case read(SHA256, inode: UInt64)
    /// The disk can't return all of its bytes, or it isn't a regular file.
    case unreadable(inode: UInt64)
    /// There is no such file.
    case missing
    case stopped
  }

  private static let slice = 1 << 20

  /// The SHA-256 of an open file, read through the page cache.
  static func of(_ file: borrowing Descriptor) throws(SystemError) -> SHA256 {
    var hasher = SHA256Hasher()
    try eachSlice(of: file) { hasher.update($0) }
    return hasher.finish()
  }

  /// All digests of an open file, read through the page cache.
  static func all(of file: borrowing Descriptor) throws(SystemError) -> FileDigest {
    var hasher = FileHasher()
    try eachSlice(of: file) { hasher.update($0) }
    return hasher.finish()
  }

  private static func eachSlice(of file: borrowing Descriptor, _ body: (RawSpan) -> Void) throws(SystemError)
  {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try Kernel.read(file, at: offset, into: buffer)
      if count == 0 { return }
      body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      offset += Int64(count)
    }
  }

  /// Computes the digest of what the disk has under a name. `shouldContinue` is called after each slice with its bytes;
  /// returning false stops.
  static func of(_ path: String, shouldContinue: (Int) -> Bool) throws(SystemError) -> Result {
    guard let named = try Kernel.named(path) else { return .missing }
    guard named.kind == .file else { return .unreadable(inode: named.inode) }
    guard var file = try DiskFile(path) else { return .missing }
    guard file.status.kind == .file else { return .unreadable(inode: file.status.inode) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: slice, alignment: DiskFile.alignment)
    defer { buffer.deallocate() }
    var hasher = SHA256Hasher()
    var offset: Int64 = 0
    while true {
      let count: Int
      do throws(SystemError) {
        count = try file.read(at: offset, into: buffer)
      } catch  where error.isDamage {
        return .unreadable(inode: file.status.inode)
      }
      if count == 0 { return .read(hasher.finish(), inode: file.status.inode) }
      hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      offset += Int64(count)
      // O_DIRECT reads only at aligned offsets, so a short read is the end of the file.
      if count % DiskFile.alignment != 0 { return .read(hasher.finish(), inode: file.status.inode) }
      guard shouldContinue(count) else { return .stopped }
    }
  }
}
