import HTTP
import Manifests
import Publishing
import System
import Values
import XCacheDevice
import XCacheRuntime

/// The control page of a local device, protected by a token: cached files, hits, and buttons for what an app would report.
struct ControlPage: Sendable {
  private let runtime: Runtime
  private let log: EventLog
  /// The task that follows the system's network state; nil if nothing does.
  private let following: Task<Void, Never>?
  private let token: [UInt8]
  /// The address on which the process listens, as in a Host header.
  let address: String

  init(_ runtime: Runtime, _ log: EventLog, _ following: Task<Void, Never>?, token: String, address: String) {
    self.runtime = runtime
    self.log = log
    self.following = following
    self.token = Array(token.utf8)
    self.address = address
  }

  /// Whether a lowercased Host header names this process.
  func isOwn(_ host: String) -> Bool {
    host == address || host == "localhost:\(address.split(separator: ":").last ?? "")"
  }

  /// Triggers the runtime, and logs the result.
  func tell(_ trigger: Trigger) {
    let (runtime, log) = (runtime, log)
    Task { if let report = await runtime.handle(trigger) { log.note(report) } }
  }

  func answer(_ path: String, _ request: borrowing Request) -> Answer {
    guard isAllowed(request) else {
      return .now(
        Response(
          .forbidden, contentType: "text/plain",
          "Pages are at /at/https/HOST/PATH. The control page needs the token that was printed at the start.\n"
        ))
    }
    switch (request.method, path) {
    case (.get, "/"), (.head, "/"): return page()
    case (.get, "/control.json"), (.head, "/control.json"):
      return .now(
        Response(
          .ok, contentType: "application/json", String(decoding: state.canonical, as: UTF8.self), Self.guards)
      )
    case (.post, "/control/trigger"), (.post, "/control/conditions"), (.post, "/control/memory"):
      let isForm = request.field(.authorization) == nil
      if let fault = act(path, items(request)) {
        return .now(Response(.badRequest, contentType: "text/plain", "\(fault)\n"))
      }
      guard isForm else { return .now(Response(.noContent)) }
      return .now(
        Response(Status(303), HeadFields([("Location", "/?token=\(String(decoding: token, as: UTF8.self))")]))
      )
    default: return .now(Response(.notFound, contentType: "text/plain", "There is no such page.\n"))
    }
  }

  /// Whether a request has the token.
  func isAllowed(_ request: borrowing Request) -> Bool {
    let bearer = request.field(.authorization)?.text
    let given = bearer.flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst("Bearer ".utf8.count)) : nil }
    return Secrets.equal(Array((given ?? items(request)["token"] ?? "").utf8), token)
  }

  private func items(_ request: borrowing Request) -> [String: String] {
    guard let query = request.query else { return [:] }
    var items = QueryItems(query)
    var values: [String: String] = [:]
    while let item = items.next() {
      if let name = item.name.formDecodedText, let value = item.value.formDecodedText { values[name] = value }
    }
    return values
  }

  /// Performs an action.
  /// - Returns: What is wrong with the request, in which case nothing was done; nil if nothing.
  private func act(_ path: String, _ items: [String: String]) -> String? {
    switch path {
    case "/control/memory":
      runtime.memoryIsShort()
      return nil
    case "/control/conditions": return set(items)
    default:
      guard let trigger = Self.triggers.first(where: { $0.name == items["name"] })?.trigger else {
        return "name must be one of \(Self.triggers.map(\.name).joined(separator: ", "))."
      }
      tell(trigger)
      return nil
    }
  }

  private func set(_ items: [String: String]) -> String? {
    let items = items.filter { $0.key != "token" }
    var conditions = runtime.conditions
    for (name, value) in items {
      if name == "network" {
        guard let network = Conditions.Network(rawValue: value) else {
          return
            "network must be one of \(Conditions.Network.allCases.map(\.rawValue).joined(separator: ", "))."
        }
        conditions.network = network
      } else if let flag = Self.flags.first(where: { $0.name == name })?.flag {
        guard value == "0" || value == "1" else { return "\(name) must be 0 or 1." }
        conditions[keyPath: flag] = value == "1"
      } else {
        return
          "There is no such condition; expected network, \(Self.flags.map(\.name).joined(separator: ", "))."
      }
    }
    guard !items.isEmpty else { return "Say which condition, such as network=metered." }
    if items["network"] != nil { following?.cancel() }
    // The system may update the network state concurrently, so that is kept.
    let set = conditions
    runtime.changeConditions { now in
      let network = items["network"] == nil ? now.network : set.network
      now = set
      now.network = network
    }
    return nil
  }

  /// The triggers that an app reports, by their names here. `pageOpened` is triggered by opening a page.
  private static let triggers: [(name: String, trigger: Trigger)] = [
    ("launch", .launch), ("foreground", .foreground), ("push", .push), ("pageClosed", .pageClosed),
  ]

  /// The other conditions that an app reports.
  private static let flags: [(name: String, flag: WritableKeyPath<Conditions, Bool> & Sendable)] = [
    ("savesData", \.savesData), ("isLowPower", \.isLowPower), ("isForeground", \.isForeground),
  ]
}

