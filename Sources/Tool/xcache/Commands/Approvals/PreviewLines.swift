import Manifests
import OriginAPI
import Publishing
import Values

/// What an act that waits would do now, for whoever is to approve it.
enum PreviewLines {
  /// Returns the lines; what only a newer origin's answer has isn't shown.
  static func of(_ preview: SchedulePreview, _ terminal: Terminal) -> [String] {
    if let document = preview.document {
      return changes(from: preview.current ?? .null, to: document, terminal)
    }
    if let answer = try? preview.answer.decode(ReleaseAnswer.self) { return lines(answer, terminal) }
    if let answer = try? preview.answer.decode(RolloutAnswer.self) {
      let paused = answer.rollout.paused ? ", once it is resumed" : ""
      return [
        "version \(answer.rollout.version) would go to \(answer.rollout.audience)\(paused); it goes to \(answer.was.audience)"
      ]
    }
    return []
  }

  private static func lines(_ answer: ReleaseAnswer, _ terminal: Terminal) -> [String] {
    let files = (answer.forecast?.files ?? []).map { file in
      let change = FileStatistics.Change(file.change)
      return "\(terminal.colour(change.mark, change.colour)) \(file.url)  \(Bytes.text(file.size))"
    }
    let bundles = answer.bundles.filter(\.isChanged).map { bundle in
      "bundle \(bundle.bundle): +\(bundle.added) ~\(bundle.changed) −\(bundle.removed)"
    }
    let result =
      answer.isChanged
      ? "\(answer.changeSummary), would become version \(answer.version)"
      : "it would change nothing: version \(answer.version) has that content"
    return files + bundles + answer.forecastLines(terminal) + answer.rolloutLines(dryRun: true, terminal)
      + answer.freezeLines(terminal) + [result]
  }

  /// The lines of a document that would go and come, between those that stay at its beginning and at its end.
  static func changes(from old: JSONValue, to new: JSONValue, _ terminal: Terminal) -> [String] {
    func lines(_ value: JSONValue) -> [Substring] {
      value == .null ? [] : PrettyJSON.text(value).split(separator: "\n")
    }
    var (before, after) = (lines(old)[...], lines(new)[...])
    while let first = before.first, first == after.first {
      (before, after) = (before.dropFirst(), after.dropFirst())
    }
    while let last = before.last, last == after.last {
      (before, after) = (before.dropLast(), after.dropLast())
    }
    if before.isEmpty, after.isEmpty { return ["it would change nothing: the document has that content"] }
    return before.map { terminal.colour("− \($0)", .red) } + after.map { terminal.colour("+ \($0)", .green) }
  }
}
