import Glibc
import System

/// Socket operations for tests that the program never uses.
enum TestSocket {
  /// A non-blocking connection to a port of 127.0.0.1.
  static func connect(port: UInt16) throws -> Descriptor {
    let socket = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket.raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw SystemError("connect", code: Errno(rawValue: errno)) }
    _ = fcntl(socket.raw, F_SETFL, O_NONBLOCK)
    return socket
  }

  /// Sends a RST, by disconnecting with a linger time of 0.
  static func reset(_ socket: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    var none = sockaddr()
    none.sa_family = sa_family_t(AF_UNSPEC)
    _ = Glibc.connect(socket, &none, socklen_t(MemoryLayout<sockaddr>.size))
  }
}
