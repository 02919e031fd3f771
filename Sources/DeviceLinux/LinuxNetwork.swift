import Platform
import System
import XCacheClient

/// What Linux knows about the network: whether there is a default route, and whether NetworkManager considers it metered.
///
///     let following = Task { await runtime.followNetwork() }
///
/// An app that knows better, because its user chose, cancels the task and sets `Runtime.conditions` itself.
public struct LinuxNetwork: Sendable {
  private let routes: String
  private let bus: String

  /// Uses the kernel's routes and the system's message bus.
  public init() { self.init(routes: "/proc/net", bus: "/run/dbus/system_bus_socket") }

  /// - Parameters:
  ///   - routes: a folder with `route` and `ipv6_route`.
  ///   - bus: the socket of a message bus.
  package init(routes: String, bus: String) {
    self.routes = routes
    self.bus = bus
  }

  /// Returns what using the network costs now. It reads two files and asks the bus, which takes up to a second if the bus
  /// doesn't answer, so don't call it on the main thread.
  ///
  /// Without NetworkManager, or if it can't tell, the network counts as unmetered.
  public func look() -> Conditions.Network {
    guard hasDefaultRoute else { return .offline }
    return MeteredQuery.ask(bus) == true ? .metered : .unmetered
  }

  private var hasDefaultRoute: Bool { !defaultRoutes.isEmpty }

  /// The default routes by interface and gateway, which differ on another network.
  var defaultRoutes: [String] {
    let v4 = lines("route").filter(Self.isDefault4).map { "\($0[0]) \($0[2])" }
    let v6 = lines("ipv6_route").filter(Self.isDefault6).map { "\($0[9]) \($0[4])" }
    return (v4 + v6).sorted()
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

  /// Fields of `route`: interface, destination, gateway, flags, references, uses, metric, mask, …
  private static func isDefault4(_ fields: [Substring]) -> Bool {
    fields.count >= 8 && fields[1] == "00000000" && fields[7] == "00000000" && isUsable(fields[3])
  }

  /// Fields of `ipv6_route`: destination, its length, source, its length, next hop, metric, references, uses, flags,
  /// interface.
  private static func isDefault6(_ fields: [Substring]) -> Bool {
    fields.count >= 10 && fields[1] == "00" && fields[0].allSatisfy { $0 == "0" } && fields[9] != "lo"
      && isUsable(fields[8])
  }
}