// MARK: - What is shown

extension ControlPage {
  /// Headers that keep the page, and above all its token, from leaking to other sites.
  private static let guards: [(StaticString, String)] = [
    ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"),
  ]

  /// The whole state as JSON.
  private var state: JSONValue {
    let counts = runtime.counts
    var shownConditions = JSONObject()
    let conditions = runtime.conditions
    shownConditions["network"] = .string(conditions.network.rawValue)
    for (name, flag) in Self.flags { shownConditions[name] = .bool(conditions[keyPath: flag]) }
    var passed = JSONObject()
    for (reason, count) in counts.passed { passed[reason.rawValue] = .integer(count) }
    let held = Snapshot(runtime)
    let files = held.files.map { file -> JSONValue in
      [
        "held": .bool(file.path != nil), "lazy": .bool(file.isLazy), "sha256": .string(file.sha256),
        "size": .integer(file.size),
        "url": .string(file.url),
      ]
    }
    let activity = runtime.activity
    return [
      "conditions": .object(shownConditions),
      "counts": [
        "disk": .integer(counts.disk), "diskEvictions": .integer(counts.diskEvictions),
        "evictions": .integer(counts.evictions), "memory": .integer(counts.memory),
        "memoryBytes": .integer(counts.memoryBytes), "misses": .integer(counts.misses),
        "passed": .object(passed),
      ],
      "digest": .string(runtime.device?.digest ?? ""), "events": .array(log.lines.map(\.json)),
      "files": .array(files),
      "interceptionOff": .bool(activity.isInterceptionOff), "lastPoll": log.lastPoll?.json ?? .null,
      "policy": .string(runtime.device?.runtimePolicy.version ?? "0"),
      "prefetch": .string(runtime.device?.prefetch.version ?? "0"),
      "queue": [
        "backlog": .bool(activity.fetchesBacklog), "update": .bool(activity.isUpdating),
        "waitingBytes": .integer(held.waitingBytes), "waitingFiles": .integer(held.waiting),
        "lazyFiles": .integer(held.lazy),
      ], "version": .string(runtime.version),
    ]
  }

  /// The files in the current manifest, and how many of them are still missing; lazy ones wait for a page.
  private struct Snapshot {
    let files: [HeldFile]
    let waiting: Int
    let waitingBytes: Int64
    let lazy: Int

    init(_ runtime: Runtime) {
      files = runtime.device?.heldFiles() ?? []
      let waiting = files.lazy.filter { $0.path == nil && !$0.isLazy }
      lazy = files.count { $0.path == nil && $0.isLazy }
      self.waiting = waiting.count
      waitingBytes = waiting.reduce(0) { $0.addingClamped($1.size) }
    }
  }

