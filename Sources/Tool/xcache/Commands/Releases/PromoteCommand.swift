import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// `xcache promote`: releases the content of one channel in another.
enum PromoteCommand {
  static let command = Command(
    name: "promote", operands: "--from CHANNEL --to CHANNEL",
    summary: "release one channel's content to another",
    examples: [
      .init("--from test --to online --app shop --dry-run", "show what would change"),
      .init(
        "--from test --to online --map https://test.m.example.com=https://m.example.com",
        "rewrite URLs to another host"),
    ],
    notes: """
      The bytes are the same, so nothing is uploaded. Each bundle in --to becomes exactly what it is in --from.
      Bundles that --from doesn't have are left alone in --to, including those that were unpublished in --from: they
      are listed, and 'xcache unpublish' removes them. --map rewrites URL prefixes; files whose text contains the old
      host are listed, because their links aren't rewritten. The cost of the update for devices is shown, unless --now is
      given. --at promotes what --from held at that time.
      --with-prefetch also promotes its prefetch config, with pages and apis rewritten by --map; if --from had none,
      --to keeps its own.
      In an app with a root, a promotion needs a key only if what was signed for --from isn't for --to as well
      ('xcache publish --sign-for'), or if --map changes URLs.
      """,
    options: Command.remote + [
      .value("app", "NAME", environment: "XCACHE_APP", "the app"),
      .value("from", "CHANNEL", "the channel to copy from"),
      .value("to", "CHANNEL", "the channel to release to"),
      .value("bundle", "NAME", "only this bundle"),
      .value("map", "URL=URL", "rewrite URLs that begin with the first to begin with the second; repeatable"),
      .value("version", "V", "the version to promote (default: the newest)"),
      VersionArgument.option,
      .flag("create", "create --to if it doesn't exist; else a misspelt name is refused"),
      .flag("with-prefetch", "also promote the prefetch config"), PublishCommand.maxUpdateOption,
      FileStatistics.option, Command.all,
    ]
      + Command.release(
        ifVersion: "a bundle changed in --to",
        dryRun: "show the files and the cost for devices; change nothing") + RolloutCommand.releaseOptions
      + GivenSigning.options + [GivenSigning.given],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    guard let from = try arguments.value("from"), let to = try arguments.value("to") else {
      let missing = ["from", "to"].filter { !arguments.isGiven($0) }.map { "--\($0) CHANNEL" }
      throw remote.missing(
        "\(missing.joined(separator: " and ")) \(missing.count == 1 ? "is" : "are") required")
    }
    let target = try SettingsValue.channel(to, in: "--to")
    let source = try SettingsValue.channel(from, in: "--from")
    guard source != target else {
      throw UsageError("--from and --to are the same channel, \(target)")
    }
    var request = PromotionRequest()
    request.from = source.text
    request.bundle = try arguments.value("bundle").map { try SettingsValue.bundle($0, in: "--bundle").text }
    request.map = try arguments.all("map").map(rule)
    request.version = try VersionArgument.one(arguments, try arguments.value("version"))
    request.withPrefetch = arguments.has("with-prefetch")
    let address = ChannelAddress(try remote.app, target)
    // Older origins don't know the member, so it is sent only where it matters.
    if !arguments.has("create"), try !remote.api.exists(address) { request.create = false }
    request = try request.filled(arguments)
    if let limit = try PublishCommand.maxUpdate(arguments) {
      try check(&request, to: address, limit, remote.api, terminal)
    }
    let publisher = Publisher(try remote.api, cache: PublishCache(path: nil)) { step in
      if let remark = GivenSigning.remark(step) { terminal.remark(remark) }
    }
    let (answer, statements) = try publisher.promote(
      request, to: address, try GivenSigning.terms(arguments, remote, terminal))
    if arguments.has("json") {
      var document = PrintedRelease.of(answer.document)
      if !statements.isEmpty { document["signed"] = GivenSigning.json(statements) }
      terminal.say(json: .object(document))
    } else if let scheduled = answer.value.release.scheduled {
      terminal.say(scheduled.line(target))
    } else {
      answer.value.release.tellForecast(arguments, terminal)
      for line in lines(answer.value, to: target, dryRun: arguments.has("dry-run"), terminal) {
        terminal.say(line)
      }
      if !terminal.isQuiet { for line in GivenSigning.lines(statements) { terminal.say(line) } }
      RolloutCommand.left(answer.value.release, remote.about(target), arguments, terminal)
    }
    return .done
  }

