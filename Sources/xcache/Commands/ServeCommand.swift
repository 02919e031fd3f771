import Manifests
import Origin
import Platform
import Server
import Store

/// `xcache serve`: joins the store, the origin and the server, and waits for a signal.
enum ServeCommand {
  static let command = Command(
    name: "serve", operands: "", summary: "run an origin: answer devices and publishers",
    notes: """
      Creates DIR where it is missing. The first start writes an admin token to DIR/admin.token. One process at a
      time writes a data folder. SIGTERM and SIGINT end it; answers in flight get 10 seconds.
      TLS belongs to a proxy in front; name it with --trust-proxy, so that its clients are told apart.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (needed)"),
      .value("listen", "HOST:PORT", environment: "XCACHE_LISTEN", "where to listen (default: 127.0.0.1:8080)"),
      .value(
        "public-url", "URL", environment: "XCACHE_PUBLIC_URL",
        "where devices download from, for new channels (default: the address listened on)"),
      .value("threads", "N", "event loops (default: the machine's cores)"),
      .value("max-connections", "N", "open connections in all (default: 20000)"),
      .value("max-connections-per-address", "N", "of one address; loopback is exempt (default: 256)"),
      .value("trust-proxy", "CIDR", "take clients' addresses from this proxy's X-Forwarded-For; may be repeated"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    guard let data = try arguments.value("data") else { throw UsageError("--data DIR is needed: where everything is kept") }
    // Before any thread starts: each inherits it, so that only the wait below sees the signals.
    Signals.block()
    let log: @Sendable (String) -> Void = { terminal.note("\(LogTime.now) \($0)") }
    var configuration = try configuration(arguments)
    let store = try Store(path: data)
    let files = Environment.raiseDescriptorLimit()
    configuration.limits.connections = min(configuration.limits.connections, max(64, files / 2))

    let joint = Joint()
    let server = try listen(configuration, joint)
    let origin = try Origin(store: store, options: try options(arguments, server, files, configuration.loops, log))
    joint.set(origin)
    try server.start()
    if store.madeAdminToken { log("wrote an admin token to \(store.folder.adminToken); keep it secret") }
    log("xcache \(XCache.version) listens on http://\(server.address), data in \(data)")

    let signal = Signals.wait()
    log("stopping on \(signal == 2 ? "SIGINT" : "SIGTERM")")
    origin.beginStopping()
    server.stop(graceSeconds: 10)
    log("stopped")
    return .done
  }
}
