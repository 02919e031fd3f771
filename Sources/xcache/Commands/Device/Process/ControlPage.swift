import HTTP
import Manifests
import System
import XCacheClient
import XCacheRuntime

/// The control page of a local device, behind a token: what is held, hits, and what an app would tell the runtime.
struct ControlPage: Sendable {
  private let runtime: Runtime
  private let token: [UInt8]
  /// Where the process listens, as a Host header names it.
  let address: String

  init(_ runtime: Runtime, token: String, address: String) {
    self.runtime = runtime
    self.token = Array(token.utf8)
    self.address = address
  }

  /// Whether a Host header, in small letters, means this process.
  func isOwn(_ host: String) -> Bool {
    host == address || host == "localhost:\(address.split(separator: ":").last ?? "")"
  }

  func answer(_ path: String, _ request: borrowing Request) -> Answer {
    guard isAllowed(request) else {
      return .now(Response(.forbidden, contentType: "text/plain", "The token is missing or wrong.\n"))
    }
    switch (request.method, path) {
    case (.get, "/"), (.head, "/"): return page()
    case (.get, "/control.json"), (.head, "/control.json"):
      return .now(
        Response(
          .ok, contentType: "application/json", String(decoding: state.canonical, as: UTF8.self), Self.guards)
      )
    case (.post, "/control/trigger"), (.post, "/control/conditions"), (.post, "/control/memory"):
      return act(path, items(request))
    default: return .now(Response(.notFound, contentType: "text/plain", "There is no such page.\n"))
    }
  }

  private func isAllowed(_ request: borrowing Request) -> Bool {
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

  private func act(_ path: String, _ items: [String: String]) -> Answer {
    switch path {
    case "/control/memory": runtime.memoryIsShort()
    case "/control/conditions": set(items)
    default:
      let triggers: [String: Trigger] = [
        "launch": .launch, "foreground": .foreground, "push": .push, "pageClosed": .pageClosed,
      ]
      guard let trigger = triggers[items["name"] ?? ""] else {
        return .now(Response(.badRequest, contentType: "text/plain", "There is no such trigger.\n"))
      }
      let runtime = runtime
      Task { await runtime.handle(trigger) }
    }
    let back = "/?token=\(String(decoding: token, as: UTF8.self))"
    return .now(Response(Status(303), HeadFields([("Location", back)])))
  }

  private func set(_ items: [String: String]) {
    var conditions = runtime.conditions
    if let network = items["network"].flatMap(Conditions.Network.init(rawValue:)) {
      conditions.network = network
    }
    for (name, flag) in Self.flags {
      if let value = items[name] { conditions[keyPath: flag] = value == "1" }
    }
    runtime.conditions = conditions
  }

  /// What else an app says of the moment.
  private static let flags: [(name: String, flag: WritableKeyPath<Conditions, Bool> & Sendable)] = [
    ("savesData", \.savesData), ("isLowPower", \.isLowPower), ("isForeground", \.isForeground),
  ]
}

// MARK: - What is shown

extension ControlPage {
  /// Nothing of the page may lead anywhere else, the token least of all.
  private static let guards: [(StaticString, String)] = [
    ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"),
  ]

  /// All of it, as JSON.
  private var state: JSONValue {
    let counts = runtime.counts
    var shownConditions: JSONObject {
      var shown = JSONObject()
      let conditions = runtime.conditions
      shown["network"] = .string(conditions.network.rawValue)
      for (name, flag) in Self.flags { shown[name] = .bool(conditions[keyPath: flag]) }
      return shown
    }
    var passed = JSONObject()
    for (reason, count) in counts.passed { passed[reason.rawValue] = .integer(count) }
    let files = (runtime.device?.heldFiles() ?? []).map { file -> JSONValue in
      [
        "held": .bool(file.path != nil), "sha256": .string(file.sha256), "size": .integer(file.size),
        "url": .string(file.url),
      ]
    }
    return [
      "conditions": .object(shownConditions),
      "counts": [
        "disk": .integer(counts.disk), "diskEvictions": .integer(counts.diskEvictions),
        "evictions": .integer(counts.evictions), "memory": .integer(counts.memory),
        "memoryBytes": .integer(counts.memoryBytes), "misses": .integer(counts.misses),
        "passed": .object(passed),
      ],
      "digest": .string(runtime.device?.digest ?? ""), "files": .array(files),
      "policy": .string(runtime.device?.runtimePolicy.version ?? "0"),
      "prefetch": .string(runtime.device?.prefetch.version ?? "0"), "version": .string(runtime.version),
    ]
  }

  private func page() -> Answer {
    let counts = runtime.counts
    let files = runtime.device?.heldFiles() ?? []
    let held = files.count { $0.path != nil }
    let conditions = runtime.conditions
    let switches = Self.flags.map { name, flag in
      let isOn = conditions[keyPath: flag]
      return button("conditions?\(name)=\(isOn ? 0 : 1)", "\(name): \(isOn ? "yes" : "no")")
    }
    let passed = counts.passed.sorted { $0.key.rawValue < $1.key.rawValue }
      .map { "<tr><td>passed on: \($0.key.rawValue)<td>\($0.value)" }
    let rows = files.prefix(1000).map {
      "<tr><td>\(Self.escaped($0.url))<td>\($0.size)<td>\($0.path == nil ? "waits" : "held")"
    }
    let html = """
      <!doctype html><meta charset="utf-8"><title>xcache device</title>
      <style>body{font:15px system-ui;margin:2em}td{padding:0 1em 0 0}form{display:inline}</style>
      <h1>Version \(Self.escaped(runtime.version))</h1>
      <p>\(held) of \(files.count) files are held. Policy \(runtime.device?.runtimePolicy.version ?? "0"), \
      prefetch config \(runtime.device?.prefetch.version ?? "0"). Network: \(conditions.network.rawValue).
      <p>\(["launch", "foreground", "push", "pageClosed"].map { button("trigger?name=\($0)", $0) }.joined())
      \(Conditions.Network.allCases.map { button("conditions?network=\($0)", "\($0)") }.joined())
      \(switches.joined())
      \(button("memory?", "memory is short"))
      <table><tr><td>from memory<td>\(counts.memory)<tr><td>from the disk<td>\(counts.disk)\(passed.joined())</table>
      <h2>Files</h2><table>\(rows.joined())</table>
      """
    return .now(Response(.ok, contentType: "text/html; charset=utf-8", html, Self.guards))
  }

  private func button(_ path: String, _ words: String) -> String {
    """
    <form method="post" action="/control/\(path)&amp;token=\(String(decoding: token, as: UTF8.self))">\
    <button>\(words)</button></form>
    """
  }

  /// What a manifest says is no part of the page.
  private static func escaped(_ text: String) -> String {
    var out = ""
    for character in text.unicodeScalars {
      switch character {
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "&": out += "&amp;"
      case "\"": out += "&quot;"
      default: out.unicodeScalars.append(character)
      }
    }
    return out
  }
}
