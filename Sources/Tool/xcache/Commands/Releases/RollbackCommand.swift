import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// `xcache rollback`: releases an older version's content as a new version.
enum RollbackCommand {
  static let command = Command(
    name: "rollback", operands: "[V]",
    summary: "release an older version's content as a new version",
    examples: [
      .init("", "show the step to the content before, and ask"),
      .init("--yes -m 'checkout is broken'", "take it without asking"),
      .init("--bundle main --steps 1 --dry-run", "what one step back would change and cost"),
      .init("--all-bundles --at '10m ago' -m 'checkout is broken'", "the whole channel, as it was then"),
    ],
    notes: """
      Without a version it goes one step back; without --bundle or --all-bundles, to the whole channel, if that has only
      one bundle. What isn't named on the command line is shown first, and asked about on a terminal; elsewhere, --yes is
      needed. With both a target and --bundle or --all-bundles it acts at once.
      --bundle rolls back one bundle and leaves the others alone; --all-bundles rolls back the whole channel.
      --steps counts distinct contents back from the live one; a rollback, also of one bundle, counts as the version
      that it went back to. The content returns with its old download URLs, below the channel's public URL of today:
      devices that still have the files don't download them again, though they may read a few KB of a pack before
      they notice. A URL that another bundle now holds with other bytes is refused (exit code 3). V is a number, or
      a time at which the version was live. --with-prefetch also brings back the channel's prefetch config: that of
      the given time, or the last one while version V was live.
      """,
    options: Command.remote + Command.channel + [
      .value("to", "V", "the version to go back to; the same as the operand"),
      VersionArgument.option,
      .value("steps", "N", "go back N distinct states"),
      .value("bundle", "NAME", "only this bundle"), .flag("all-bundles", "the whole channel"),
      .flag("with-prefetch", "also go back to that time's prefetch config"),
      .flag("yes", short: "y", "don't ask"),
      FileStatistics.option, Command.all,
    ]
      + Command.release(
        ifVersion: "any of it changed",
        dryRun: "show the patch and its cost for devices; change nothing") + RolloutCommand.releaseOptions,
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments)
    var request = try request(arguments)
    let isNamed = request.steps ?? 0 > 0 || request.to != nil
    let hasScope = request.bundle != nil || request.allBundles == true
    if !isNamed { request.steps = 1 }
    if !hasScope { try chooseScope(of: &request, remote, arguments, terminal) }
    if !(isNamed && hasScope), request.dryRun != true, !arguments.has("yes") {
      guard try isConfirmed(&request, remote, arguments, terminal) else { return .refused }
    }
    var answer = try remote.api.rollback(request, in: try remote.address)
    if let scheduled = answer.value.release.scheduled, !arguments.has("json") {
      terminal.say(scheduled.line(remote.channel))
      return .done
    }
    if request.dryRun != true, request.schedule == nil { addCost(to: &answer, remote) }
    if arguments.has("json") {
      terminal.say(json: .object(PrintedRelease.of(answer.document)))
    } else if request.dryRun == true {
      preview(answer.value, remote, arguments, terminal)
    } else {
      for line in lines(answer.value, dryRun: false, terminal) { terminal.say(line) }
      RolloutCommand.left(answer.value.release, remote, arguments, terminal)
    }
    return .done
  }

  private static func preview(
    _ answer: RollbackAnswer, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) {
    tellPatch(answer, changedFiles(answer, remote), arguments, terminal)
    for line in lines(answer, dryRun: true, terminal) { terminal.say(line) }
  }

  /// Takes the channel's one bundle, which a rollback needn't name. Bundles that were unpublished don't count, and stay as they are.
  /// - Throws: `UsageError` with the bundles to choose from.
  private static func chooseScope(
    of request: inout RollbackRequest, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) throws {
    let all = try remote.api.overview(of: try remote.address).value.bundles
    let live = all.filter { $0.resources > 0 }
    if all.count <= 1 {
      request.allBundles = true
      return
    }
    if live.count == 1 {
      request.bundle = live[0].name.text
      for gone in all where gone.resources == 0 {
        terminal.remark(
          "this is about bundle \(live[0].name); \(gone.name) was unpublished and stays so, "
            + "`xcache rollback --bundle \(gone.name)` brings it back")
      }
      return
    }
    let bundles = live.isEmpty ? all : live
    let newest = bundles.max { $0.version < $1.version }?.name.text ?? ""
    let target = arguments.operands.first.map { " " + ShellWord.quoted($0) } ?? ""
    throw UsageError(
      "the channel has \(bundles.count) bundles, \(bundles.map(\.name.text).alternatives): name one, such as the one that "
        + "changed last, `xcache rollback\(target) --bundle \(newest)`, or roll back all, "
        + "`xcache rollback\(target) --all-bundles`")
  }

  /// Shows what a rollback would do, and asks. The request then names what was shown, so that nothing else is done.
  private static func isConfirmed(
    _ request: inout RollbackRequest, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> Bool {
    let words = "--yes rolls back without asking, --dry-run only shows it"
    if arguments.has("json") { throw UsageError("with --json nothing can be asked: \(words)") }
    var shown = request
    (shown.dryRun, shown.schedule) = (true, nil)
    let answer = try remote.api.rollback(shown, in: try remote.address).value
    preview(answer, remote, arguments, terminal)
    guard answer.release.isChanged else { return true }
    let (channel, target) = (try remote.address, answer.target)
    let question = "roll back \(channel.channel) of \(channel.app) to the content of version \(target)?"
    guard let isConfirmed = try terminal.confirms(question) else {
      throw UsageError("nothing was changed, because there is no terminal to ask on: \(words)")
    }
    guard isConfirmed else {
      terminal.note("nothing was changed")
      return false
    }
    if request.steps != nil { (request.to, request.steps) = (target.text, nil) }
    request.ifVersion = request.ifVersion ?? answer.release.previous.text
    return true
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
    guard bundle == nil || !arguments.has("all-bundles") else {
      throw UsageError("give either --bundle NAME or --all-bundles, not both")
    }
    var request = RollbackRequest()
    request.bundle = try bundle.map { try SettingsValue.bundle($0, in: "--bundle").text }
    request.allBundles = arguments.has("all-bundles") ? true : nil
    let operand = arguments.operands.first
    if arguments.operands.count > 1 { throw UsageError("unexpected argument: \(arguments.operands[1])") }
    if let operand, try arguments.value("to") != nil {
      throw UsageError("give the version once: \(operand) or --to, not both")
    }
    let word = try operand ?? arguments.value("to")
    if word == "0" {
      throw UsageError(
        "there is no version 0 to go back to, versions begin with 1; `xcache unpublish --bundle NAME` removes a bundle"
      )
    }
    do {
      request.to = try VersionArgument.one(arguments, word)
    } catch {
      // `rollback main`
      guard let operand, bundle == nil, operand.allSatisfy({ $0.isLetter || $0 == "-" }) else { throw error }
      throw UsageError("\(error.message); did you mean --bundle \(operand)?")
    }
    request.steps = try arguments.number("steps", in: 1...1_000_000).map { Int64($0) }
    guard request.to == nil || request.steps == nil else {
      throw UsageError("give only one of V, --at TIME and --steps N")
    }
    request.withPrefetch = arguments.has("with-prefetch")
    return try request.filled(arguments)
  }

  static func lines(_ answer: RollbackAnswer, dryRun: Bool, _ terminal: Terminal) -> [String] {
    let (release, target) = (answer.release, answer.target)
    let prefetch = answer.prefetch.map { [$0.message(dryRun: dryRun)] } ?? []
    let rollout = release.rolloutLines(dryRun: dryRun, terminal)
    guard release.isChanged else {
      if release.rollout?.ended?.state == "completed" {
        return ["version \(release.version), the candidate, has the content of version \(target)"] + rollout
          + prefetch
      }
      return ["nothing changed: version \(release.version) has the content of version \(target)"] + rollout
        + prefetch
    }
    var lines: [String] = []
    let cost = terminal.isQuiet ? [] : cost(answer, of: release.devicesBefore)
    if dryRun { lines += cost + release.freezeLines(terminal) }
    if dryRun, let ended = release.rollout?.ended, ended.state == "superseded" {
      lines.append("to take back only the candidate, version \(ended.version): `xcache rollout halt -m TEXT`")
    }
    lines.append(
      dryRun
        ? "dry run: \(release.changeSummary), would become version \(release.version) with the content of version \(target)"
        : "\(release.changeSummary), \(terminal.colour("version \(release.version)", .bold)) with the content of version \(target)"
    )
    for bundle in terminal.isQuiet ? [] : answer.takesBack {
      lines.append("undoes in \(bundle.bundle): \(bundle.list)")
    }
    return lines + rollout + prefetch + (dryRun ? [] : cost + release.endLines(terminal))
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
      // An entry's patch may also contain nulls, for headers or a fallback that it loses.
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
  private static func cost(_ answer: RollbackAnswer, of devices: String) -> [String] {
    guard let cost = answer.cost else { return [] }
    if let update = cost.update { return ["\(devices) download \(update.formatted)"] }
    return [
      "\(devices) take a patch of \(Bytes.text(cost.patchBytes)) "
        + "(\(Bytes.text(cost.patchGzipBytes)) gzipped) and \(Count.text(cost.files, "file")), \(Bytes.text(cost.fileBytes)), "
        + "except those that they still have"
    ]
  }
}

extension RollbackDetails.Bundle {
  /// The releases that are undone.
  fileprivate var list: String {
    let words = releases.prefix(5).map { "version \($0.version) by \($0.author)" }
    return words.joined(separator: ", ") + (releases.count > 5 ? " and \(releases.count - 5) more" : "")
  }

  /// Says what a promotion undoes: releases of its channel that didn't come from the other one.
  func line(dryRun: Bool, in channel: ChannelName) -> String {
    "\(dryRun ? "would undo" : "undoes") what was released to \(channel) in \(bundle) alone: \(list)"
  }
}
