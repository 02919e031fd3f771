import Glibc

/// A local port on which nothing listens and nothing else can: a proxy there refuses every connection.
enum DeadEnd {
  /// Binds such a port for as long as this process lives.
  ///
  /// - Throws: `Refusal` if no port is available.
  static func make() throws -> UInt16 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    guard socket >= 0, isBound else { throw Refusal("there is no free port on 127.0.0.1") }
    return UInt16(bigEndian: address.sin_port)
  }
}
