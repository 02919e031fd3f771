import Libc

/// What a file is, and what changes when it does.
package struct FileStatus: Hashable, Sendable {
  /// What the name stands for.
  package enum Kind: Hashable, Sendable {
    case file, folder, link, other
  }

  /// A file, a folder, a link or something else.
  package let kind: Kind
  /// Bytes.
  package let size: Int64
  /// Bytes that it takes of the disk, which gives whole blocks.
  package let allocated: Int64
  /// With `inode`, which file it is.
  package let device: UInt64
  /// The file's number on its device.
  package let inode: UInt64
  /// Nanoseconds since 1970, of the last change of the bytes.
  package let modified: Int64
  /// Nanoseconds since 1970, of the last change of bytes or attributes; no program can set it back.
  package let changed: Int64
  /// Permission bits.
  package let mode: mode_t

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      default: .other
      }
    size = Int64(status.st_size)
    // stat(3type): "the number of 512B blocks allocated", whatever the file system's own blocks are.
    allocated = Int64(status.st_blocks) * 512
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Self.nanoseconds(Native.modified(status))
    changed = Self.nanoseconds(Native.changed(status))
    mode = status.st_mode & 0o7777
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// How large the file system is that holds a path, and how much of it is free for anybody. In bytes.
package struct DiskSpace: Hashable, Sendable {
  /// Of the whole file system.
  package let size: Int64
  /// What anybody may still take of it.
  package let available: Int64

  package init(size: Int64, available: Int64) {
    self.size = size
    self.available = available
  }
}

extension Kernel {
  /// What stat(2) tells of a path, links followed; nil where nothing is.
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

  /// What is known of a name in an open folder, `path`; of a link itself. nil where nothing has the name.
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

  /// What fstat(2) tells of an open file.
  package static func status(_ file: borrowing Descriptor) throws(SystemError) -> FileStatus {
    var result = stat()
    let raw = file.raw
    _ = try retrying("fstat") { fstat(raw, &result) }
    return FileStatus(result)
  }

  /// Sets the time at which a file's bytes were last changed, in milliseconds since 1970.
  package static func setModified(_ path: String, to milliseconds: Int64) throws(SystemError) {
    // Before 1970, too, the nanoseconds count on from their second: utimensat(2) takes none below 0.
    let second = Timestamp.wholeSeconds(milliseconds)
    let time = timespec(
      tv_sec: time_t(second), tv_nsec: Int(milliseconds &- second &* 1000) * 1_000_000)
    let times = [time, time]
    _ = try retrying("utimensat", on: path) { utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) }
  }

  /// statvfs(3): the space of the file system that holds `path`.
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
