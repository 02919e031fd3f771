import Glibc

/// An IP address and a port; an IPv4 address is stored as `::ffff:a.b.c.d`.
package struct SocketAddress: Sendable, Hashable {
  /// The first eight bytes of the IPv6 address.
  package let high: UInt64
  /// The last eight bytes of the IPv6 address.
  package let low: UInt64
  /// The port; 0 lets the kernel choose one.
  package let port: UInt16

  package init(high: UInt64, low: UInt64, port: UInt16) {
    self.high = high
    self.low = low
    self.port = port
  }

  /// Whether it is `::`, which means every address of the machine.
  package var isUnspecified: Bool { high == 0 && low == 0 }

  /// Whether it is the machine itself: `::1`, or 127.0.0.0/8 (RFC 1122 §3.2.1.3).
  package var isLoopback: Bool { high == 0 && (low == 1 || (isIPv4 && low >> 24 & 0xFF == 127)) }

  /// Whether it is an IPv4 address.
  package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }
}

extension SocketAddress: CustomStringConvertible {
  /// Parses an address: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil for any other text.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    let host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      var address = in6_addr()
      guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else { return nil }
      self.init(address, port: port)
    } else {
      var address = in_addr()
      guard inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : String(host), &address) == 1 else {
        return nil
      }
      self.init(address, port: port)
    }
  }

  package var description: String { isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

  /// The address without its port and brackets.
  package var host: String {
    var text = [CChar](repeating: 0, count: 64)
    if isIPv4 {
      var address = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
      inet_ntop(AF_INET, &address, &text, 64)
    } else {
      var address = in6_addr(self)
      inet_ntop(AF_INET6, &address, &text, 64)
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension SocketAddress {
  init(_ address: in_addr, port: UInt16) {
    self.init(high: 0, low: 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: address.s_addr)), port: port)
  }

  init(_ address: in6_addr, port: UInt16) {
    let words = withUnsafeBytes(of: address) {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1), port: port)
  }

  /// Calls `body` with the address in the kernel's form.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    if isIPv4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6_addr(self)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
      }
    }
  }

  /// The address that the kernel writes in `body`, with the result of `body`; the address means nothing if that is negative.
  static func filled(
    _ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> (result: Int32, address: SocketAddress) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
    let family = Int32(storage.ss_family)
    let address = withUnsafeBytes(of: &storage) { bytes in
      if family == AF_INET {
        let own = bytes.loadUnaligned(as: sockaddr_in.self)
        return SocketAddress(own.sin_addr, port: UInt16(bigEndian: own.sin_port))
      }
      let own = bytes.loadUnaligned(as: sockaddr_in6.self)
      return SocketAddress(own.sin6_addr, port: UInt16(bigEndian: own.sin6_port))
    }
    return (result, address)
  }
}

extension in6_addr {
  init(_ address: SocketAddress) {
    self.init()
    let words = (address.high.bigEndian, address.low.bigEndian)
    withUnsafeMutableBytes(of: &self) { own in
      withUnsafeBytes(of: words) { own.copyMemory(from: $0) }
    }
  }
}
