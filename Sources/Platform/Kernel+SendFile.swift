import CLinux
import Glibc

extension Kernel {
  /// Sends up to `count` bytes of a file from `offset` on, without passing through user memory.
  ///
  /// `.end` means that the file is shorter than it was said to be.
  package static func sendFile(_ file: Int32, at offset: UInt64, count: Int, to socket: Int32) -> Transfer {
    var position = off_t(truncatingIfNeeded: offset)
    while true {
      let sent = Glibc.sendfile(socket, file, &position, count)
      if sent > 0 { return .bytes(sent) }
      if sent == 0 { return .end }
      // EIO and its like are the file's: the answer can't be completed, and the connection must end. So is EINVAL,
      // "descriptor is not valid": a folder, or a file of a file system that can't do it (sendfile(2)).
      if xcache_errno() == EINVAL { return .broken }
      if let failure = failure("sendfile") { return failure }
    }
  }
}
