import CLinux
import Glibc

/// What has a name that should be a regular file's.
package enum NamedFile: ~Copyable {
  case file(Descriptor, FileStatus)
  /// A folder, a FIFO, a socket, a device or a link that leads in a circle: it has no bytes of its own.
  case other(inode: UInt64)
  case missing
}

extension Kernel {
  /// Opens a regular file for reading; what else may have its name is neither opened nor waited for.
  package static func openFile(_ path: String) throws(SystemError) -> NamedFile {
    guard let named = try named(path) else { return .missing }
    guard named.kind == .file else { return .other(inode: named.inode) }
    // Another may have the name by now, a FIFO perhaps: open(2) would wait for whoever writes into it.
    guard let file = try openExisting(path, O_RDONLY | O_NONBLOCK) else { return .missing }
    let status = try status(file)
    return status.kind == .file ? .file(file, status) : .other(inode: status.inode)
  }

  /// What has a name, links followed; one that leads in a circle stands for itself.
  package static func named(_ path: String) throws(SystemError) -> FileStatus? {
    do {
      return try status(path)
    } catch  where error.code == ELOOP {
      return try status(path, followLinks: false)
    }
  }
}
