import CLinux
import Glibc
import System

/// A file that is read from the disk itself, to learn whether its bytes are still there.
///
/// A hash of pages in memory says nothing of the disk. So the page cache is passed by (O_DIRECT), which also leaves in
/// it what others read. Where the file system can't do that, a page is dropped from memory before it is read; one that
/// is being written or sent stays, and then its bytes in memory are what is read.
package struct DiskFile: ~Copyable {
  private var file: Descriptor
  private let path: String
  private var isDirect: Bool
  /// As it was when the file was opened.
  package let status: FileStatus

  /// What offsets and counts are multiples of, up to the end of the file.
  package static let alignment = 4096

  /// nil where nothing has that name.
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

  /// How many bytes were read into `buffer`, which is aligned as `offset` is; 0 at the end of the file.
  package mutating func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError)
    -> Int
  {
    if isDirect {
      do {
        return try Kernel.read(file, at: offset, into: buffer)
      } catch  where error.code == .invalidArgument {
        // Opened so, but with another alignment or not read so (open(2), "O_DIRECT").
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
  /// Lets the disk begin with what a file has, so that the sync to come waits less; it promises nothing.
  package static func startWriting(_ file: borrowing Descriptor) { _ = xcache_start_writing(file.raw) }

  /// Gives a file blocks for `bytes` bytes, which are zeros; "after a successful call to posix_fallocate(), subsequent
  /// writes to bytes in the specified range are guaranteed not to fail because of lack of disk space".
  package static func allocate(_ file: borrowing Descriptor, bytes: Int64, path: String) throws(SystemError) {
    let raw = file.raw
    var code: Int32
    repeat { code = posix_fallocate(raw, 0, off_t(bytes)) } while code == EINTR
    guard code == 0 else { throw SystemError("posix_fallocate", on: path, code: Errno(rawValue: code)) }
  }
}
