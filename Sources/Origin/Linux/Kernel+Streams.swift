import CLinux
import Glibc
import System

/// What to wait for on a socket.
package enum SocketWait: Sendable {
  case reading, writing
}

extension Kernel {
  /// Waits until a socket can be read or written, or has ended; false after `milliseconds`.
  package static func wait(_ socket: Int32, for what: SocketWait, milliseconds: Int) -> Bool {
    var entry = pollfd(fd: socket, events: Int16(what == .reading ? POLLIN : POLLOUT), revents: 0)
    let end = Clock.monotonicNanoseconds() &+ UInt64(clamping: milliseconds) &* 1_000_000
    while true {
      let now = Clock.monotonicNanoseconds()
      let left = now < end ? Int32(clamping: (end &- now) / 1_000_000 &+ 1) : 0
      let count = poll(&entry, 1, left)
      if count > 0 { return true }
      if count == 0 || xcache_errno() != EINTR { return false }
    }
  }

  /// Whether the peer has closed a connection, or the connection is broken.
  package static func isHungUp(_ socket: Int32) -> Bool {
    // POLLRDHUP (poll(2)), which Glibc exposes only with _GNU_SOURCE.
    let hungUp: Int16 = 0x2000
    var entry = pollfd(fd: socket, events: hungUp, revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & (hungUp | Int16(POLLHUP) | Int16(POLLERR)) != 0
  }

  /// Connects to an address and returns a non-blocking socket; waits at most `milliseconds`.
  ///
  /// - Throws: the errors of connect(2), including ETIMEDOUT.
  package static func connect(
    to address: SocketAddress, milliseconds: Int
  ) throws(SystemError) -> Descriptor {
    let socket = try beginConnecting(to: address)
    try finishConnecting(socket.raw, to: address, milliseconds: milliseconds)
    return socket
  }

  /// Begins to connect a non-blocking socket to an address, for `finishConnecting`.
  package static func beginConnecting(to address: SocketAddress) throws(SystemError) -> Descriptor {
    let subject = address.description
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let family = address.ip.isV6 ? AF_INET6 : AF_INET
    let socket = Descriptor(owning: try retrying("socket", on: subject) { Glibc.socket(family, type, 0) })
    var value: Int32 = 1
    _ = setsockopt(
      socket.raw, Int32(IPPROTO_TCP), TCP_NODELAY, &value, socklen_t(MemoryLayout<Int32>.size))
    if address.withSockaddr({ Glibc.connect(socket.raw, $0, $1) }) == 0 { return socket }
    let code = xcache_errno()
    // An interrupted connect continues in the background (connect(2)).
    guard code == EINPROGRESS || code == EINTR else {
      throw SystemError("connect", on: subject, code: Errno(rawValue: code))
    }
    return socket
  }

  /// Waits at most `milliseconds` until a socket is connected; `shutdown` ends the wait.
  ///
  /// - Throws: the errors of connect(2), including ETIMEDOUT.
  package static func finishConnecting(
    _ socket: Int32, to address: SocketAddress, milliseconds: Int
  ) throws(SystemError) {
    let subject = address.description
    guard wait(socket, for: .writing, milliseconds: milliseconds) else {
      throw SystemError("connect", on: subject, code: Errno(rawValue: ETIMEDOUT))
    }
    var failure: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    _ = getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size)
    guard failure == 0 else { throw SystemError("connect", on: subject, code: Errno(rawValue: failure)) }
  }

  /// Shuts down both directions of a connection; whoever waits for it wakes up.
  package static func shutdown(_ socket: Int32) { _ = Glibc.shutdown(socket, Int32(SHUT_RDWR)) }

  /// Aborts a connection: the peer gets a reset, and data that it hasn't read is lost. Whoever waits for it wakes up.
  package static func abortConnection(_ socket: Int32) {
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    // "Connect to an address with the sa_family member of sockaddr set to AF_UNSPEC" dissolves it (connect(2)).
    if Glibc.connect(socket, &nowhere, socklen_t(MemoryLayout<sockaddr>.size)) != 0 { shutdown(socket) }
  }
}
