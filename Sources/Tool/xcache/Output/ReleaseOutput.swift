import Manifests
import OriginAPI
import Publishing
import System
import Values

extension Command {
  /// Returns the options that `ReleaseMembers.filled` reads. `what` is what must not have changed since a version; `waits` says
  /// whether there is an option not to wait for deltas.
  static func release(ifVersion what: String, waits: Bool = true, dryRun: String) -> [Option] {
    [
      .value("message", "TEXT", short: "m", "a message for the log"),
      .value("if-version", "V", "refuse if \(what) after version V (a number or a time)"),
      .value("break-glass", "REASON", "release even if the channel is frozen; the reason is recorded"),
      schedule,
    ] + (waits ? [.flag("now", "make the release visible without waiting for deltas")] : [])
      + [.flag("dry-run", dryRun)]
  }
}

extension Command {
  /// When the act is to be carried out.
  static let schedule = Option.value(
    "schedule", "TIME", "do it then, such as 2026-12-01T02:00+08:00; see xcache schedule")
}

extension Arguments {
  /// Returns when the act is to be carried out; nil: now.
  func schedule() throws(UsageError) -> Moment? {
    guard let time = try time(ahead: "schedule") else { return nil }
    if has("dry-run") {
      throw UsageError("--schedule can't be combined with --dry-run, which shows what would happen now")
    }
    return time
  }
}

extension ScheduledInfo {
  /// What is said of an act that was scheduled.
  func line(_ channel: ChannelName) -> String {
    if isUnsigned {
      let approve = isUnapproved ? " and `xcache approve \(id)`" : ""
      return "release \(id) \(remainder(channel)); nothing is live yet\(dueWords)\n"
        + "next: `xcache sign \(id)\(channel.option)`\(approve); `xcache schedule cancel \(id)\(channel.option)` takes it back"
    }
    if isUnapproved {
      return "\(summary) waits for \(missingApprovals): `xcache approve \(id)`\n"
        + "nothing is changed yet\(dueWords); `xcache schedule cancel \(id)\(channel.option)` takes it back"
    }
    return
      "scheduled for \(due.formatted): \(summary); `xcache schedule cancel \(id)\(channel.option)` takes it back"
  }

  /// What is said of a release that waits for signatures already when the same files are published again.
  func lineOfSame(_ channel: ChannelName, _ files: Int) -> String {
    "nothing changed: release \(id), by \(author) at \(at.formatted), has \(files == 1 ? "this" : "these") \(Count.text(files, "file")) "
      + "and \(remainder(channel))\(dueWords)\n"
      + "next: `xcache sign \(id)\(channel.option)`; `xcache schedule cancel \(id)\(channel.option)` takes it back"
  }
}

/// The document that a command prints of the origin's answer to a release.
enum PrintedRelease {
  /// Returns the answer. That of an act which is to come names no version: nothing is made yet, and other releases may come first.
  static func of(_ answer: JSONValue) -> JSONObject {
    var document = answer.object ?? JSONObject()
    if document["scheduled"] ?? .null != .null { document["version"] = .null }
    return document
  }
}

extension ReleaseMembers {
  /// Returns the members with the values of `-m`, `--if-version`, `--break-glass`, `--now`, `--dry-run`
  /// and those about rollouts.
  func filled(_ arguments: Arguments) throws -> Self {
    var request = self
    request.message = try arguments.text("message") ?? ""
    request.ifVersion = try PublishCommand.ifVersion(arguments)
    request.breakGlass = try arguments.breakGlass()
    request.now = arguments.has("now")
    request.dryRun = arguments.has("dry-run")
    request.rollout = try RolloutCommand.terms(arguments)
    request.schedule = try arguments.schedule()
    request.ifNoRollout = arguments.has("if-no-rollout") ? true : nil
    return request
  }
}

// What the commands that make releases share in their output.
extension ReleaseAnswer {
  /// The changes as `+1 ~2 −3`.
  var changeSummary: String { "+\(added) ~\(changed) −\(removed)" }

