import Manifests
import OriginAPI
import Publishing
import System

/// `xcache rollback`: releases an older version's content as a new version.
enum RollbackCommand {
  static let command = Command(
    name: "rollback", operands: "--to V | --steps N (--bundle NAME | --all-bundles)",
    summary: "release an older version's content as a new version",
    examples: [
      .init("--bundle main --steps 1 --dry-run", "what one step back would change and cost"),
      .init("--all-bundles --at '10m ago' -m 'checkout is broken'", "the whole channel, as it was then"),
    ],
    notes: """
      --bundle rolls back one bundle and leaves the others alone; --all-bundles rolls back the whole channel. --steps
      counts distinct contents back from the live one; a rollback counts as the version that it went back to. The
      content returns with its old download URLs: devices that still have the files don't download them again, though
      they may read a few KB of a pack before they notice. A URL that another bundle now holds with other bytes is
      refused (exit code 3). V is a number, or a time at which the version was live. --with-prefetch also brings back
      the channel's prefetch config: that of the given time, or the last one while version V was live.
      """,
    options: Command.remote + Command.channel + [
      .value("to", "V", "the version to go back to"),
      VersionArgument.option,
      .value("steps", "N", "go back N distinct states"),
      .value("bundle", "NAME", "only this bundle"), .flag("all-bundles", "the whole channel"),
      .flag("with-prefetch", "also go back to that time's prefetch config"),
      FileStatistics.option, Command.all,
    ]
      + Command.release(
        ifVersion: "any of it changed",
        dryRun: "show the patch and its cost for devices; change nothing"),
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let request = try request(arguments)
    var answer = try remote.api.rollback(request, in: try remote.address)
    if request.dryRun != true { addCost(to: &answer, remote) }
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      let files = request.dryRun == true ? changedFiles(answer.value, remote) : [:]
      if request.dryRun == true { tellPatch(answer.value, files, arguments, terminal) }
      for line in lines(answer.value, dryRun: request.dryRun == true, terminal) { terminal.say(line) }
    }
    return .done
  }

  /// How long to wait for the cost after the rollback, in seconds.
  private static let moment = 2.0

  /// Waits a moment for what a rollback costs devices, if it didn't wait for that itself. Errors are ignored: the rollback stands.
  private static func addCost(to answer: inout OriginAnswer<RollbackAnswer>, _ remote: RemoteOrigin) {
    guard let id = answer.value.preparation, let address = try? remote.address else { return }
    let end = Clock.monotonicNanoseconds() + UInt64(moment * 1e9)
    while let prepared = try? remote.api.preparation(id, in: address) {
      if let cost = prepared.value.cost.last1 {
        answer.value.details.cost?.update = cost
        var document = answer.document.object ?? JSONObject()
        var costs = document["cost"]?.object ?? JSONObject()
        costs["update"] = prepared.document["cost"]?["last1"]
        document["cost"] = .object(costs)
        answer.document = .object(document)
        return
      }
      if prepared.value.done || Clock.monotonicNanoseconds() > end { return }
      Clock.sleep(for: .milliseconds(50))
    }
  }

  /// Returns what `diff` says about the files that a rollback changes or removes, by URL.
  private static func changedFiles(_ answer: RollbackAnswer, _ remote: RemoteOrigin)
    -> [String: DiffAnswer.File]
  {
    guard answer.changes?.values.contains(where: { $0 != .added }) == true, let address = try? remote.address
    else {
      return [:]
    }
    // The preview is correct without it.
    let diff = try? remote.api.diff(
      from: answer.release.previous.text, to: answer.target.text, of: address)
    return Dictionary(((diff?.value.changed ?? []) + (diff?.value.removed ?? [])).map { ($0.url, $0) }) { $1 }
  }

  private static func request(_ arguments: Arguments) throws -> RollbackRequest {
    // App and channel may come from settings, but the bundle may not: what is rolled back must be explicit.
    let bundle = try arguments.value("bundle")
    guard (bundle != nil) != arguments.has("all-bundles") else {
      throw UsageError("give either --bundle NAME or --all-bundles")
    }
    var request = RollbackRequest()
    request.bundle = try bundle.map { try SettingsValue.bundle($0, in: "--bundle").text }
    request.allBundles = bundle == nil
    request.to = try VersionArgument.one(arguments, try arguments.value("to"))
    request.steps = try arguments.number("steps", in: 1...1_000_000).map { Int64($0) }
    guard (request.to != nil) != (request.steps != nil) else {
      throw UsageError("give exactly one of --to V, --at TIME and --steps N")
    }
    request.withPrefetch = arguments.has("with-prefetch")
    return try request.filled(arguments)
  }

  static func lines(_ answer: RollbackAnswer, dryRun: Bool, _ terminal: Terminal) -> [String] {
    let (release, target) = (answer.release, answer.target)
    let prefetch = answer.prefetch.map { [$0.message(dryRun: dryRun)] } ?? []
    guard release.isChanged else {
      return ["nothing changed: version \(release.version) has the content of version \(target)"] + prefetch
    }
    var lines: [String] = []
    let cost = terminal.isQuiet ? [] : cost(answer, of: release.previous)
    if dryRun { lines += cost + release.freezeLines(terminal) }
    lines.append(
      dryRun
        ? "dry run: \(release.changeSummary), would become version \(release.version) with the content of version \(target)"
        : "\(release.changeSummary), \(terminal.colour("version \(release.version)", .bold)) with the content of version \(target)"
    )
    for bundle in terminal.isQuiet ? [] : answer.takesBack {
      let words = bundle.releases.prefix(5).map { "version \($0.version) by \($0.author)" }
      let more = bundle.releases.count > 5 ? " and \(bundle.releases.count - 5) more" : ""
      lines.append("undoes in \(bundle.bundle): " + words.joined(separator: ", ") + more)
    }
    return lines + prefetch + (dryRun ? [] : cost + release.endLines(terminal))
  }

  /// Prints what a device would be sent.
  private static func tellPatch(
    _ answer: RollbackAnswer, _ files: [String: DiffAnswer.File], _ arguments: Arguments, _ terminal: Terminal
  ) {
    guard answer.release.isChanged else { return }
    var sums = FileStatistics()
    let lines = (answer.patch?.object?.members ?? []).map { member in
      let bytes = member.value["size"]?.integer ?? files[member.key]?.size
      let size = bytes.map { "  " + Bytes.text($0) } ?? ""
      // An entry's patch may also contain nulls, for headers that it loses.
      let change = FileStatistics.Change(
        answer.changes?[member.key] ?? (member.value.isNull ? .removed : .added))
      sums.add(member.key, change, bytes ?? 0)
      let mark = terminal.colour(change.mark, change.colour)
      return "\(mark) \(member.key)\(size)\(files[member.key].map(DiffCommand.was) ?? "")"
    }
    if arguments.has("stat") {
      for line in sums.lines { terminal.say(line) }
    } else {
      terminal.say(list: lines, all: arguments.has("all"))
    }
  }

  /// Describes what devices on the version being rolled back download.
  private static func cost(_ answer: RollbackAnswer, of version: ManifestVersion) -> [String] {
    guard let cost = answer.cost else { return [] }
    if let update = cost.update { return ["devices on version \(version) download \(update.formatted)"] }
    return [
      "devices on version \(version) take a patch of \(Bytes.text(cost.patchBytes)) "
        + "(\(Bytes.text(cost.patchGzipBytes)) gzipped) and \(Count.text(cost.files, "file")), \(Bytes.text(cost.fileBytes)), "
        + "except those that they still have"
    ]
  }
}
