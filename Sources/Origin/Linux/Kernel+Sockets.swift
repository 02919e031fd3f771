import CLinux
import Glibc
import System

/// The result of an accept.
package enum Accepted: ~Copyable {
  case connection(Descriptor, SocketAddress)
  /// No connection is waiting.
  case none
  /// A connection was closed or failed before it was accepted: try again.
  case lost
  /// No descriptors or memory left (EMFILE, ENFILE, ENOBUFS, ENOMEM).
  case exhausted
}

extension Kernel {
  /// Creates a non-blocking socket that listens on `address`; its connections inherit TCP_NODELAY.
  ///
  /// - Throws: EADDRINUSE if another process listens there.
  package static func listen(_ address: SocketAddress, backlog: Int32) throws(SystemError) -> Descriptor {
    let subject = address.description
    let family = address.ip.isV6 ? AF_INET6 : AF_INET
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let socket = Descriptor(owning: try retrying("socket", on: subject) { Glibc.socket(family, type, 0) })
    // SO_REUSEADDR ignores connections of an earlier run in TIME_WAIT, but never a listener.
    try set(socket.raw, SOL_SOCKET, SO_REUSEADDR)
    // `[::]` means every address of the machine, including IPv4, whatever the system's default is.
    if address.ip.isV6 {
      try set(socket.raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY, to: address.isUnspecified ? 0 : 1)
    }
    try set(socket.raw, Int32(IPPROTO_TCP), TCP_NODELAY)
    _ = try retrying("bind", on: subject) {
      address.withSockaddr { Glibc.bind(socket.raw, $0, $1) }
    }
    _ = try retrying("listen", on: subject) { Glibc.listen(socket.raw, backlog) }
    return socket
  }

  /// The address that a socket is bound to, with the port that the kernel chose for port 0.
  package static func localAddress(_ socket: Int32) throws(SystemError) -> SocketAddress {
    let found = SocketAddress.filled { getsockname(socket, $0, $1) }
    guard found.result == 0 else { throw SystemError("getsockname", code: Errno(rawValue: xcache_errno())) }
    return found.address
  }

  /// Accepts the next waiting connection, as a non-blocking socket.
  package static func accept(_ listener: Int32) -> Accepted {
    let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    while true {
      let found = SocketAddress.filled { xcache_accept4(listener, $0, $1, flags) }
      if found.result >= 0 { return .connection(Descriptor(owning: found.result), found.address) }
      switch xcache_errno() {
      case EINTR: continue
      // EINVAL: the socket has stopped listening.
      case EAGAIN, EINVAL: return .none
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      case EBADF, EFAULT, ENOTSOCK: fatalError("accept4 on what doesn't listen")
      default: return .lost
      }
    }
  }

  /// Tells the peer that nothing more will be sent; what it still sends can be read.
  package static func shutdownSending(_ socket: Int32) {
    _ = Glibc.shutdown(socket, Int32(SHUT_WR))
  }

  /// Stops listening: new connections are refused, and those that wait to be accepted are rejected.
  package static func stopListening(_ socket: Int32) {
    _ = Glibc.shutdown(socket, Int32(SHUT_RDWR))
  }

  /// The number of bytes that were sent and that the peer hasn't acknowledged yet (SIOCOUTQ).
  package static func unacknowledged(_ socket: Int32) -> Int { Int(max(xcache_outq(socket), 0)) }

  private static func set(
    _ socket: Int32, _ level: Int32, _ option: Int32, to value: Int32 = 1
  ) throws(SystemError) {
    var value = value
    _ = try retrying("setsockopt") {
      setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }
}
