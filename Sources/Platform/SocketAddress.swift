/// An IP address and a port, IPv4 as `::ffff:a.b.c.d`.
package struct SocketAddress: Sendable, Hashable {
  package let high: UInt64
  package let low: UInt64
  package let port: UInt16

  package init(high: UInt64, low: UInt64, port: UInt16) {
    self.high = high
    self.low = low
    self.port = port
  }

  /// `::`, which stands for every address of the machine.
  package var isUnspecified: Bool { high == 0 && low == 0 }

  package var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }
}
