import Manifests
import Origin
import OriginAPI
import Publishing
import Store
import Values

/// `xcache gc`: removes history that the retention policy doesn't keep, and every file that nothing needs.
enum GCCommand {
  static let command = Command(
    name: "gc", operands: "", summary: "remove old versions and unused files",
    examples: [
      .init("--dry-run", "what would be removed, and why the rest is kept"),
      .init("--data /srv/xcache --keep-versions 20", "in a data folder without a running server"),
    ],
    notes: """
      These versions are kept: the newest of each channel; those that devices used within --keep-days; pinned ones
      ('xcache pin'); those that a registered mirror names ('xcache mirror list') if it ran within 90 days and its
      token ended no more than 7 days ago; and what a publisher is uploading. A version is in use if at least 10 polls
      reported it and it has 1 % of a day's polls, or one in 1,000 and polls in 2 different hours, or polls in 3
      different hours. Behind a shared cache ('serve --edge-ttl') one batch of counts in the last 30 days is enough,
      whatever --keep-days says. At most 100 such versions are kept, those with the most polls or batches first, so
      that forged polls can't fill the disk. While a mirror or a backup reads, nothing is removed.
      Safe at any time, even with a running server, which then does the work; --data works on a folder without a
      server. 'serve --gc 03:00' runs it every day.
      """,
    options: Command.remote + policyOptions + [
      .flag("dry-run", "show what would be removed; change nothing"),
      .value("data", "DIR", "use this data folder instead of a server"), Command.all,
    ],
    run: run)

  static let policyOptions: [Option] = [
    .value("keep-versions", "N", "keep the newest N versions of each channel (default: 50)"),
    .value("keep-days", "N", "keep versions that devices used in the last N days, 0 to 90 (default: 90)"),
  ]

  static func policy(_ arguments: Arguments) throws(UsageError) -> RetentionPolicy {
    var policy = RetentionPolicy()
    policy.versions = try arguments.number("keep-versions", in: 1...1_000_000) ?? policy.versions
    policy.days = try arguments.number("keep-days", in: 0...90) ?? policy.days
    return policy
  }

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let policy = try policy(arguments)
    let isDryRun = arguments.has("dry-run")
    let (report, document): (GCReport, JSONValue)
    if let data = try arguments.value("data") {
      let store = try MaintenanceOutput.ownStore(data, arguments, "xcache gc")
      report = GCReport(try store.collect(policy, dryRun: isDryRun), dryRun: isDryRun)
      document = JSONValue(encoding: report)
    } else {
      let answer = try RemoteOrigin(arguments).api.collect(
        GCRequest(dryRun: isDryRun, keepDays: policy.days, keepVersions: policy.versions))
      (report, document) = (answer.value, answer.document)
    }
    let failure =
      report.stoppedFor.isEmpty
      ? nil
      : Failure(
        "stopped early for \(report.stoppedFor.joined(separator: ", ")); run it again when that has ended",
        name: "stopped")
    if arguments.has("json") {
      terminal.say(json: document, failure)
    } else {
      terminal.say(list: channelLines(report, terminal), all: arguments.has("all"))
      for line in lines(report) { terminal.say(line) }
    }
    return failure?.code ?? .done
  }

  /// Describes what is removed from and kept in each channel, and why.
  static func channelLines(_ report: GCReport, _ terminal: Terminal) -> [String] {
    let isDryRun = report.dryRun
    return report.channels.flatMap { channel in
      let dropped = channel.dropped
      return [
        terminal.colour("\(channel.app) \(channel.channel)", .bold)
          + "  \(isDryRun ? "would drop" : "dropped") \(Count.text(dropped.count, "version"))\(dropped.isEmpty ? "" : " (\(dropped.ranges))"), "
          + "\(isDryRun ? "keep" : "kept") \(channel.kept.count)"
      ] + reasons(channel.kept).map { "  " + $0 }
    }
  }

  static func lines(_ report: GCReport) -> [String] {
    let isDryRun = report.dryRun
    var lines: [String] = []
    func message(_ files: FileTotal) -> String { "\(files.count) (\(Bytes.text(files.bytes)))" }
    lines.append(
      "\(isDryRun ? "would free" : "freed") \(Bytes.text(report.freedBytes)): files \(message(report.blobs)), "
        + "orphans \(message(report.orphans)), derived \(message(report.derived)), "
        + "temporary \(message(report.temporary)); \(Count.text(report.entries, "row")) of history")
    if let documents = report.documents {
      lines.append(
        "\(isDryRun ? "would drop" : "dropped") \(Count.text(documents, "older version")) of prefetch configs and policies"
      )
    }
    if let scripts = report.scripts { lines.append("dropped scripts \(message(scripts))") }
    if report.promised > 0 {
      lines.append("kept \(Count.text(report.promised, "file")) for publishes in progress")
    }
    if !report.stoppedFor.isEmpty {
      lines.append(
        "stopped early for \(report.stoppedFor.joined(separator: ", ")); run it again when that has ended")
    }
    return lines
  }

  /// Formats the kept versions; those with the same reasons share a line.
  private static func reasons(_ kept: [GCReport.Kept]) -> [String] {
    var lines: [(message: String, versions: [ManifestVersion])] = []
    for kept in kept {
      let words = kept.reasons.map(message).joined(separator: "; ")
      if lines.last?.message == words {
        lines[lines.count - 1].versions.append(kept.version)
      } else {
        lines.append((words, [kept.version]))
      }
    }
    return lines.map { "\($0.versions.ranges): \($0.message)" }
  }

  private static func message(_ reason: GCReport.Reason) -> String {
    switch reason.why {
    case "live": "live"
    case "recent": "one of the newest"
    case "reported":
      "in use: reported by \(Count.text(reason.polls ?? 0, "poll")) in \(Count.text(reason.hours ?? 0, "hour")), "
        + "most recently at \(reason.last.formatted)"
    case "pinned": "pinned by \(reason.author ?? ""): \(reason.reason ?? "")"
    case "scheduled": "needed by \(reason.reason ?? "a scheduled act")"
    case "mirrored": "used by mirror \(reason.mirror ?? "")"
    case "lastNumber": "the last version of a removed channel"
    default: "?"
    }
  }
}
