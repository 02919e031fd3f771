import Manifests
import OriginAPI
import System

/// What the commands that change a prefetch config or a policy have in common.
enum DocumentChange {
  /// `request`, with what `-m` and `--if-version` say.
  static func filled<Request: DocumentChangeRequest>(_ request: Request, _ arguments: Arguments) throws
    -> Request
  {
    var request = request
    request.message = try arguments.text("message") ?? ""
    request.ifVersion = try PublishCommand.ifVersion(arguments)
    return request
  }

  /// Tells the version that came of it, and whose it replaces.
  ///
  /// - Parameter replaces: whether the change puts a whole document in the place of another.
  static func tell(
    _ answer: OriginAnswer<DocumentChangeAnswer>, _ what: String, replaces: Bool, _ arguments: Arguments,
    _ terminal: Terminal
  ) {
    if arguments.has("json") { return terminal.say(json: answer.document) }
    let version = answer.value.version
    guard answer.value.changed else {
      return terminal.say("nothing changed: version \(version) already has this content")
    }
    terminal.say("\(what), \(terminal.colour("version \(version)", .bold))")
    if replaces, let replaced = answer.value.replaced {
      terminal.say("replaces \(DocumentLog.line(replaced))")
    }
  }
}

/// The versions of a prefetch config or a policy, as people read them.
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
    version.source.map { "\(version.kind) to \($0)" } ?? version.kind
  }

  private static func firstLine(_ version: DocumentVersion) -> String {
    version.message.split(separator: "\n").first.map(String.init) ?? ""
  }

  /// `version 4 (push by ci, 2026-11-20 15:17:27 UTC: message)`
  static func line(_ version: DocumentVersion) -> String {
    let message = firstLine(version)
    return "version \(version.version) (\(kind(version)) by \(version.author), \(version.at.formatted)"
      + (message.isEmpty ? ")" : ": \(message))")
  }

  /// The same of a document that there may be none of yet.
  static func line(_ document: DocumentAnswer) -> String { document.record.map(line) ?? "version 0" }
}

/// A policy as `policy show` and `status` say it.
struct PolicyOutput {
  private let policy: Policy
  private let now = Instant(milliseconds: Clock.unixMilliseconds())

  init(_ json: JSONValue?) { policy = Policy(reading: json ?? .null) }

  /// The line that has to be seen while the kill switch is on.
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
