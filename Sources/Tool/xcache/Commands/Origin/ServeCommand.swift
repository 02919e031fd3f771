import HTTP
import Linux
import Mirror
import Origin
import Publishing
import Server
import Store
import System
import TLS
import Values

/// `xcache serve`: connects the store, the origin and the server, and waits for a signal.
enum ServeCommand {
  static let command = Command(
    name: "serve", operands: "", summary: "run an origin server",
    examples: [
      .init("--data /srv/xcache", "listens on 127.0.0.1:8080"),
      .init(
        "--data /srv/xcache --listen 0.0.0.0:8080 --public-url https://cdn.example.com/hxm --gc 03:00",
        "behind a CDN, with garbage collection every night"),
    ],
    notes: """
      Creates DIR if it doesn't exist. The first start writes an admin token to DIR/admin.token. Only one process at a
      time writes to a data folder. SIGTERM and SIGINT stop the server; answers in progress get 10 seconds. SIGHUP
      reloads the certificate and its key, and reopens the access log after it was moved. An option takes precedence
      over its variable.
      With --tls-cert and --tls-key the server speaks https itself: TLS 1.2 and 1.3, HTTP/1.1. If a proxy in front of
      it does that, name the proxy with --trust-proxy, so that clients are told apart.
      --purge sends varnish, nginx and http URLs the token in XCACHE_PURGE_TOKEN, if it is set; fastly and cloudflare
      need an API token that may purge in XCACHE_FASTLY_TOKEN or XCACHE_CLOUDFLARE_TOKEN. With _FILE behind its name, a
      variable names a file that contains the token.
      --oidc-issuer lets people sign in to the console; the secret of --oidc-client, if it has one, is in
      XCACHE_OIDC_SECRET, or in the file that XCACHE_OIDC_SECRET_FILE names. The redirect URI to register at the
      provider is that of --console-url with /auth/callback for its path. Admin tokens go on working when the provider
      is down.
      """,
    options: [
      .value("data", "DIR", environment: "XCACHE_DATA", "the data folder (required)"),
      .value(
        "listen", "HOST:PORT", environment: "XCACHE_LISTEN",
        "the address to listen on (default: 127.0.0.1:8080)"),
      .value(
        "public-url", "URL", environment: "XCACHE_PUBLIC_URL",
        "the URL that devices download from, for new channels (default: the listen address)"),
      .value(
        "console-url", "URL",
        "the URL of the console for people, which webhooks link to, such as https://xcache.example.com/console"
      ),
      .value(
        "delta-wait", "SECONDS",
        "how long a release waits for deltas from the version it replaces (default: 30; 0: don't wait)"),
      .value("delta-threads", "N", "threads for deltas from older versions (default: half the cores)"),
      .value("threads", "N", "event loop threads (default: the number of cores)"),
      .value(
        "zip-room", "SHARE",
        "limit the size of bundle zip files: a share of the free disk, or a size such as 20GB (default: 10%)"),
      .value(
        "pack-room", "SIZE", "limit the size of all packs (default: 2GB)"),
      .value(
        "pack-limit", "SIZE",
        "limit the size of one pack; larger updates are downloaded file by file (default: 256MB)"),
      .value(
        "scrub", "TIME",
        "read every file back within this time, such as 7d or 12h, and set damaged ones aside; off disables it (default: 7d)"
      ),
      .value("gc", "HH:MM", "run garbage collection every day at this local time, like 'xcache gc'"),
    ].orFromEnvironment
      + (ServeTLS.options + ServeLog.options + GCCommand.policyOptions + ServeMirror.options
      + ServeEdge.options + ServePurge.options + ServeSignIn.options + ServePreview.options
      + ServeLimits.options)
      .orFromEnvironment,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard try ServeLog.isJSON(arguments) else { return try serve(arguments, terminal) }
    do {
      return try serve(arguments, terminal)
    } catch {
      // Log collectors parse every line, so an error must have the log's format, too.
      let log = try ServeLog.make(arguments, terminal)
      log("error: \(Fault(error).message)")
      throw Reported(error: error)
    }
  }

