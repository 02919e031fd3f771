import DeviceTestSupport
import Glibc
import System
import Testing
import TestSupport

@testable import DeviceLinux
@testable import XCacheDevice

@Suite struct LinuxNetworkTests {
  let scratch: Scratch

  init() throws { scratch = try Scratch() }

  static let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
  static let route = "eth0\t00000000\t0100007F\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
  static let local = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
  static let zero = String(repeating: "0", count: 32)
  static let route6 =
    "\(zero) 00 \(zero) 00 fe800000000000000000000000000001 00000400 00000001 00000000 00450003 wlan0\n"
  static let unreachable6 = "\(zero) 00 \(zero) 00 \(zero) ffffffff 00000001 00000000 00200200       lo\n"

  private func look(
    _ route: String?, _ route6: String? = nil, bus: String = "/nowhere"
  ) throws -> Conditions.Network {
    if let route { try DurableFile.write(bytes(route), to: "\(scratch.path)/route") }
    if let route6 { try DurableFile.write(bytes(route6), to: "\(scratch.path)/ipv6_route") }
    return LinuxNetwork(routes: scratch.path, bus: bus, interfaces: "/nowhere").look()
  }

  @Test(arguments: [
    (head, "", false), (head + route, "", true),
    (head, route6, true), (head + local + route, unreachable6, true),
    // A route that is down, and one that rejects.
    (head + route.replacing("0003", with: "0002"), "", false),
    (head + route.replacing("0003", with: "0201"), "", false), ("nonsense", "\n\n \n", false),
  ])
  func defaultRoutesAreANetwork(route: String, route6: String, isThere: Bool) throws {
    #expect(try look(route, route6) == (isThere ? .unmetered : .offline))
  }

  /// A kiosk whose origin is on the local network has no default route.
  @Test(
    arguments: [
      (head + local, unreachable6, "up", true), (head + local, "", nil, true),
      (head + local, "", "unknown", true),
      // A bridge without ports.
      (head + local, "", "down", false),
      // Link-local addresses, the loopback interface and multicast.
      (head + "eth0\t0000FEA9\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n", "", "up", false),
      (head + "lo\t0000007F\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n", "", "unknown", false),
      (head, network6("fd0000000000000000000000000000aa", "eth0"), "up", true),
      (head, network6("fe800000000000000000000000000000", "eth0"), "up", false),
      (head, network6("ff000000000000000000000000000000", "eth0"), "up", false),
      (head, network6("00000000000000000000000000000001", "lo"), "unknown", false),
    ] as [(String, String, String?, Bool)])
  func localNetworksCountWithoutADefaultRoute(route: String, route6: String, state: String?, isThere: Bool)
    throws
  {
    for name in ["eth0", "lo"] {
      if let state { try Scratch.write(state + "\n", to: "\(scratch.path)/net/\(name)/operstate") }
    }
    try DurableFile.write(bytes(route), to: "\(scratch.path)/route")
    try DurableFile.write(bytes(route6), to: "\(scratch.path)/ipv6_route")
    let network = LinuxNetwork(routes: scratch.path, bus: "/nowhere", interfaces: "\(scratch.path)/net")
    #expect(network.look() == (isThere ? .unmetered : .offline))
  }

  private static func network6(_ destination: String, _ interface: String) -> String {
    "\(destination) 40 \(zero) 00 \(zero) 00000100 00000001 00000000 00000001 \(interface)\n"
  }

