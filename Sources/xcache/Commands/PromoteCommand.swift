import Manifests
import OriginAPI
import Publishing

/// `xcache promote`: what one channel holds, released in another.
enum PromoteCommand {
  static let command = Command(
    name: "promote", operands: "--from CHANNEL --to CHANNEL",
    summary: "release in one channel what another one holds",
    notes: """
      The same bytes, nothing is sent. Each bundle becomes in --to exactly what it is in --from; bundles that --from
      holds nothing of stay as they are in --to, also those that were unpublished there: these are listed, and
      `xcache unpublish` takes them out. --map rewrites URLs by prefix; files whose text names the host that is rewritten
      are listed, since what they link to stays behind. --at promotes what --from held at that time. --with-prefetch
      promotes the prefetch config that goes with it, pages and apis rewritten by --map; where --from had none, --to
      keeps its own.
          xcache promote --from test --to online --map https://test.m.example.com=https://m.example.com
      """,
    options: Command.remote + [
      .value("app", "NAME", environment: "XCACHE_APP", "the app"),
      .value("from", "CHANNEL", "where it is released already"),
      .value("to", "CHANNEL", "where it is to be released"),
      .value("bundle", "NAME", "this bundle alone"),
      .value("map", "URL=URL", "URLs below the first lie below the second; may be repeated"),
      .value("version", "V", "the version of --from that is promoted (default: the newest)"),
      VersionWord.option,
      .flag("with-prefetch", "promote the prefetch config, too"),
      .value("message", "TEXT", short: "m", "why, for the log"),
      .value("if-version", "V", "refuse when a bundle changed in --to after version V, a number or a time"),
      .value("break-glass", "REASON", "do it though the channel is frozen; the reason is recorded"),
      .flag("now", "make it visible without waiting for deltas"),
      .flag("dry-run", "say what would happen, change nothing"),
    ],
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
    var body = JSONObject()
    body["from"] = .string(source.text)
    body["bundle"] = try arguments.value("bundle").map {
      .string(try SettingsValue.bundle($0, in: "--bundle").text)
    }
    body["map"] = .array(try arguments.all("map").map(rule))
    body["version"] = try VersionWord.one(arguments, try arguments.value("version")).map { .string($0) }
    body["message"] = .string(try arguments.value("message") ?? "")
    body["ifVersion"] = try PublishCommand.ifVersion(arguments).map { .string($0) }
    body["breakGlass"] = try arguments.breakGlass().map { .string($0) }
    body["withPrefetch"] = .bool(arguments.has("with-prefetch"))
    body["now"] = .bool(arguments.has("now"))
    body["dryRun"] = .bool(arguments.has("dry-run"))
    let answer = try remote.api.send(
      "POST", "apps/\(try remote.app)/channels/\(target)/promote", json: .object(body),
      patience: ReleaseWords.patience)
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
    } else {
      for line in lines(answer, to: target, dryRun: arguments.has("dry-run"), terminal) { terminal.say(line) }
    }
    return .done
  }

  private static func rule(_ text: String) throws -> JSONValue {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard sides.count == 2 else { throw UsageError("--map \(text): write OLD-URL=NEW-URL") }
    let from = try SettingsValue.url(sides[0], in: "--map")
    let to = try SettingsValue.url(sides[1], in: "--map")
    return ["from": .string(from.text), "to": .string(to.text)]
  }

  private static func lines(_ answer: JSONValue, to channel: ChannelName, dryRun: Bool, _ terminal: Terminal)
    -> [String]
  {
    let version = answer["version"]?.string ?? "?"
    let source = "\(answer["from"]?.string ?? "?") \(answer["fromVersion"]?.string ?? "?")"
    var lines = (answer["warnings"]?.array ?? []).compactMap(\.string).map {
      terminal.colour("\($0) names a host that is rewritten", .yellow)
    }
    lines += (answer["left"]?.array ?? []).compactMap(\.string).map {
      "bundle \($0) stays in \(channel), though \(answer["from"]?.string ?? "?") holds nothing of it any more"
    }
    let prefetch = ReleaseWords.prefetch(answer, dryRun: dryRun)
    guard answer["changed"]?.bool == true else {
      return lines + ["nothing changed: \(channel) \(version) has the content of \(source)"] + prefetch
    }
    func count(_ key: String) -> Int64 { answer[key]?.integer ?? 0 }
    let counts = "+\(count("added")) ~\(count("changed_count")) −\(count("removed"))"
    lines.append(
      dryRun
        ? "dry run: \(counts), would become \(channel) version \(version)"
        : "\(counts), \(channel) \(terminal.colour("version \(version)", .bold)) with the content of \(source)"
    )
    return lines + prefetch + ReleaseWords.end(answer, dryRun: dryRun)
  }
}
