import Manifests
import OriginAPI
import Publishing
import System

/// `xcache unpublish`: removes bundles from a channel.
enum UnpublishCommand {
  static let command = Command(
    name: "unpublish", operands: "--bundle NAME", summary: "remove a bundle from a channel",
    examples: [
      .init("--bundle help --app shop --dry-run", "show what would be removed"),
      .init("--bundle help --app shop -m 'moved to main'", "remove it"),
    ],
    notes: "Devices delete the bundle's files with their next update. Its history is kept.",
    options: Command.remote + Command.channel + [
      .value("bundle", "NAME", "the bundle; repeatable"), FileStatistics.option, Command.all,
    ]
      + Command.release(
        ifVersion: "the bundle changed", waits: false,
        dryRun: "show the files and the cost for devices; change nothing") + [RolloutCommand.ifNoRollout],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let bundles = try arguments.all("bundle").map { try SettingsValue.bundle($0, in: "--bundle") }
    guard !bundles.isEmpty else {
      throw remote.missing("--bundle NAME is required\(live(remote))")
    }
    for (index, bundle) in bundles.enumerated() where bundles[..<index].contains(bundle) {
      throw UsageError("--bundle \(bundle) was given twice")
    }
    let publisher = Publisher(try remote.api, cache: PublishCache(path: nil))
    let answer = try publisher.unpublish(
      bundles, from: try remote.address, try ReleaseOptions().filled(arguments))
    if arguments.has("json") {
      terminal.say(json: .object(PrintedRelease.of(answer.document)))
      return .done
    }
    let release = answer.value
    if let scheduled = release.scheduled {
      terminal.say(scheduled.line(remote.channel))
      return .done
    }
    guard release.isChanged else {
      if let open = try? remote.api.overview(of: remote.address).value.rollout {
        throw Failure(
          "nothing changed: version \(open.full), which all devices follow that aren't in the rollout, has no such bundle; if the "
            + "candidate, version \(open.version), has it, `xcache rollout halt -m \"reason\"` takes it back",
          code: .refused,
          name: "rollout-open")
      }
      terminal.say("nothing changed: version \(release.version) has no such bundle")
      return .done
    }
    release.tellForecast(arguments, terminal)
    for line in release.forecastLines(terminal) + release.freezeLines(terminal) { terminal.say(line) }
    let removed = release.bundles.clampedSum { Int64($0.removed) }
    terminal.say(
      arguments.has("dry-run")
        ? "dry run: −\(removed), would become version \(release.version)"
        : "−\(removed), \(terminal.colour("version \(release.version)", .bold))")
    for line in release.rolloutLines(dryRun: arguments.has("dry-run"), terminal) { terminal.say(line) }
    if !arguments.has("dry-run") {
      for bundle in release.bundles {
        terminal.remark("`xcache rollback --bundle \(bundle.bundle)` brings bundle \(bundle.bundle) back")
      }
    }
    for line in release.receiptLines { terminal.say(line) }
    return .done
  }

  /// Names the bundles to choose from, if the origin can be asked.
  private static func live(_ remote: RemoteOrigin) -> String {
    guard let address = try? remote.address, let overview = try? remote.api.overview(of: address).value else {
      return ""
    }
    let names = overview.bundles.filter { $0.resources > 0 }.map(\.name.text)
    let list = names.count > 5 ? names.prefix(5).joined(separator: ", ") + ", …" : names.alternatives
    return names.isEmpty ? "" : "; the channel has \(list)"
  }
}