  private static func serve(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    Signals.ignoreFileSizeLimit()
    let pushPlace = try ServeMirror.place(arguments)
    let watched = try ServeMirror.watched(arguments)
    let console = try consoleURL(arguments)
    guard let data = try arguments.value("data") else {
      throw UsageError("--data DIR is required: the data folder")
    }
    // Both before any thread starts: threads inherit the signal mask, so that only the wait below sees signals.
    ProcessMemory.keepHeapSmall()
    Signals.block()
    let log = try ServeLog.make(arguments, terminal)
    var configuration = try configuration(arguments)
    let previews = try arguments.value("preview-listen") == nil ? 0 : ServePreview.descriptors
    let budget = DescriptorBudget(
      descriptors: Environment.raiseDescriptorLimit() - previews, loops: configuration.loops)
    configuration.limits.connections = min(configuration.limits.connections, budget.connections)
    configuration.limits.refused = min(configuration.limits.refused, budget.refused)
    // Check all arguments before creating anything.
    let tls = try ServeTLS.acceptor(arguments, log)
    configuration.tls = tls
    var options = try options(arguments, configuration, budget.openFiles, log)
    try DataFolder(path: data).refuseForeign()
    configuration.accessLog = try ServeLimits.accessLog(arguments, log)
    // Before opening the folder: what is created there would hide this failure from the next start.
    let server = try listen(configuration, option: "listen")
    let consoleOrigin = try ServeSignIn.consoleOrigin(arguments)
    let preview = try ServePreview(arguments, beside: configuration, console: consoleOrigin)
    (options.preview, options.consoleOrigin) = (preview?.address, consoleOrigin)
    let store = try Store(path: data)
    store.setConsole(console)
    // At once: if the start fails after this, the next one doesn't create a token, and wouldn't mention it.
    if store.madeAdminToken { log("wrote an admin token to \(store.folder.adminToken); keep it secret") }
    try ServeEdge.refuseSilentChannels(options.edge, store)
    let watch = ServeMirror.watch(watched, store, log)
    let status = ServeStatus(store: store, data: data)
    options.metrics = {
      status.prometheusText + ServeTLS.prometheusText(tls) + server.metrics.prometheusText
        + (watch?.prometheusText ?? "")
    }
    if let pushPlace { options.push = try ServeMirror.push(to: pushPlace, store, log) }
    if try arguments.value("public-url") == nil {
      options.publicURL = try Self.url(of: server.address, tls)
    }
    // Where the kernel chose the port.
    options.signIn?.origin = try ServeSignIn.origin(arguments, server.address, tls)
    let origin = try Origin(store: store, options: options)
    try origin.startBackgroundWork()
    try server.start { _ in origin.makeHandler() }
    try preview?.start(origin)
    for line in strayFolders(store) { log(line) }
    // The line has only one URL, since scripts search it for one.
    log(
      "xcache \(XCache.version) listens on \(ServeTLS.scheme(tls))://\(server.address), console at /console/, "
        + "data in \(data)")
    if let signIn = options.signIn { log(ServeSignIn.message(signIn)) }
    if let preview { log(preview.message) }
    for target in options.purges {
      log("edge \(target.name): told to drop a channel's answers when they change")
      if let warning = ServePurge.warning(about: target) { log("warning: \(warning)") }
    }
    for warning in try warnings(arguments, store, options.publicURL) { log("warning: \(warning)") }
    try watch?.start()
    let end = try waitForEnd {
      try ServeLimits.reopen(server, arguments, log)
      ServeTLS.reload(tls, log)
    }
    log("stopping on \(end)")
    preview?.stop()
    stop(origin, server, watch, configuration.accessLog, log)
    log("stopped")
    return .done
  }

