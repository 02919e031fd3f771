import DeviceLinux
import HTTP
import Linux
import Manifests
import Publishing
import Server
import System
import Values
import XCacheDevice
import XCacheRuntime

/// `xcache device run`, the runtime as a local process for browsers, tests, and authors of other runtimes, and `xcache device
/// dns`, in `DeviceNames`.
enum DeviceCommand {
  static let command = Command(
    name: "device", operands: "run | dns HOST",
    summary: "run the device runtime as a local process, or look up hosts as a device does",
    examples: [
      .init("run --to phone --app shop --hosts m.example.com", "pages at http://127.0.0.1:8090/at/https/…"),
      .init("dns m.example.com --connect", "the addresses a device would use, and whether they answer"),
    ],
    notes: """
      Pages are at /at/SCHEME/HOST[:PORT]/PATH, so that links between them work:
        http://127.0.0.1:PORT/at/https/m.example.com/index.html
      Content that the device holds is served as a web engine would get it; everything else is redirected (307) to
      its real address, with the reason in X-XCache. Relative links and links that begin with / stay here; absolute
      ones go to the network. Opening a page in a browser polls, as in an app; curl needs -H 'Sec-Fetch-Dest: document'
      for that. The process can't see whether a page renders, so every page that was answered counts as opened, and
      only one whose process ends early as failed. Whether the network is metered comes from the system (the default
      route, NetworkManager) unless it is set by hand; an origin on this machine is never metered. Events are printed,
      one line each, or with --json as one JSON object each, the first with the addresses.
      The control page needs the token that is printed at the start, in the query or as Authorization: Bearer TOKEN:
        GET  /control.json        the control page as JSON
        POST /control/trigger     name=launch|foreground|push|pageClosed
        POST /control/conditions  network=unmetered|metered|offline, savesData=0|1, isLowPower=0|1, isForeground=0|1
        POST /control/memory      the system is short of memory
      The parameters are in the query. The process listens on loopback only and answers only requests whose Host is
      this address. SIGTERM and SIGINT stop it.
      """ + "\n" + DeviceNames.notes,
    options: [
      .value("to", "DIR", "the device's folder (required)").only("run"),
      .value("hosts", "HOSTS", "the app's hosts, such as m.example.com,*.static.example.com (required)").only(
        "run"),
      .value("listen", "HOST:PORT", "the loopback address to listen on (default: 127.0.0.1:8090)").only(
        "run"),
    ] + [Command.remote[0], Command.certificates] + Command.channel + [
      .value(
        "fallback", "URL", environment: "XCACHE_FALLBACK",
        "the static copy to use after five failed polls in a row"
      ).only("run"),
      .value("preset", "FILE.zip", "the zip file that ships with the app (the origin's bundle/N.zip)").only(
        "run"),
      .value("root", "FILE", "the root.json that the app is built with: take only what its keys have signed")
        .only("run"),
      .value("app-version", "VERSION", "the app's version, for rollouts that name a range of versions").only(
        "run"),
      .value("group", "NAME", "a group that the device is in, for rollouts that name groups; repeatable")
        .only("run"),
      .value("disk-limit", "SIZE", "limit the size of the device's files (default: 100MB)").only("run"),
    ] + DeviceNames.options,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "run": return try serve(arguments, terminal)
    case "dns": return try DeviceNames.run(arguments, terminal)
    case let word?:
      throw UsageError("unknown command \"device \(word)\": expected device run or device dns HOST")
    case nil: throw UsageError("expected device run or device dns HOST")
    }
  }

  private static func serve(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("run")
    let remote = try RemoteOrigin(arguments)
    let settings = try settings(arguments, remote)
    let address = try address(arguments)
    // Before any thread starts: threads inherit the mask, so that only the wait below sees the signals.
    Signals.block()
    let runtime = try wait {
      try await Runtime(
        settings,
        transport: remote.transport(connections: settings.device.connections))
    }
    if let fault = runtime.fault { throw Failure("\(fault)") }
    var configuration = ServerConfiguration(address: address)
    configuration.name = "xcache"
    let server: Server
    do {
      server = try Server(configuration: configuration)
    } catch .listen(let address, let error) {
      throw Failure("can't listen on \(address): \(error.reason); choose another port with --listen")
    } catch .resources(let error) {
      throw Failure("the device can't start: \(error)")
    }
    let token = Hex.encode(Secrets.random(16).span.bytes)
    let log = EventLog(terminal, isJSON: arguments.has("json"))
    // An origin on this machine is reachable even without a network.
    let following =
      Self.isOnThisMachine(settings.device.server) ? nil : Task { await runtime.followNetwork() }
    let control = ControlPage(runtime, log, following, token: token, address: "\(server.address)")
    try server.start { _ in DeviceHandler(runtime, control) }
    log.begin(
      pages: "http://\(server.address)/at/https/HOST/PATH",
      control: "http://\(server.address)/?token=\(token)")
    if let fault = runtime.presetFault { terminal.note("the preset is not used: \(fault)") }
    let events = runtime.events
    Task { for await event in events { log.note(event) } }
    control.tell(.launch)
    _ = Signals.wait()
    server.stop(graceSeconds: 2)
    try wait { await runtime.close() }
    runtime.device?.finishReports(milliseconds: 5_000)
    return .done
  }

  private static func isOnThisMachine(_ server: String) -> Bool {
    guard let host = (try? ResourceURL(server))?.host else { return false }
    return host == "localhost" || SocketAddress("\(host):0")?.isLoopback == true
  }

  private static func settings(_ arguments: Arguments, _ remote: RemoteOrigin) throws -> RuntimeSettings {
    guard let folder = try arguments.value("to") else {
      throw UsageError("--to DIR is required: the device's folder")
    }
    guard let hosts = try arguments.value("hosts") else {
      throw UsageError("--hosts is required: the hosts of the app's pages")
    }
    if let wrong = hosts.split(separator: ",").first(where: { $0.contains("/") }) {
      throw UsageError("--hosts \(wrong): expected names such as m.example.com, without scheme or path")
    }
    var device = DeviceSettings(
      folder: folder, server: try remote.server.text, app: try remote.app.text,
      hosts: hosts.split(separator: ",").map(String.init), channel: remote.channel.text)
    device.fallback = try arguments.value("fallback").map {
      try SettingsValue.url($0, in: arguments.source("fallback")).text
    }
    device.root = try arguments.value("root").map { try Arguments.file($0) }
    if let text = try arguments.value("app-version") {
      guard AppVersion(text) != nil else {
        throw UsageError("--app-version \(text) is not a version such as 4.2 or 4.2.0-rc.1")
      }
      device.appVersion = text
    }
    device.groups = Set(arguments.all("group"))
    if let group = device.groups.first(where: { !RolloutRule.isGroup($0) }) {
      throw UsageError("--group \(group) is not a name of lower-case letters, digits and hyphens, such as qa")
    }
    if let text = try arguments.value("disk-limit") {
      guard let bytes = Bytes.parse(text) else {
        throw UsageError("--disk-limit \(text) is not a size such as 100MB")
      }
      device.diskLimit = bytes
    }
    var settings = RuntimeSettings(device)
    settings.preset = try arguments.value("preset")
    return settings
  }

  private static func address(_ arguments: Arguments) throws -> SocketAddress {
    let text = try arguments.value("listen") ?? "127.0.0.1:8090"
    let isLoopback = ["127.0.0.1:", "[::1]:", "localhost:"].contains { text.hasPrefix($0) }
    guard isLoopback, let address = SocketAddress(text) else {
      throw UsageError(
        "\(arguments.source("listen")) \(text) is not a loopback address and port such as 127.0.0.1:8090")
    }
    return address
  }

  /// Blocks this thread, which isn't in Swift's concurrency pool, until `body` is done.
  private static func wait<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) throws -> Value {
    let result = Monitor<Result<Value, any Error>?>(nil)
    Task {
      do {
        let value = try await body()
        result.broadcasting { $0 = .success(value) }
      } catch {
        result.broadcasting { $0 = .failure(error) }
      }
    }
    return try result.waiting { $0 }.get()
  }
}
