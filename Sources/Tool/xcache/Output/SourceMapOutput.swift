import OriginAPI
import Publishing
import Values

/// Says what a publish or a check found out about source maps.
enum SourceMapOutput {
  /// How many maps that belong to nothing are named.
  private static let shown = 10

  static let option = Option.value(
    "source-maps", "DIR",
    "store the build's source maps (*.map) at the origin, where only stacks of errors are read with them")

  static let checkOption = Option.value(
    "source-maps", "DIR", "also say which source maps (*.map) publish --source-maps would store")

  /// Returns how many maps belong to something, and warnings of those that don't.
  static func lines(_ pairing: SourceMapPairing) -> [String] {
    var lines = [
      "source maps: \(pairing.paired) of \(pairing.found) \(pairing.paired == 1 ? "belongs" : "belong") to files of the build"
    ]
    for map in pairing.unpaired.prefix(shown) {
      let why =
        map.reason.map { "this is not a source map that can be read: \($0)" }
        ?? "this source map belongs to no script or style of the build, so it isn't stored"
      lines.append("warning: \(map.path): \(why)")
    }
    let more = pairing.unpaired.count - shown
    if more > 0 { lines.append("warning: … and \(Count.text(more, "more source map")) like that") }
    return lines
  }

  /// Returns what the origin did with the maps.
  static func lines(_ report: SourceMapReport, dryRun: Bool, _ terminal: Terminal) -> [String] {
    if let problem = report.problem {
      return [
        terminal.colour(
          "the release is live, but its source maps aren't stored: \(problem.message); publish again with --source-maps",
          .yellow)
      ]
    }
    guard let answer = report.answer else {
      return dryRun ? ["would store \(Count.text(report.pairing.paired, "source map"))"] : []
    }
    var line = "source maps: stored \(answer.stored)"
    if answer.known > 0 { line += ", \(answer.known) already there" }
    if answer.refused > 0 {
      line +=
        ", \(answer.refused) left alone, because only bundles that this token may not change have the files"
    }
    return [line]
  }

  static func json(_ pairing: SourceMapPairing) -> JSONObject {
    var json = JSONObject()
    json["found"] = .integer(pairing.found)
    json["paired"] = .integer(pairing.paired)
    json["unpaired"] = .strings(pairing.unpaired.map(\.path))
    return json
  }

  static func json(_ report: SourceMapReport) -> JSONValue {
    var json = json(report.pairing)
    if let answer = report.answer {
      json["known"] = .integer(answer.known)
      json["refused"] = .integer(answer.refused)
      json["stored"] = .integer(answer.stored)
    }
    if let problem = report.problem { json["problem"] = .string(problem.message) }
    return .object(json)
  }
}