  private static func strayFolders(_ store: Store) -> [String] {
    store.unexpectedFolders.map { stray in
      let place = stray.movedTo.map { "moved to \($0)" } ?? "it can't be moved and stays there"
      return "\(stray.path) is a folder where only xcache's own files belong; \(place)"
    }
  }

  /// Ends what runs, first what takes new work.
  private static func stop(
    _ origin: Origin, _ server: Server, _ watch: MirrorMonitor?, _ accessLog: AccessLog?,
    _ log: (String) -> Void
  ) {
    origin.beginStopping()
    if !server.stop(graceSeconds: 10) {
      log("warning: an act was still running; unless it had been committed, it is undone")
    }
    watch?.stop()
    origin.finish()
    if let left = accessLog?.close(), left > 0 {
      log("warning: the last \(Count.text(left, "line")) of the access log could not be written in time")
    }
  }

  private static func consoleURL(_ arguments: Arguments) throws -> BaseURL? {
    try arguments.value("console-url").map {
      try SettingsValue.url($0, in: arguments.source("console-url"))
    }
  }

  /// Returns warnings about settings that are probably mistakes.
  private static func warnings(_ arguments: Arguments, _ store: Store, _ publicURL: BaseURL) throws
    -> [String]
  {
    let isGiven = try arguments.value("public-url") != nil
    var warnings: [String] = []
    if !isGiven, publicURL.isOfEveryAddress {
      warnings.append(
        "new channels get the public URL \(publicURL), from which no device can download; give --public-url URL, such as that "
          + "of the CDN")
    }
    // Without the option, a URL that only this machine can reach was derived from an earlier server's address.
    let others = try store.channels().filter {
      $0.publicURL != publicURL
        && (isGiven
          || $0.publicURL.text.hasPrefix("http://")
            && ($0.publicURL.isOfEveryAddress || !$0.publicURL.isExposed))
    }
    for channel in others.prefix(3) {
      warnings.append(
        "channel \(channel.name) of \(channel.app) keeps its public URL \(channel.publicURL): \(isGiven ? "--public-url" : "this server's address"), "
          + "\(publicURL), is for new channels; devices download from the old one, which must go on answering"
      )
    }
    if others.count > 3 { warnings.append("so do \(others.count - 3) more channels") }
    return warnings
  }

  /// Waits for the signal that ends the server, and returns its name.
  private static func waitForEnd(_ reopen: () throws -> Void) rethrows -> String {
    while true {
      switch Signals.wait() {
      case .reopen: try reopen()
      case .end(let name): return name
      }
    }
  }

  private static func gc(_ arguments: Arguments) throws -> DailyCollection? {
    let policy = try GCCommand.policy(arguments)
    guard let text = try arguments.value("gc") else { return nil }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map {
      $0.utf8.count == 2 && $0.first != "+" ? Int($0) : nil
    }
    guard parts.count == 2, let hour = parts[0], let minute = parts[1], (0..<24).contains(hour),
      (0..<60).contains(minute)
    else { throw UsageError("\(arguments.source("gc")) \(text) is not a time of day such as 03:00") }
    return DailyCollection(minute: hour * 60 + minute, policy: policy)
  }

  private static func zipQuota(_ text: String, in place: String) throws(UsageError) -> ZipQuota {
    if text.hasSuffix("%"), let share = Int(text.dropLast()), ZipQuota.shares.contains(share) {
      return .share(share)
    }
    // A bare number means bytes, as it always did, but one this small was probably meant otherwise.
    if let number = Int(text), (0..<1_000_000).contains(number) {
      let share = ZipQuota.shares.contains(number) ? "\(text)% of the free disk, or " : ""
      throw UsageError("\(place) \(text) needs a unit: \(share)\(text)GB")
    }
    if !text.hasSuffix("%"), let bytes = Bytes.parse(text) { return .bytes(bytes) }
    throw UsageError(
      "\(place) \(text) is neither a share from \(ZipQuota.shares.lowerBound)% to \(ZipQuota.shares.upperBound)%"
        + " nor a size like 500MB or 20GB")
  }

