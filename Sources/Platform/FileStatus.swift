import Glibc

/// What a file is, and what changes when it does.
package struct FileStatus: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case file, folder, link, other
  }

  package let kind: Kind
  /// Bytes.
  package let size: Int64
  package let device: UInt64
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
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    modified = Self.nanoseconds(status.st_mtim)
    changed = Self.nanoseconds(status.st_ctim)
    mode = status.st_mode & 0o7777
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
