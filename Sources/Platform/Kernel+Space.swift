import Glibc

/// How large the file system is that holds a path, and how much of it is free for anybody. In bytes.
package struct DiskSpace: Hashable, Sendable {
  package let size: Int64
  package let available: Int64

  package init(size: Int64, available: Int64) {
    self.size = size
    self.available = available
  }
}

extension Kernel {
  /// statvfs(3): the space of the file system that holds `path`.
  package static func space(_ path: String) throws(SystemError) -> DiskSpace {
    var status = statvfs()
    _ = try retrying("statvfs", on: path) { statvfs(path, &status) }
    func bytes(_ blocks: UInt64) -> Int64 {
      let (bytes, overflows) = blocks.multipliedReportingOverflow(by: UInt64(status.f_frsize))
      return overflows ? .max : Int64(clamping: bytes)
    }
    return DiskSpace(size: bytes(UInt64(status.f_blocks)), available: bytes(UInt64(status.f_bavail)))
  }
}