  @Test func missingFilesAreOffline() throws { #expect(try look(nil) == .offline) }

  /// A message of the bus: a return (2), an error (3) or a signal (4).
  private static func message(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
    let fields: [UInt8] = [5, 1, 0x75, 0, 2, 0, 0, 0]
    return [0x6C, kind, 1, 1, UInt8(body.count), 0, 0, 0, 9, 0, 0, 0, UInt8(fields.count), 0, 0, 0] + fields
      + body
  }

  private static func answer(_ last: [UInt8]) -> [UInt8] {
    bytes("DATA\r\nOK 1234deadbeef\r\n") + message(2, [4, 0, 0, 0] + bytes(":1.2") + [0])
      + message(4, [1, 2, 3]) + last
  }

  private static func metered(_ value: UInt8) -> [UInt8] {
    answer(message(2, [1, 0x75, 0, 0, value, 0, 0, 0]))
  }

  /// Valid and invalid answers of NetworkManager.
  @Test(
    arguments: [
      (metered(0), .unmetered), (metered(1), .metered), (metered(2), .unmetered), (metered(3), .metered),
      (metered(4), .unmetered), (metered(9), .unmetered), (answer(message(3, [])), .unmetered),
      (answer(message(2, [1, 0x73, 0, 0, 1, 0, 0, 0])), .unmetered),
      (bytes("REJECTED EXTERNAL\r\n"), .unmetered),
      ([], .unmetered), (Array(metered(1).dropLast()), .unmetered),
      (answer([0x6C, 2, 1, 1] + [UInt8](repeating: 0xFF, count: 12)), .unmetered),
    ] as [([UInt8], Conditions.Network)])
  func meteredIsReadFromTheBus(answer: [UInt8], network: Conditions.Network) throws {
    let bus = try LocalServer("\(scratch.path)/bus", answer)
    #expect(try look(Self.head + Self.route, bus: bus.path) == network)
    let asked = bus.asked()
    #expect(asked.starts(with: [0] + bytes("AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\nl")))
    // Two calls, each padded to 8 bytes, except for the last one's arguments.
    let calls = asked.dropFirst(1 + "AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n".utf8.count)
    let text = String(decoding: calls, as: UTF8.self)
    for word in ["Hello", "Get", "org.freedesktop.DBus.Properties", "Metered"] {
      #expect(text.contains(word))
    }
  }

  /// The current state, then each change.
  @Test func changesAreReported() async throws {
    let network = LinuxNetwork(routes: scratch.path, bus: "/nowhere")
    var seen: [Conditions.Network] = []
    for await now in network.changes(every: .milliseconds(5)) {
      seen.append(now)
      if seen.count == 5 { break }
      try DurableFile.write(
        bytes(now == .offline ? Self.head + Self.route : Self.head), to: "\(scratch.path)/route")
    }
    #expect(seen == [.offline, .unmetered, .offline, .unmetered, .offline])
  }

  /// A recorded answer of dbus-daemon 1.14, with a fake NetworkManager that answered "guess yes".
  private static let real = """
    REFUQQ0KT0sgOTYxM2RmZWI1YTE4YzhlZWUxMGEzOWM1NmIwMmUzY2UNCmwCAQEJAAAAAQAAAD0AAAAGAXMABAAAADoxLjIAAAAA\
    BQF1AAEAAAAIAWcAAXMAAAcBcwAUAAAAb3JnLmZyZWVkZXNrdG9wLkRCdXMAAAAABAAAADoxLjIAbAQBAQkAAAACAAAAjQAAAAEB\
    bwAVAAAAL29yZy9mcmVlZGVza3RvcC9EQnVzAAAAAgFzABQAAABvcmcuZnJlZWRlc2t0b3AuREJ1cwAAAAADAXMADAAAAE5hbWVB\
    Y3F1aXJlZAAAAAAGAXMABAAAADoxLjIAAAAACAFnAAFzAAAHAXMAFAAAAG9yZy5mcmVlZGVza3RvcC5EQnVzAAAAAAQAAAA6MS4y\
    AGwCAAEIAAAACQAAAC0AAAAFAXUAAgAAAAYBcwAEAAAAOjEuMgAAAAAIAWcAAXYAAAcBcwAEAAAAOjEuMQAAAAABdQAAAwAAAA==
    """

  @Test func recordedAnswersAreRead() throws {
    #expect(MeteredQuery.read(try #require(Base64.decode(Self.real))) == .value(3))
  }

  @Test func incompleteAnswersNeedMore() {
    let whole = Self.metered(3)
    for count in 0..<whole.count {
      #expect(MeteredQuery.read(Array(whole[..<count])) == .more, "\(count)")
    }
    #expect(MeteredQuery.read(whole) == .value(3))
  }
}

/// Accepts one connection on a Unix socket, reads the request once, answers and closes.
private final class LocalServer: Sendable {
  let path: String
  private let question = Locked<[UInt8]>([])
  private let thread: OSThread

  init(_ path: String, _ answer: [UInt8]) throws {
    self.path = path
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) }
    }
    #expect(bound == 0 && listen(listener, 1) == 0)
    let question = question
    thread = try OSThread(name: "bus") {
      let connection = accept(listener, nil, nil)
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(connection, &buffer, buffer.count)
      question.withLock { $0 = Array(buffer.prefix(max(0, count))) }
      // The other side may have closed already.
      _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
      close(connection)
      close(listener)
    }
  }

  /// The bytes of the request.
  func asked() -> [UInt8] {
    thread.join()
    return question.withLock { $0 }
  }
}
