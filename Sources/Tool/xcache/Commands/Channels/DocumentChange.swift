import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// What the commands that change a prefetch config or a policy share.
enum DocumentChange {
  /// Returns `request` with the values of `-m` and `--if-version`.
  static func filled<Request: DocumentChangeRequest>(_ request: Request, _ arguments: Arguments) throws
    -> Request
  {
    var request = request
    request.message = try arguments.text("message") ?? ""
    request.ifVersion = try PublishCommand.ifVersion(arguments)
    return request
  }

  /// Prints the new version, and the one that it replaces, or what the change waits for. `replaces` says whether the change replaces the
  /// whole document.
  static func tell(
    _ answer: OriginAnswer<DocumentChangeAnswer>, _ what: String, replaces: Bool, in channel: ChannelName,
    _ arguments: Arguments, _ terminal: Terminal
  ) {
    if arguments.has("json") { return terminal.say(json: answer.document) }
    if let scheduled = answer.value.scheduled { return terminal.say(scheduled.line(channel)) }
    let version = answer.value.version
    guard answer.value.changed else {
      return terminal.say("nothing changed: version \(version) already has this content")
    }
    terminal.say("\(what), \(terminal.colour("version \(version)", .bold))")
    if replaces, let replaced = answer.value.replaced {
      terminal.say("replaces \(DocumentLog.line(replaced))")
    }
    guard let ended = answer.value.ended, let config = ended.prefetch else { return }
    terminal.say(
      terminal.colour(
        "takes the place of config \(config), which went to \(ended.audience) along with version \(ended.version)",
        .yellow)
        + (ended.state == "completed"
          ? "; that rollout has ended: version \(ended.version) has the files of version \(ended.full), and all devices get it"
          : "; the rollout of its files goes on"))
  }
}

/// Prints the versions of a prefetch config or a policy.
enum DocumentLog {
  static func run(_ document: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    let remote = try RemoteOrigin(arguments)
    let limit = try arguments.number("limit", in: 1...1000) ?? 20
    let log = try remote.api.versions(of: document, in: try remote.address, limit: limit)
    if arguments.has("json") { return terminal.say(json: log.document) }
    guard !log.value.versions.isEmpty else { return terminal.say("there is no \(document) document yet") }
    var table = Table(["VERSION", "WHEN", "KIND", "WHO", "MANIFEST", "MESSAGE"], rightAligned: [0, 4])
    for version in log.value.versions {
      table.add([
        version.version.text, version.at.formatted, kind(version), version.author,
        version.manifestVersion.text,
        firstLine(version),
      ])
    }
    terminal.say(list: table.lines, head: 1, all: arguments.has("all") || !arguments.all("limit").isEmpty)
  }

  private static func kind(_ version: DocumentVersion) -> String {
    let kind = version.source.map { "\(version.kind) to \($0)" } ?? version.kind
    return version.rollout.map { "\(kind), \($0 == "open" ? "candidate" : $0)" } ?? kind
  }

  private static func firstLine(_ version: DocumentVersion) -> String {
    version.message.split(separator: "\n").first.map(String.init) ?? ""
  }

  /// Formats a version as `version 4 (push by ci, 2026-11-20 15:17:27 UTC: message)`.
  static func line(_ version: DocumentVersion) -> String {
    let message = firstLine(version)
    return "version \(version.version) (\(kind(version)) by \(version.author), \(version.at.formatted)"
      + (message.isEmpty ? ")" : ": \(message))")
  }

  /// As above, for a document that may not exist yet.
  static func line(_ document: DocumentAnswer) -> String { document.record.map(line) ?? "version 0" }
}

/// Formats a policy for `policy show` and `status`.
struct PolicyOutput {
  private let policy: Policy
  private let now = Instant(milliseconds: Clock.unixMilliseconds())

  init(_ json: JSONValue?) { policy = Policy(reading: json ?? .null) }

  /// The warning to show while the kill switch is on.
  func alarm(_ terminal: Terminal) -> String? {
    guard policy.isKilled(at: now) else { return nil }
    let end = policy.until.map { "until \($0)" } ?? "until `xcache policy resume`"
    return terminal.colour("KILLED     interception is off \(end): devices use only the network", .red)
  }

  func lines(_ terminal: Terminal) -> [String] {
    var lines = [alarm(terminal) ?? "interception is on"]
    for entry in policy.bypass {
      let end = entry.until.map { now < $0 ? "  until \($0)" : "  ended at \($0)" } ?? ""
      lines.append("bypassed   \(entry.pattern)\(end)")
    }
    if !policy.usesHTTPDNS { lines.append("httpdns    off: devices use the system's DNS") }
    for script in policy.scripts { lines.append("script     \(script.name)  sha256 \(script.sha256)") }
    return lines
  }
}
