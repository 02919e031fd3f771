import CLinux
import Glibc
import System

/// A file that is read from the disk itself, to find out whether its bytes are still there.
///
/// A hash of cached pages says nothing about the disk. So the page cache is bypassed (O_DIRECT), which also leaves in
/// it what others read. If the file system doesn't support that, a page is dropped from the cache before it is read; a
/// page that is being written or sent stays, and is then read from memory.
package struct DiskFile: ~Copyable {
  private var file: Descriptor
  private let path: String
  private var isDirect: Bool
  /// The status of the file when it was opened.
  package let status: FileStatus

  /// Offsets and counts are multiples of this, up to the end of the file.
  package static let alignment = 4096

  /// Opens a file; nil if there is none.
  package init?(_ path: String) throws(SystemError) {
    let direct = xcache_open_direct(path)
    let opened =
      direct >= 0 ? Descriptor(owning: direct) : try Kernel.openExisting(path, .nonBlocking)
    guard let file = opened else { return nil }
    let status = try Kernel.status(file)
    self.init(file, path, isDirect: direct >= 0, status)
  }

  private init(_ file: consuming Descriptor, _ path: String, isDirect: Bool, _ status: FileStatus) {
    self.file = file
    self.path = path
    self.isDirect = isDirect
    self.status = status
  }

  /// Reads into `buffer`, which must be aligned like `offset`, and returns the number of bytes; 0 at the end of the file.
  package mutating func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError)
    -> Int
  {
    if isDirect {
      do {
        return try Kernel.read(file, at: offset, into: buffer)
      } catch  where error.code == .invalidArgument {
        // The file system allowed opening it, but not reading, or not with this alignment (open(2), "O_DIRECT").
        guard let plain = try Kernel.openExisting(path, .read) else { throw error }
        file = plain
        isDirect = false
      }
    }
    _ = posix_fadvise(file.raw, off_t(offset), off_t(buffer.count), POSIX_FADV_DONTNEED)
    return try Kernel.read(file, at: offset, into: buffer)
  }
}

extension Kernel {
  /// Starts writing a file's cached data to the disk, so that a later sync waits less. It guarantees nothing.
  package static func startWriting(_ file: borrowing Descriptor) { _ = xcache_start_writing(file.raw) }

  /// Allocates blocks for `bytes` zero bytes to a file; "after a successful call to posix_fallocate(), subsequent
  /// writes to bytes in the specified range are guaranteed not to fail because of lack of disk space".
  package static func allocate(_ file: borrowing Descriptor, bytes: Int64, path: String) throws(SystemError) {
    let raw = file.raw
    var code: Int32
    repeat { code = posix_fallocate(raw, 0, off_t(bytes)) } while code == EINTR
    guard code == 0 else { throw SystemError("posix_fallocate", on: path, code: Errno(rawValue: code)) }
  }
}
