#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The system's name resolution (getaddrinfo(3)).
package enum HostAddresses {
  /// Returns the addresses of a name, 4 or 16 bytes each, in the order in which the system would try them; empty if the
  /// system knows none. Blocks, for minutes if the system's name servers don't answer.
  package static func of(_ name: String) -> [[UInt8]] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    // Otherwise each address is listed once per socket type.
    hints.ai_socktype = Native.streamSocket
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &first) == 0, let first else { return [] }
    defer { freeaddrinfo(first) }
    var addresses: [[UInt8]] = []
    var next: UnsafeMutablePointer<addrinfo>? = first
    while let found = next?.pointee {
      if let bytes = bytes(of: found), !addresses.contains(bytes) { addresses.append(bytes) }
      next = found.ai_next
    }
    return addresses
  }

  /// Returns the address itself, which follows family, port and, in IPv6, the flow label (ip(7), ipv6(7)): at byte 4 or 8.
  private static func bytes(of found: addrinfo) -> [UInt8]? {
    let range: Range<Int>
    switch found.ai_family {
    case AF_INET: range = 4..<8
    case AF_INET6: range = 8..<24
    default: return nil
    }
    guard let address = found.ai_addr, Int(found.ai_addrlen) >= range.upperBound else { return nil }
    return Array(UnsafeRawBufferPointer(start: address, count: range.upperBound)[range])
  }
}
