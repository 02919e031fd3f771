import Manifests
import OriginAPI
import Publishing

/// `xcache log`: the releases of a channel, newest first.
enum LogCommand {
  static let command = Command(
    name: "log", operands: "", summary: "list a channel's releases, newest first", notes: "",
    options: Command.remote + Command.channel + [
      .value("limit", "N", "how many (default: 20)"), .value("before", "V", "only versions below V"),
      .value("at", "TIME", "only what was released by then, e.g. 2026-11-19T14:05+08:00"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    var query = "limit=\(try arguments.number("limit", in: 1...1000) ?? 20)"
    if let text = try arguments.value("before") {
      guard ManifestVersion(text: text) != nil else { throw UsageError("--before \(text) is no version") }
      query += "&before=\(text)"
    }
    if let time = try VersionWord.at(arguments) { query += "&at=\(VersionWord.escaped(time))" }
    let log = try remote.api.get("\(try remote.path)/log?\(query)")
    if arguments.has("json") {
      terminal.say(String(decoding: log.canonical, as: UTF8.self))
      return .done
    }
    let releases = log["releases"]?.array ?? []
    if releases.isEmpty { terminal.say("nothing is published yet") }
    var table = Table(
      ["VERSION", "WHEN", "KIND", "WHO", "BUNDLES", "CHANGES", "NEW", "MESSAGE"], rightAligned: [0, 6])
    for release in releases { table.add(row(release)) }
    if !releases.isEmpty { for line in table.lines { terminal.say(line) } }
    return .done
  }

  /// What it was, and of which version where it brought one back.
  static func kind(_ release: JSONValue) -> String {
    let kind = release["kind"]?.string ?? "?"
    guard let version = release["source"]?["version"]?.string else { return kind }
    return kind == "promote"
      ? "promote of \(release["source"]?["channel"]?.string ?? "?") \(version)" : "\(kind) to \(version)"
  }

  private static func row(_ release: JSONValue) -> [String] {
    let bundles = (release["bundles"]?.array ?? []).compactMap { $0["bundle"]?.string }
    func count(_ key: String) -> Int64 { release[key]?.integer ?? 0 }
    return [
      release["version"]?.string ?? "?", Moment.text(release["at"]), Self.kind(release),
      release["author"]?.string ?? "?", bundles.joined(separator: " "),
      "+\(count("added")) ~\(count("changed")) −\(count("removed"))", Bytes.text(count("newBytes")),
      release["message"]?.string?.split(separator: "\n").first.map(String.init) ?? "",
    ]
  }
}
