import CLinux
import Glibc
import System

extension Kernel {
  /// Connects to a Unix socket (unix(7)); nil if nobody listens there. A read or write that takes longer than `seconds`
  /// fails with EAGAIN.
  package static func connect(toLocal path: String, seconds: Int) throws(SystemError) -> Descriptor? {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try retrying("socket", on: path) { Glibc.socket(AF_UNIX, type, 0) })
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      _ = try retrying("setsockopt", on: path) {
        setsockopt(socket.raw, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
      }
    }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let raw = socket.raw
    do {
      _ = try withUnsafePointer(to: &address) { pointer throws(SystemError) in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer throws(SystemError) in
          try retrying("connect", on: path) {
            Glibc.connect(raw, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
      }
    } catch {
      return nil
    }
    return socket
  }
}