  private static func size(_ arguments: Arguments, _ name: String) throws -> Int64? {
    guard let text = try arguments.value(name) else { return nil }
    guard let bytes = Bytes.parse(text) else {
      throw UsageError("\(arguments.source(name)) \(text) is not a size such as 500MB or 2GB")
    }
    return bytes
  }

  /// Returns the seconds in which every file is read back once, or nil for never.
  private static func scrub(_ arguments: Arguments) throws -> Double? {
    let text = try arguments.value("scrub") ?? "7d"
    if text == "off" { return nil }
    guard let seconds = Arguments.seconds(of: text, in: "smhd") else {
      throw UsageError(
        "\(arguments.source("scrub")) \(text) is not a valid time; expected one such as 7d, 12h, 30m or 10s, or off"
      )
    }
    return Double(seconds)
  }

  private static func configuration(_ arguments: Arguments) throws -> ServerConfiguration {
    let text = try arguments.value("listen") ?? "127.0.0.1:8080"
    guard let address = SocketAddress(text) else {
      throw UsageError(
        "\(arguments.source("listen")) \(text) is not an address and port such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80 (host names aren't resolved, except "
          + "localhost)")
    }
    var configuration = ServerConfiguration(address: address)
    configuration.name = "xcache"
    configuration.loops = try arguments.number("threads", in: 1...256) ?? Environment.cores
    try ServeLimits.apply(arguments, to: &configuration)
    return configuration
  }

  /// Listens, or says what keeps the address from being listened on.
  /// - Parameter option: the option that names the address.
  static func listen(_ configuration: ServerConfiguration, option: String) throws -> Server {
    do {
      return try Server(configuration: configuration)
    } catch .listen(let address, let error) {
      let remedy =
        error.code == .addressInUse
        ? "stop the program that uses it, or choose another port with --\(option)"
        : "choose another address with --\(option)"
      throw Failure("can't listen on \(address): \(error.reason); \(remedy)")
    } catch .resources(let error) {
      throw Failure("the server can't start: \(error)")
    }
  }

  private static func options(
    _ arguments: Arguments, _ configuration: ServerConfiguration, _ openFiles: Int,
    _ log: @escaping @Sendable (String) -> Void
  ) throws -> Origin.Options {
    let given = try arguments.value("public-url").map {
      try SettingsValue.url($0, in: arguments.source("public-url"))
    }
    var options = Origin.Options(
      publicURL: try given ?? Self.url(of: configuration.address, configuration.tls))
    options.deltaWait = try arguments.number("delta-wait", in: 0...3600).map(Double.init)
    options.deltaThreads = try arguments.number("delta-threads", in: 1...256)
    options.openFiles = openFiles
    options.log = log
    options.gc = try gc(arguments)
    if let text = try arguments.value("zip-room") {
      options.zipQuota = try zipQuota(text, in: arguments.source("zip-room"))
    }
    options.packs.quota = try size(arguments, "pack-room") ?? options.packs.quota
    options.packs.largest = try size(arguments, "pack-limit") ?? options.packs.largest
    options.scrub = try scrub(arguments)
    options.edge = try ServeEdge.policy(arguments)
    options.purges = try ServePurge.targets(arguments)
    options.signIn = try ServeSignIn.options(arguments, configuration.address, configuration.tls)
    options.largestUpload =
      try arguments.number("max-upload", in: 1...Int.max).map(UInt64.init) ?? options.largestUpload
    return options
  }

  private static func url(of address: SocketAddress, _ tls: TLSAcceptor?) throws -> BaseURL {
    let host = ServeTLS.host(of: address, tls)
    return try SettingsValue.url("\(ServeTLS.scheme(tls))://\(host)", in: "--listen")
  }
}
