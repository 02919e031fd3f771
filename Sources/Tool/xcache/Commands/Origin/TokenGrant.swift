import Linux
import Manifests
import OriginAPI
import Store
import System
import Values

/// What a new token may do, and for how long: nothing is granted by leaving it out.
struct TokenGrant {
  static let scopes = ["read", "release", "publish", "admin"]

  let scope: TokenScope
  /// Nil: every app.
  let app: AppName?
  let channel: ChannelName?
  let bundles: BundleGlob?
  let hosts: HostList?
  /// In seconds; nil: it never ends.
  let life: Int64?

  /// Reads the options; asks for missing ones in a terminal.
  /// - Throws: `UsageError`, which names everything that is missing.
  init(_ arguments: Arguments, _ terminal: Terminal) throws {
    // Only the command line limits a token: the app in xcache.json only says where the command is run.
    let app = try arguments.all("app").first.map { try SettingsValue.app($0, in: "--app") }
    if app != nil, arguments.has("all-apps") { throw UsageError("give either --app or --all-apps, not both") }
    channel = try arguments.all("channel").first.map { try SettingsValue.channel($0, in: "--channel") }
    if app == nil, channel != nil { throw UsageError("--channel needs --app: a channel belongs to an app") }
    let life = try arguments.value("expires").map(Self.life)
    if life != nil, arguments.has("no-expiry") {
      throw UsageError("give either --expires or --no-expiry, not both")
    }
    let scope = try arguments.value("scope").map(Self.scope)
    let glob = try arguments.value("bundle")
    bundles = glob.flatMap { BundleGlob($0) }
    if let glob, bundles == nil {
      throw UsageError("--bundle \(glob): a bundle's name, with * and ? as wildcards")
    }
    hosts = try arguments.value("hosts").flatMap { try HostOutput.list($0) }
    let needsApp = app == nil && !arguments.has("all-apps")
    let needsEnd = life == nil && !arguments.has("no-expiry")
    try Self.check(needsScope: scope == nil, needsApp: needsApp, needsEnd: needsEnd)
    self.scope =
      try scope ?? Self.ask("what it may do: read, release, publish or admin", terminal, Self.scope)
    self.app =
      try needsApp
      ? Self.ask("its app, or all", terminal) { $0 == "all" ? nil : try SettingsValue.app($0, in: "the app") }
      : app
    self.life =
      try needsEnd
      ? Self.ask("when it ends, such as 90d, or never", terminal) { $0 == "never" ? nil : try Self.life($0) }
      : life
    if hosts != nil, self.scope == .admin {
      throw UsageError("--hosts: admin tokens can't be limited to hosts")
    }
  }

  private static func check(needsScope: Bool, needsApp: Bool, needsEnd: Bool) throws {
    if StandardInput.isTerminal { return }
    let missing =
      (needsScope ? ["--scope read, release, publish or admin"] : [])
      + (needsApp ? ["--app NAME or --all-apps"] : [])
      + (needsEnd ? ["--expires TIME (such as 90d) or --no-expiry"] : [])
    guard missing.isEmpty else {
      throw UsageError("a token may do only what is said; add " + missing.joined(separator: "; "))
    }
  }

  private static func scope(_ text: String) throws -> TokenScope {
    guard let scope = TokenScope(rawValue: text) else {
      throw UsageError("--scope \(text): expected read, release, publish or admin")
    }
    return scope
  }

  /// Returns the seconds of `90d`, `12h`, `2w` or `30m`.
  private static func life(_ text: String) throws -> Int64 {
    guard let seconds = Arguments.seconds(of: text, in: "mhdw", 1...5_300_000) else {
      throw UsageError("--expires \(text) is not a duration such as 90d, 12h, 2w or 30m")
    }
    return seconds
  }

  private static let attempts = 3

  private static func ask<Value>(
    _ question: String, _ terminal: Terminal, _ read: (String) throws -> Value
  ) throws -> Value {
    for _ in 0..<attempts {
      terminal.ask("\(question): ")
      guard let line = try StandardInput.line() else { break }
      let text = line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      if text.isEmpty { continue }
      do {
        return try read(text)
      } catch {
        terminal.note(Fault(error).message)
      }
    }
    throw UsageError("\(question): no answer; nothing was created")
  }
}

extension TokenGrant {
  /// What it may do, after the token's name: `may publish …`.
  var words: String {
    Self.words(
      scope: scope.rawValue, app: app, channel: channel, bundles: bundles?.text, hosts: hosts?.names,
      end: life.map { Instant(seconds: Clock.unixMilliseconds() / 1000 + $0).text })
  }

  /// Describes a token of the origin.
  static func words(of token: TokenInfo) -> String {
    words(
      scope: token.scope, app: token.app, channel: token.channel, bundles: token.bundles, hosts: token.hosts,
      end: token.expiresAt?.formatted)
  }

  /// Describes one of several grants.
  static func words(of grant: GrantInfo, hosts: [String]?) -> String {
    what(scope: grant.scope, app: grant.app, channel: grant.channel, bundles: grant.bundles, hosts: hosts)
  }

  /// When what a token may do ends.
  static func end(of token: TokenInfo) -> String {
    token.expiresAt.map { "until \($0.formatted)" } ?? "for ever"
  }

  private static func words(
    scope: String, app: AppName?, channel: ChannelName?, bundles: String?, hosts: [String]?, end: String?
  ) -> String {
    what(scope: scope, app: app, channel: channel, bundles: bundles, hosts: hosts)
      + ", \(end.map { "until \($0)" } ?? "for ever")"
  }

  private static func what(
    scope: String, app: AppName?, channel: ChannelName?, bundles: String?, hosts: [String]?
  ) -> String {
    var acts: String
    switch scope {
    case TokenScope.admin.rawValue:
      acts =
        app == nil
        ? "may do everything, also create tokens and apps" : "may publish, freeze, and sign scripts"
    case TokenScope.publish.rawValue:
      acts =
        bundles.map { "may publish bundle \($0)" }
        ?? "may publish, and switch the policy, kill switch included,"
    case "release":
      acts =
        bundles.map { "may roll back, steer rollouts and approve where bundle \($0) is concerned" }
        ?? "may roll back, steer rollouts, approve, and switch the policy, kill switch included,"
    default: acts = "may read"
    }
    if bundles != nil, scope == TokenScope.read.rawValue { acts += " (bundles limit only releases)" }
    let place =
      app.map { app in channel.map { "channel \($0) of app \(app)" } ?? "every channel of app \(app)" }
      ?? "every app"
    let limit = hosts.map { ", URLs of \($0.joined(separator: ", ")) only" } ?? ""
    return "\(acts) in \(place)\(limit)"
  }
}
