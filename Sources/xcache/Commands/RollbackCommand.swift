import Manifests
import OriginAPI
import Publishing

/// `xcache rollback`: an older version's content as a new version.
enum RollbackCommand {
  static let command = Command(
    name: "rollback", operands: "--to V | --steps N (--bundle NAME | --all-bundles)",
    summary: "bring the content of an older version back, as a new version",
    notes: """
      --bundle takes one bundle back, the others stay; --all-bundles the whole channel. --steps counts distinct
      contents back from the one that is live: a rollback counts as the version that it went to. What comes back has its
      old download URLs: devices that still have the files fetch nothing. A URL that another bundle holds now with
      other bytes is refused (exit code 3). V is a number, or a time at which the version was live. --with-prefetch
      brings the channel's prefetch config back, too: the one of that time, or the last one while version V was live.
      """,
    options: Command.remote + Command.channel + [
      .value("to", "V", "the version whose content comes back"),
      VersionWord.option,
      .value("steps", "N", "so many distinct contents back"),
      .value("bundle", "NAME", "this bundle alone"), .flag("all-bundles", "the whole channel"),
      .flag("with-prefetch", "bring the prefetch config of then back, too"),
      .value("message", "TEXT", short: "m", "why, for the log"),
      .value("if-version", "V", "refuse when something of it changed after version V, a number or a time"),
      .value("break-glass", "REASON", "do it though the channel is frozen; the reason is recorded"),
      .flag("now", "make it visible without waiting for deltas"),
      .flag("dry-run", "print the patch and what it costs devices, change nothing"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let dryRun = arguments.has("dry-run")
    let answer = try remote.api.send(
      "POST", "\(try remote.path)/rollback", json: .object(try request(arguments, dryRun: dryRun)),
      patience: ReleaseWords.patience)
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
    } else {
      for line in lines(answer, dryRun: dryRun, terminal) { terminal.say(line) }
    }
    return .done
  }

  private static func request(_ arguments: Arguments, dryRun: Bool) throws -> JSONObject {
    var request = JSONObject()
    // The app and channel may be a setting, the bundle is not: what goes back is always said.
    let bundle = try arguments.value("bundle")
    guard (bundle != nil) != arguments.has("all-bundles") else {
      throw UsageError("what goes back? Give --bundle NAME, or --all-bundles")
    }
    if let bundle { request["bundle"] = .string(try SettingsValue.bundle(bundle, in: "--bundle").text) }
    request["allBundles"] = .bool(bundle == nil)
    let version = try VersionWord.one(arguments, try arguments.value("to"))
    let steps = try arguments.number("steps", in: 1...1_000_000)
    guard (version != nil) != (steps != nil) else {
      throw UsageError("how far back? Give --to V, --at TIME, or --steps N")
    }
    request["to"] = version.map { .string($0) }
    request["steps"] = steps.map { .integer($0) }
    request["message"] = .string(try arguments.value("message") ?? "")
    request["ifVersion"] = try PublishCommand.ifVersion(arguments).map { .string($0) }
    request["breakGlass"] = try arguments.breakGlass().map { .string($0) }
    request["withPrefetch"] = .bool(arguments.has("with-prefetch"))
    request["now"] = .bool(arguments.has("now"))
    request["dryRun"] = .bool(dryRun)
    return request
  }

  private static func lines(_ answer: JSONValue, dryRun: Bool, _ terminal: Terminal) -> [String] {
    let (version, target) = (answer["version"]?.string ?? "?", answer["target"]?.string ?? "?")
    guard answer["changed"]?.bool == true else {
      return ["nothing changed: version \(version) has the content of version \(target)"]
        + ReleaseWords.prefetch(answer, dryRun: dryRun)
    }
    func count(_ key: String) -> Int64 { answer[key]?.integer ?? 0 }
    let counts = "+\(count("added")) ~\(count("changed_count")) −\(count("removed"))"
    var lines: [String] = []
    if dryRun { lines += patch(answer["patch"], terminal) + cost(answer["cost"]) }
    lines.append(
      dryRun
        ? "dry run: \(counts), would become version \(version) with the content of version \(target)"
        : "\(counts), \(terminal.colour("version \(version)", .bold)) with the content of version \(target)")
    for bundle in answer["takesBack"]?.array ?? [] {
      let releases = bundle["releases"]?.array ?? []
      let words = releases.prefix(5).map {
        "version \($0["version"]?.string ?? "?") by \($0["author"]?.string ?? "?")"
      }
      let more = releases.count > 5 ? " and \(releases.count - 5) more" : ""
      lines.append(
        "takes back of \(bundle["bundle"]?.string ?? "?"): " + words.joined(separator: ", ") + more)
    }
    return lines + ReleaseWords.prefetch(answer, dryRun: dryRun) + ReleaseWords.end(answer, dryRun: dryRun)
  }

  private static func patch(_ patch: JSONValue?, _ terminal: Terminal) -> [String] {
    (patch?.object?.members ?? []).map { member in
      guard let size = member.value["size"]?.integer else {
        return "\(terminal.colour("−", .red)) \(member.key)"
      }
      return "\(terminal.colour("+", .green)) \(member.key)  \(Bytes.text(size))"
    }
  }

  private static func cost(_ cost: JSONValue?) -> [String] {
    func bytes(_ key: String) -> String { Bytes.text(cost?[key]?.integer ?? 0) }
    return [
      "a device on the newest version takes a patch of \(bytes("patchBytes")) (\(bytes("patchGzipBytes")) gzipped) and "
        + "\(cost?["files"]?.integer ?? 0) files, \(bytes("fileBytes")), but for those that it still has"
    ]
  }
}
