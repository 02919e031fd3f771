import Libc

/// The system's own name resolution (getaddrinfo(3)).
package enum HostAddresses {
  /// The addresses of a name, 4 or 16 bytes each, in the order in which the system would try them; none where the system
  /// knows none. The call blocks, for minutes where the system's servers don't answer.
  package static func of(_ name: String) -> [[UInt8]] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    // Else each address comes once for each kind of socket.
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

  /// An address stands behind family and port, and in IPv6 the flow (ip(7), ipv6(7)): at 4, or at 8.
  private static func bytes(of found: addrinfo) -> [UInt8]? {
    let place: Range<Int>
    switch found.ai_family {
    case AF_INET: place = 4..<8
    case AF_INET6: place = 8..<24
    default: return nil
    }
    guard let address = found.ai_addr, Int(found.ai_addrlen) >= place.upperBound else { return nil }
    return Array(UnsafeRawBufferPointer(start: address, count: place.upperBound)[place])
  }
}
