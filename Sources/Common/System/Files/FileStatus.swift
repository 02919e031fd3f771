#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file's metadata; it changes when the file does.
package struct FileStatus: Hashable, Sendable {
  /// The type of a file.
  package enum Kind: Hashable, Sendable {
    case file, folder, link, other
  }

  /// The file's type.
  package let kind: Kind
  /// The size in bytes.
  package let size: Int64
  /// Bytes used on the disk, in whole blocks.
  package let allocated: Int64
  /// The ID of the device; with `inode`, it identifies the file.
  package let device: UInt64
  /// The file's number on its device.
  package let inode: UInt64
  /// When the contents last changed, in nanoseconds since 1970.
  package let modified: Int64
  /// When the contents or attributes last changed, in nanoseconds since 1970; programs can't set it.
  package let changed: Int64
  /// Permission bits.
  package let mode: mode_t
  /// The number of the user who owns it.
  package let owner: UInt32

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
    size = Int64(status.st_size)
    // stat(3type): "the number of 512B blocks allocated", whatever the file system's block size is.
    allocated = Int64(status.st_blocks) * 512
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Self.nanoseconds(Native.modified(status))
    changed = Self.nanoseconds(Native.changed(status))
    mode = status.st_mode & 0o7777
    owner = status.st_uid
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// The size of a file system and its free space, in bytes.
package struct DiskSpace: Hashable, Sendable {
  /// The size of the whole file system.
  package let size: Int64
  /// The space available to unprivileged users.
  package let available: Int64

  package init(size: Int64, available: Int64) {
    self.size = size
    self.available = available
  }
}

extension Kernel {
  /// Returns stat(2) of a path, or nil if it doesn't exist. Links are followed by default.
  package static func status(_ path: String, followLinks: Bool = true) throws(SystemError) -> FileStatus? {
    var result = stat()
    do {
      _ = try retrying("stat", on: path) {
        fstatat(AT_FDCWD, path, &result, followLinks ? 0 : AT_SYMLINK_NOFOLLOW)
      }
    } catch  where error.code == .noSuchFileOrDirectory || error.code == .notDirectory {
      return nil
    }
    return FileStatus(result)
  }

  /// Returns the status of `name` in an open folder, `path`, or nil if it doesn't exist. Links aren't followed.
  static func status(_ name: [UInt8], in folder: borrowing Descriptor, of path: String) throws(SystemError)
    -> FileStatus?
  {
    var result = stat()
    let raw = folder.raw
    let text = (name + [0]).map { CChar(bitPattern: $0) }
    do {
      _ = try retrying("stat", on: "\(path)/\(String(decoding: name, as: UTF8.self))") {
        fstatat(raw, text, &result, AT_SYMLINK_NOFOLLOW)
      }
    } catch  where error.code == .noSuchFileOrDirectory {
      return nil
    }
    return FileStatus(result)
  }

  /// Returns fstat(2) of an open file.
  package static func status(_ file: borrowing Descriptor) throws(SystemError) -> FileStatus {
    var result = stat()
    let raw = file.raw
    _ = try retrying("fstat") { fstat(raw, &result) }
    return FileStatus(result)
  }

  /// Sets a file's modification time, in milliseconds since 1970.
  package static func setModified(_ path: String, to milliseconds: Int64) throws(SystemError) {
    // utimensat(2) takes no negative nanoseconds: before 1970, too, they count up from the whole second.
    let second = Timestamp.wholeSeconds(milliseconds)
    let time = timespec(
      tv_sec: time_t(second), tv_nsec: Int(milliseconds &- second &* 1000) * 1_000_000)
    let times = [time, time]
    _ = try retrying("utimensat", on: path) { utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) }
  }

  /// Returns the space of the file system that holds `path` (statvfs(3)).
  package static func space(_ path: String) throws(SystemError) -> DiskSpace {
    var status = statvfs()
    _ = try retrying("statvfs", on: path) { Native.space(path, &status) }
    func bytes(_ blocks: UInt64) -> Int64 {
      let (bytes, overflows) = blocks.multipliedReportingOverflow(by: UInt64(status.f_frsize))
      return overflows ? .max : Int64(clamping: bytes)
    }
    return DiskSpace(size: bytes(UInt64(status.f_blocks)), available: bytes(UInt64(status.f_bavail)))
  }
}