  /// For a dry run: a line if the channel's freeze would refuse the release.
  ///
  /// `channel` is the channel if the command line doesn't name it as such.
  func freezeLines(_ terminal: Terminal, of channel: ChannelName? = nil) -> [String] {
    guard let freeze else { return [] }
    return [
      terminal.colour(
        "the channel is frozen, by \(freeze.author) since \(freeze.since.formatted): \(freeze.reason.onOneLine); it takes this "
          + "release only with --break-glass REASON, or after `xcache channel thaw\(channel.map { " --channel \($0)" } ?? "")`",
        .yellow)
    ]
  }

  /// For a dry run: prints the files that would change, or with --stat their types.
  func tellForecast(_ arguments: Arguments, _ terminal: Terminal) {
    guard let forecast, !terminal.isQuiet else { return }
    var sums = FileStatistics()
    let lines = forecast.files.map { file in
      let change = FileStatistics.Change(file.change)
      sums.add(file.url, change, file.size)
      let was = file.was.map { " (was \(Bytes.text($0)))" } ?? ""
      return "\(terminal.colour(change.mark, change.colour)) \(file.url)  \(Bytes.text(file.size))\(was)"
    }
    if arguments.has("stat") {
      for line in sums.lines { terminal.say(line) }
    } else {
      terminal.say(list: lines, all: arguments.has("all"))
    }
  }

  /// For a dry run: describes what devices would download.
  func forecastLines(_ terminal: Terminal) -> [String] {
    guard let update = forecast?.update, !terminal.isQuiet else { return [] }
    return ["\(devicesBefore) download \(update.formatted)"]
  }

  /// The devices whose update a cost is about: beside a rollout, those that don't have its candidate.
  var devicesBefore: String {
    rollout?.ended == nil ? "devices on version \(previous)" : "devices outside the rollout"
  }

  /// What it did, or would do, to the channel's rollouts.
  func rolloutLines(dryRun: Bool, _ terminal: Terminal) -> [String] {
    let same = sameAsHalted.map {
      terminal.colour(
        "version \($0.version) had the same content; its rollout was halted by \($0.changedBy), \($0.changedAt.formatted): "
          + ($0.reason ?? "").onOneLine, .yellow)
    }
    return (rollout?.lines(dryRun: dryRun, terminal) ?? []) + (same.map { [$0] } ?? [])
  }

  /// The receipt, which names the release's row in the audit trail.
  var receiptLines: [String] { receipt.map { ["receipt \($0)"] } ?? [] }

  /// Describes whether the release waited for its deltas; `milliseconds` is how long they took, if known.
  func visibility(after milliseconds: Int64? = nil) -> String {
    if added + changed == 0 { return "live; no deltas needed" }
    guard deltasStored else {
      return "live; its deltas are still being made, and devices download whole files until they are ready"
    }
    return "live with its deltas" + (milliseconds.map { ", made in \($0 / 100 * 100) ms" } ?? "")
  }

  /// Describes whether the release waited for its deltas, unless quiet, and the receipt.
  func endLines(_ terminal: Terminal) -> [String] {
    (terminal.isQuiet ? [] : [visibility()]) + headLines(terminal) + receiptLines
  }

  private func headLines(_ terminal: Terminal) -> [String] {
    headProblem.map { [HeadWords.line($0, terminal)] } ?? []
  }
}

/// What is said where devices with a root don't take what a channel is, since no head says so.
enum HeadWords {
  static func line(_ problem: String, _ terminal: Terminal) -> String {
    let why =
      problem == "no-head-key"
      ? "the origin has none of the head keys that the root names; `xcache trust rotate-head` names one"
      : "the origin couldn't sign a head; its log says why, and `xcache doctor` on it"
    return terminal.colour("NO HEAD", .red) + "  devices with a root don't take this: \(why)"
  }
}

extension PrefetchOutcome {
  /// Describes what happened to the prefetch config; `source` is the channel that it was to be promoted from, if any.
  func message(from source: ChannelName? = nil, dryRun: Bool) -> String {
    if isKept {
      let kept = version == .none ? "there is none here either" : "version \(version) stays as it is"
      return "prefetch config: \(source?.text ?? "the source") has none to promote; \(kept)"
    }
    guard changed else {
      return "prefetch config: nothing changed, version \(version) already has this content"
    }
    let content =
      self.source == .none ? "empty, as there was none then" : "the content of version \(self.source)"
    let place = source.map { " of \($0)" } ?? ""
    return "prefetch config: \(content)\(place), \(dryRun ? "would become" : "now") version \(version)"
  }
}
