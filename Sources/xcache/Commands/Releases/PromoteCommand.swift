import Manifests
import OriginAPI
import Publishing

/// `xcache promote`: what one channel holds, released in another.
enum PromoteCommand {
  static let command = Command(
    name: "promote", operands: "--from CHANNEL --to CHANNEL",
    summary: "release in one channel what another one holds",
    examples: [
      .init("--from test --to online --app shop --dry-run", "say what would change"),
      .init(
        "--from test --to online --map https://test.m.example.com=https://m.example.com",
        "with URLs of another host"),
    ],
    notes: """
      The same bytes, nothing is sent. Each bundle becomes in --to exactly what it is in --from; bundles that --from
      holds nothing of stay as they are in --to, also those that were unpublished there: these are listed, and
      `xcache unpublish` takes them out. --map rewrites URLs by prefix; files whose text names the host that is rewritten
      are listed, since what they link to stays behind. --at promotes what --from held at that time. --with-prefetch
      promotes the prefetch config that goes with it, pages and apis rewritten by --map; where --from had none, --to
      keeps its own.
      """,
    options: Command.remote + [
      .value("app", "NAME", environment: "XCACHE_APP", "the app"),
      .value("from", "CHANNEL", "where it is released already"),
      .value("to", "CHANNEL", "where it is to be released"),
      .value("bundle", "NAME", "this bundle alone"),
      .value("map", "URL=URL", "URLs below the first lie below the second; may be repeated"),
      .value("version", "V", "the version of --from that is promoted (default: the newest)"),
      VersionArgument.option,
      .flag("with-prefetch", "promote the prefetch config, too"),
    ]
      + Command.release(
        ifVersion: "a bundle changed in --to", dryRun: "say what would happen, change nothing"),
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    guard let from = try arguments.value("from"), let to = try arguments.value("to") else {
      throw UsageError("from which channel to which? Give --from CHANNEL and --to CHANNEL")
    }
    let target = try SettingsValue.channel(to, in: "--to")
    let source = try SettingsValue.channel(from, in: "--from")
    guard source != target else {
      throw UsageError("--from and --to are the same channel, \(target): it has what it holds already")
    }
    var request = PromotionRequest()
    request.from = source.text
    request.bundle = try arguments.value("bundle").map { try SettingsValue.bundle($0, in: "--bundle").text }
    request.map = try arguments.all("map").map(rule)
    request.version = try VersionArgument.one(arguments, try arguments.value("version"))
    request.withPrefetch = arguments.has("with-prefetch")
    let answer = try remote.api.promote(
      try request.filled(arguments), to: ChannelAddress(try remote.app, target))
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      for line in lines(answer.value, to: target, dryRun: arguments.has("dry-run"), terminal) {
        terminal.say(line)
      }
    }
    return .done
  }

  private static func rule(_ text: String) throws -> PromotionRequest.Rule {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard sides.count == 2 else { throw UsageError("--map \(text): write OLD-URL=NEW-URL") }
    let from = try SettingsValue.url(sides[0], in: "--map")
    let to = try SettingsValue.url(sides[1], in: "--map")
    return .init(from: from.text, to: to.text)
  }

  private static func lines(
    _ answer: PromotionAnswer, to channel: ChannelName, dryRun: Bool, _ terminal: Terminal
  ) -> [String] {
    let release = answer.release
    let source = "\(answer.from) \(answer.fromVersion)"
    var lines = answer.warnings.map { terminal.colour("\($0) names a host that is rewritten", .yellow) }
    lines += answer.left.map {
      "bundle \($0) stays in \(channel), though \(answer.from) holds nothing of it any more"
    }
    let prefetch = answer.prefetch.map { [$0.message(from: answer.from, dryRun: dryRun)] } ?? []
    guard release.isChanged else {
      return lines + ["nothing changed: \(channel) \(release.version) has the content of \(source)"]
        + prefetch
    }
    let version = "version \(release.version)"
    lines.append(
      dryRun
        ? "dry run: \(release.countMessage), would become \(channel) \(version)"
        : "\(release.countMessage), \(channel) \(terminal.colour(version, .bold)) with the content of \(source)"
    )
    return lines + prefetch + (dryRun ? [] : release.endLines(terminal))
  }
}