  private func page() -> Answer {
    let held = Snapshot(runtime)
    let conditions = runtime.conditions
    let switches = Self.flags.map { name, flag in
      let isOn = conditions[keyPath: flag]
      return button("conditions?\(name)=\(isOn ? 0 : 1)", "\(name): \(isOn ? "yes" : "no")")
    }
    let rows = held.files.prefix(Self.maxRows).map {
      "<tr><td>\(HTMLText.escaped($0.url))<td>\($0.size)<td>\($0.path != nil ? "held" : $0.isLazy ? "lazy" : "waits")"
    }
    let rest = held.files.count - rows.count
    let html = """
      <!doctype html><meta charset="utf-8"><title>xcache device</title>
      <style>body{font:15px system-ui;margin:2em}td{padding:0 1em 0 0;vertical-align:top}form{display:inline}</style>
      <h1>Version \(HTMLText.escaped(runtime.version))</h1>
      <table>\(overview(held).map { "<tr><td>\($0)<td>\(HTMLText.escaped($1))" }.joined())</table>
      <p>\(Self.triggers.map { button("trigger?name=\($0.name)", $0.name) }.joined())
      \(Conditions.Network.allCases.map { button("conditions?network=\($0)", "\($0)") }.joined())
      \(switches.joined())
      \(button("memory?", "memory is short"))
      <h2>Requests</h2><table>\(requests())</table>
      <h2>Events</h2><table>\(events())</table>
      <h2>Files</h2><table>\(rows.joined())</table>\(rest > 0 ? "<p>and \(rest) more: /control.json has all" : "")
      """
    return .now(Response(.ok, contentType: "text/html; charset=utf-8", html, Self.guards))
  }

  /// The maximum number of files that the page shows.
  private static let maxRows = 1000

  private func overview(_ held: Snapshot) -> [(String, String)] {
    let activity = runtime.activity
    let work =
      activity.isUpdating ? "updating" : activity.fetchesBacklog ? "fetching files that updates left" : "idle"
    let lastPoll = log.lastPoll.map { "\($0.time): \($0.message)" } ?? "none answered yet"
    return [
      (
        "Files",
        "\(held.files.count - held.waiting - held.lazy) of \(held.files.count) are held\(held.lazy > 0 ? "; \(Count.text(held.lazy, "lazy file")) \(held.lazy == 1 ? "isn't" : "aren't") here" : "")"
      ),
      (
        "Queue",
        "\(work)\(held.waiting > 0 ? "; \(Count.text(held.waiting, "file")) not held, \(Bytes.text(held.waitingBytes))" : "")"
      ), ("Last poll", lastPoll), ("Network", runtime.conditions.network.rawValue),
      ("Policy", runtime.device?.runtimePolicy.version ?? "0"),
      ("Prefetch config", runtime.device?.prefetch.version ?? "0"),
      (
        "Interception",
        activity.isInterceptionOff ? "off: three starts in a row ended while a page loaded" : "on"
      ),
    ]
  }

  private func requests() -> String {
    let counts = runtime.counts
    let own = [
      ("from memory", counts.memory), ("from the disk", counts.disk),
      ("missing or damaged when requested", counts.misses),
      ("evicted from memory", counts.evictions), ("evicted from disk", counts.diskEvictions),
    ]
    let passed = counts.passed.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { ("passed on: \($0.key.rawValue)", $0.value) }
    return (own + passed).map { "<tr><td>\($0)<td>\($1)" }.joined()
  }

  private func events() -> String {
    log.lines.reversed().map { "<tr><td>\($0.time)<td>\(HTMLText.escaped($0.message))" }.joined()
  }

  private func button(_ path: String, _ words: String) -> String {
    """
    <form method="post" action="/control/\(path)&amp;token=\(String(decoding: token, as: UTF8.self))">\
    <button>\(words)</button></form>
    """
  }
}
