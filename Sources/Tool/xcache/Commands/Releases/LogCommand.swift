import Manifests
import OriginAPI
import Publishing
import System
import Values

/// `xcache log`: lists the releases of a channel, newest first.
enum LogCommand {
  static let command = Command(
    name: "log", operands: "", summary: "list a channel's releases, newest first",
    examples: [
      .init("--app shop --limit 5", "the last five releases"),
      .init("--since 'yesterday 18:00'", "releases since then"),
    ],
    options: Command.remote + Command.channel + [
      .value("limit", "N", "show N releases (default: 20)"), .value("before", "V", "only versions before V"),
      .value("at", "TIME", "only releases up to this time: 2026-11-19T14:05+08:00, '10m ago'"),
      .value("since", "TIME", "only releases since this time"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let since = try VersionArgument.at(arguments, "since").flatMap { Timestamp.parse($0) }
    let limit = try arguments.number("limit", in: 1...1000) ?? (since == nil ? 20 : 1000)
    let before = try arguments.value("before").map { (text) throws(UsageError) in
      guard let version = ManifestVersion(text: text) else {
        throw UsageError("--before \(text) is not a version number")
      }
      return version
    }
    let log = try remote.api.log(
      of: try remote.address, limit: limit, before: before, at: try VersionArgument.at(arguments))
    let releases = log.value.releases.filter { release in since.map { release.at.milliseconds >= $0 } ?? true
    }
    if arguments.has("json") {
      // Newest first, so the releases since then come first.
      var document = log.document.object ?? JSONObject()
      document["releases"] = (document["releases"]?.array).map { .array(Array($0.prefix(releases.count))) }
      terminal.say(json: .object(document))
      return .done
    }
    if releases.isEmpty {
      let isPart = before != nil || !arguments.all("at").isEmpty
      terminal.say(
        since != nil
          ? "no releases since then"
          : isPart ? "no releases before that" : "nothing is published yet")
    }
    var table = Table(
      ["VERSION", "WHEN", "KIND", "WHO", "BUNDLES", "CHANGES", "NEW", "MESSAGE"], rightAligned: [0, 6])
    for release in releases { table.add(row(release)) }
    if !releases.isEmpty {
      terminal.say(list: table.lines, head: 1, all: arguments.has("all") || !arguments.all("limit").isEmpty)
    }
    return .done
  }

  /// Describes a release's kind, with the version whose content it restored.
  static func kind(_ release: ReleaseInfo) -> String {
    kindOfAct(release) + (release.rollout.map { ", \(rollout($0))" } ?? "")
  }

  /// What a release is about: its bundles, or the prefetch config that it brought.
  static func subject(_ bundles: String, _ release: ReleaseInfo) -> String {
    guard bundles.isEmpty, let config = release.rollout?.prefetch else { return bundles }
    return "prefetch config \(config)"
  }

  /// Describes a rollout from a release's point of view.
  private static func rollout(_ rollout: RolloutInfo) -> String {
    switch rollout.state {
    case "open": "candidate, \(ShareText.percent(rollout.share))\(rollout.paused ? ", paused" : "")"
    case "completed": "candidate, completed"
    default: "candidate, \(rollout.state)"
    }
  }

  private static func kindOfAct(_ release: ReleaseInfo) -> String {
    // A rebase restores nothing: its source is the version whose entries it moved.
    guard let source = release.source, release.kind != "rebase" else { return release.kind }
    return release.kind == "promote"
      ? "promote of \(source.channel) \(source.version)" : "\(release.kind) to \(source.version)"
  }

  private static func row(_ release: ReleaseInfo) -> [String] {
    [
      release.version.text, release.at.formatted, kind(release), release.author,
      subject(release.bundles.map(\.bundle).joined(separator: " "), release),
      "+\(release.added) ~\(release.changed) −\(release.removed)", Bytes.text(release.newBytes),
      release.message.split(separator: "\n").first.map(String.init) ?? "",
    ]
  }
}
