import Linux
import System
import XCacheDevice

/// What Linux knows about the network: whether there is a default route, or else a route into a local network, and whether
/// NetworkManager considers it metered.
///
///     let following = Task { await runtime.followNetwork() }
///
/// An app that knows better, because its user chose, cancels the task and sets `Runtime.conditions` itself.
public struct LinuxNetwork: Sendable {
  private let routes: String
  private let bus: String
  private let interfaces: String

  /// Uses the kernel's routes and the system's message bus.
  public init() { self.init(routes: "/proc/net", bus: "/run/dbus/system_bus_socket") }

  /// - Parameters:
  ///   - routes: a folder with `route` and `ipv6_route`.
  ///   - bus: the socket of a message bus.
  ///   - interfaces: a folder with a folder for each interface, which has its `operstate`.
  package init(routes: String, bus: String, interfaces: String = "/sys/class/net") {
    self.routes = routes
    self.bus = bus
    self.interfaces = interfaces
  }

  /// Returns what using the network costs now. It reads two files and asks the bus, which takes up to a second if the bus
  /// doesn't answer, so don't call it on the main thread.
  ///
  /// Without NetworkManager, or if it can't tell, the network counts as unmetered.
  public func look() -> Conditions.Network {
    if usedRoutes.isEmpty { return .offline }
    return MeteredQuery.ask(bus) == true ? .metered : .unmetered
  }

  /// The routes that requests can take, by interface and gateway or destination, which differ on another network: the default
  /// routes, or if there are none, those into local networks, where a server may be, too.
  var usedRoutes: [String] {
    let v4 = lines("route").filter { $0.count >= 8 && Self.isUsable($0[3]) }
    let v6 = lines("ipv6_route").filter { $0.count >= 10 && Self.isUsable($0[8]) && $0[9] != "lo" }
    let defaults =
      v4.filter { $0[1] == "00000000" && $0[7] == "00000000" }.map { "\($0[0]) \($0[2])" }
      + v6.filter(Self.isDefault6).map { "\($0[9]) \($0[4])" }
    if !defaults.isEmpty { return defaults.sorted() }
    let local =
      v4.filter { Self.isNetwork4($0[1]) && isUp($0[0]) }.map { "\($0[0]) \($0[1])" }
      + v6.filter { Self.isNetwork6($0[0]) && isUp($0[9]) }.map { "\($0[9]) \($0[0])" }
    return local.sorted()
  }

  /// Whether an interface isn't known to be down, as a bridge without a guest is.
  private func isUp(_ interface: Substring) -> Bool {
    guard let state = try? DurableFile.read("\(interfaces)/\(interface)/operstate") else { return true }
    return !state.starts(with: "down".utf8)
  }

  private func lines(_ name: String) -> [[Substring]] {
    // Files in /proc report no size, so read to the end.
    guard let file = try? Kernel.openExisting("\(routes)/\(name)", .read) else { return [] }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < 1 << 20 {
      let count = buffer.withUnsafeMutableBytes { (try? Kernel.read(file, into: $0)) ?? 0 }
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
      $0.split { $0 == " " || $0 == "\t" }
    }
  }

  /// Whether a route has RTF_UP and not RTF_REJECT (<linux/route.h>).
  private static func isUsable(_ flags: Substring) -> Bool {
    guard let flags = UInt32(flags, radix: 16) else { return false }
    return flags & 0x0001 != 0 && flags & 0x0200 == 0
  }

  // Fields of `route`: interface, destination, gateway, flags, references, uses, metric, mask, …

  /// Whether a destination is neither the loopback network nor 169.254.0.0/16 (RFC 3927), where no server is. The kernel
  /// writes addresses in network order, read as a little-endian number.
  private static func isNetwork4(_ destination: Substring) -> Bool {
    !destination.hasSuffix("7F") && !destination.hasSuffix("FEA9")
  }

  // Fields of `ipv6_route`: destination, its length, source, its length, next hop, metric, references, uses, flags, interface.

  private static func isDefault6(_ fields: [Substring]) -> Bool {
    fields[1] == "00" && fields[0].allSatisfy { $0 == "0" }
  }

  /// Whether a destination is neither link-local (`fe80::/10`) nor multicast (`ff00::/8`).
  private static func isNetwork6(_ destination: Substring) -> Bool {
    !destination.hasPrefix("ff") && !["fe8", "fe9", "fea", "feb"].contains(destination.prefix(3))
      && !destination.allSatisfy { $0 == "0" }
  }
}
