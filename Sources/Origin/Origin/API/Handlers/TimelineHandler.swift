import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// What happened in a channel: `GET …/timeline`.
struct TimelineHandler: APIHandler {
  let context: RequestContext

  /// `GET …/timeline?limit=N&before=…`
  func list() throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...200) ?? 50
    var before: TimelinePlace?
    if let text = request.text("before") {
      guard let place = TimelinePlace(text: text) else {
        throw Problem.badRequest("before= must be the \"next\" of the page before")
      }
      before = place
    }
    // One more than is asked for says whether there are more.
    let entries = try store.timeline(of: channel, limit: limit + 1, before: before)
    let shown = entries.prefix(limit)
    var items: [ChannelTimeline.Item] = []
    for entry in shown {
      var item = ChannelTimeline.Item(entry.event)
      if case .release(let record) = entry.event {
        item.release?.rollout = try store.rollout(of: record.version, in: channel).map { RolloutInfo($0) }
      }
      items.append(item)
    }
    return .json(
      ChannelTimeline(items: items, next: entries.count > limit ? shown.last?.place.text : nil))
  }
}

extension ChannelTimeline.Item {
  fileprivate init(_ event: TimelineEntry.Event) {
    switch event {
    case .release(let release):
      self.init(
        kind: "release", at: Moment(milliseconds: release.at), author: release.author,
        message: release.message, version: release.version, detail: release.sentence,
        release: ReleaseInfo(release))
    case .document(let document, let record):
      self.init(
        kind: document.rawValue, at: Moment(milliseconds: record.at), author: record.author,
        message: record.message, version: ManifestVersion(record.version),
        detail: record.sentence(document))
    case .act(let row): self.init(row)
    }
  }

  /// Shows nothing of a row but what readers of the channel learn elsewhere, too: not from which address it came.
  private init(_ row: AuditRow) {
    let asked = (try? JSONValue.parse(Array(row.parameters.utf8))) ?? .null
    let result = (try? JSONValue.parse(Array(row.result.utf8))) ?? .null
    let (kind, detail) = ActWords.of(row.act, asked, result)
    let message = [asked["reason"], asked["message"], result["reason"]].compactMap { $0?.string }.first
    self.init(
      kind: kind, at: Moment(milliseconds: row.at), author: row.author, message: message ?? "",
      version: (result["version"] ?? asked["version"])?.string.flatMap { ManifestVersion(text: $0) },
      detail: detail)
  }
}

extension ReleaseRecord {
  /// What it did, in a sentence.
  fileprivate var sentence: String {
    let changes =
      "\(counts.added) added, \(counts.changed) changed, \(counts.removed) removed"
    guard let source = details.source else {
      switch kind {
      case .unpublish: return "Files were taken out: \(counts.removed) removed."
      case .rebase: return "The base URL of downloads was changed."
      case .restore: return "The channel was restored from a copy."
      default:
        let names = bundles.prefix(3).map(\.name.text).joined(separator: ", ")
        let more = bundles.count > 3 ? " and \(bundles.count - 3) more" : ""
        return names.isEmpty ? "Published: \(changes)." : "Published \(names)\(more): \(changes)."
      }
    }
    let what =
      source.bundle.map { "bundle \($0) of version \(source.version)" } ?? "version \(source.version)"
    return kind == .promote
      ? "Promoted \(what) of the channel \(source.channel): \(changes)."
      : "Rolled back to \(what): \(changes)."
  }
}

extension DocumentRecord {
  /// What it did, in a sentence.
  fileprivate func sentence(_ document: ChannelDocument) -> String {
    let what = document == .policy ? "policy" : "prefetch config"
    switch kind {
    case .kill: return "The kill switch was turned on: devices use only the network."
    case .resume: return "The kill switch was turned off."
    case .bypass: return "The bypasses were changed."
    case .script: return "The policy's script was changed."
    case .rollback: return "The \(what) was rolled back to version \(source ?? 0)."
    case .restore: return "The \(what) was restored from a copy."
    case .push, .set: return "The \(what) was changed."
    }
  }
}

/// What an act of the audit trail did, for the timeline.
private enum ActWords {
  /// Returns the act's kind in the timeline, and a sentence.
  static func of(_ act: String, _ asked: JSONValue, _ result: JSONValue) -> (kind: String, detail: String) {
    switch act {
    case "rollout.set": ("rollout", "The rollout was set to \(share(result)).")
    case "rollout.pause": ("rollout", "The rollout was paused.")
    case "rollout.resume": ("rollout", "The rollout goes on.")
    case "rollout.complete": ("rollout", "The rollout was completed: all devices get its version.")
    case "channel.create": ("channel", "The channel was created.")
    case "channel.remove": ("channel", "The channel was removed.")
    case "channel.freeze": ("freeze", "The channel was frozen\(times(asked)).")
    case "channel.thaw": ("thaw", "The channel was thawed.")
    case "channel.set": ("settings", "The settings were changed\(names(asked)).")
    case "channel.protect": ("protect", protection(asked))
    case "schedule.add": ("schedule", "Scheduled: \(text(asked, "summary", result)).")
    case "schedule.cancel": ("schedule", "No longer scheduled: \(text(result, "summary", asked)).")
    case "schedule.fail": ("schedule", "Not carried out: \(text(asked, "summary", result)).")
    case "approval.give": ("approval", "Approved: \(text(result, "summary", asked)).")
    case "approval.reject": ("approval", "Rejected: \(text(result, "summary", asked)).")
    case "pin": ("pin", "Version \(text(asked, "version", result)) was pinned.")
    case "unpin": ("pin", "Version \(text(asked, "version", result)) isn't pinned any more.")
    case "problem.acknowledge":
      ("acknowledge", "The problem \(text(asked, "code", result)) was acknowledged.")
    case "problem.unacknowledge":
      ("acknowledge", "The problem \(text(asked, "code", result)) needs attention again.")
    default: (act, "\(act).")
    }
  }

  /// A member of the one or the other, in one line.
  private static func text(_ one: JSONValue, _ member: String, _ other: JSONValue) -> String {
    HumanText.line((one[member] ?? other[member])?.string ?? "an act", limit: 300)
  }

  private static func share(_ result: JSONValue) -> String {
    let now = result["is"]
    let share = Int(exactly: now?["share"]?.integer ?? 0) ?? 0
    let groups = now?["groups"]?.array?.compactMap(\.string) ?? []
    let shown = (0...RolloutRule.all).contains(share) ? ShareText.percent(share) : "another share"
    return groups.isEmpty
      ? shown : "\(shown), and the groups \(HumanText.line(groups.joined(separator: ", "), limit: 200))"
  }

  private static func times(_ asked: JSONValue) -> String {
    let (from, to) = (asked["from"]?.string, asked["to"]?.string)
    return (from.map { " from \($0)" } ?? "") + (to.map { " until \($0)" } ?? "")
  }

  private static func names(_ asked: JSONValue) -> String {
    let names = asked.object?.members.map(\.key).filter { $0 != "reason" } ?? []
    return names.isEmpty ? "" : ": " + HumanText.line(names.sorted().joined(separator: ", "), limit: 200)
  }

  private static func protection(_ asked: JSONValue) -> String {
    let approvals = asked["approvals"]?.integer ?? 0
    return approvals == 0
      ? "The channel isn't protected any more."
      : "The channel was protected: changes take \(approvals) approval\(approvals == 1 ? "" : "s")."
  }
}
