import Glibc
import Values

/// An IP address and a port.
package struct SocketAddress: Sendable, Hashable {
  /// The address; one of IPv4 also where a socket for both families has it as an IPv6 one.
  package let ip: IPAddress
  /// The port; 0 lets the kernel choose one.
  package let port: UInt16

  package init(_ ip: IPAddress, port: UInt16) {
    self.ip = ip.unmapped
    self.port = port
  }

  /// Whether it is `::`, which means every address of the machine.
  package var isUnspecified: Bool { ip == .unknown }

  /// Whether it is the machine itself.
  package var isLoopback: Bool { ip.isLoopback }
}

extension SocketAddress: CustomStringConvertible {
  /// Parses an address: `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`; nil for any other text.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
      return nil
    }
    let host = text[..<colon]
    guard let ip = host == "localhost" ? .loopback : IPAddress(String(host)),
      // Without brackets an IPv6 address would take the port for its last group.
      !ip.isV6 || host.first == "["
    else { return nil }
    self.init(ip, port: port)
  }

  package var description: String { "\(ip.authority):\(port)" }

  /// The address without its port and brackets.
  package var host: String { ip.text }
}

extension SocketAddress {
  init(_ address: in_addr, port: UInt16) {
    self.init(IPAddress(v4: UInt32(bigEndian: address.s_addr)), port: port)
  }

  init(_ address: in6_addr, port: UInt16) {
    let words = withUnsafeBytes(of: address) {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    self.init(IPAddress(high: UInt64(bigEndian: words.0), low: UInt64(bigEndian: words.1)), port: port)
  }

  /// Calls `body` with the address in the kernel's form.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    if !ip.isV6 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr = in_addr(s_addr: UInt32(truncatingIfNeeded: ip.low).bigEndian)
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    address.sin6_addr = in6_addr(ip)
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
  init(_ address: IPAddress) {
    self.init()
    let words = (address.high.bigEndian, address.low.bigEndian)
    withUnsafeMutableBytes(of: &self) { own in
      withUnsafeBytes(of: words) { own.copyMemory(from: $0) }
    }
  }
}