  /// How often the cost is asked for, a second apart, until the origin has worked it out.
  private static let attempts = 120

  /// Checks what the promotion costs devices on the replaced version, and holds the request to what was checked.
  /// - Throws: `PublishError.overBudget`, `costUnknown`.
  private static func check(
    _ request: inout PromotionRequest, to address: ChannelAddress, _ limit: Int64, _ api: OriginClient,
    _ terminal: Terminal
  ) throws {
    var plan = request
    (plan.dryRun, plan.schedule) = (true, nil)
    for attempt in 1... {
      let answer = try api.promote(plan, to: address).value
      let release = answer.release
      guard release.isChanged else { return }
      guard release.previous != .none else {
        return terminal.remark("--max-update has no effect: no device has an earlier version")
      }
      if let cost = answer.update ?? release.forecast?.update {
        if cost.wireBytes > limit { throw PublishError.overBudget(bytes: cost.wireBytes, limit: limit) }
        // What is promoted, and what it replaces, is what was checked.
        request.version = answer.fromVersion.text
        request.ifVersion = request.ifVersion ?? release.previous.text
        return
      }
      if attempt == attempts { throw PublishError.costUnknown }
      Clock.sleep(for: .seconds(1))
    }
  }

  private static func rule(_ text: String) throws -> PromotionRequest.Rule {
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard sides.count == 2 else { throw UsageError("--map \(text): expected OLD-URL=NEW-URL") }
    let from = try SettingsValue.url(sides[0], in: "--map")
    let to = try SettingsValue.url(sides[1], in: "--map")
    return .init(from: from.text, to: to.text)
  }

  static func lines(
    _ answer: PromotionAnswer, to channel: ChannelName, dryRun: Bool, _ terminal: Terminal
  ) -> [String] {
    let release = answer.release
    let source = "\(answer.from) \(answer.fromVersion)"
    var lines = answer.warnings.map { terminal.colour("\($0) contains a host that is rewritten", .yellow) }
    lines += answer.left.map {
      "bundle \($0) stays in \(channel), although \(answer.from) no longer has it"
    }
    if release.createdChannel {
      lines.append("\(dryRun ? "would create" : "created") channel \(channel)")
    }
    let prefetch = answer.prefetch.map { [$0.message(from: answer.from, dryRun: dryRun)] } ?? []
    let rollout = release.rolloutLines(dryRun: dryRun, terminal)
    guard release.isChanged else {
      return lines + ["nothing changed: \(channel) \(release.version) has the content of \(source)"]
        + rollout + prefetch
    }
    if let update = answer.update, !terminal.isQuiet {
      lines.append("\(release.devicesBefore) download \(update.formatted)")
    } else {
      lines += release.forecastLines(terminal)
    }
    lines += release.freezeLines(terminal, of: channel) + release.unsignedLines(terminal)
    let version = "version \(release.version)"
    lines.append(
      dryRun
        ? "dry run: \(release.changeSummary), would become \(channel) \(version)"
        : "\(release.changeSummary), \(channel) \(terminal.colour(version, .bold)) with the content of \(source)"
    )
    if !terminal.isQuiet {
      lines += (answer.takesBack ?? []).map { $0.line(dryRun: dryRun, in: channel) }
    }
    return lines + rollout + prefetch + (dryRun ? [] : release.endLines(terminal))
  }
}
