import Manifests
import OriginAPI
import Publishing
import System

/// `xcache diff A B`: what changed between two versions.
enum DiffCommand {
  static let command = Command(
    name: "diff", operands: "A [B]", summary: "show what changed between two versions",
    notes: """
      A version is a number, or a time at which it was live: 2026-11-19T14:05+08:00. --at TIME stands for A; without B
      the newest version is meant.
      """,
    options: Command.remote + Command.channel + [VersionWord.option], run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    var words = (try VersionWord.at(arguments)).map { [$0] } ?? []
    words += try arguments.operands.map { (text) throws(UsageError) in try VersionWord.read(text, in: "") }
    if words.isEmpty { throw UsageError("A, the older version, is missing") }
    if words.count > 2 {
      throw UsageError("a diff is between two versions, but there is a third: \(words[2])")
    }
    let remote = try RemoteOrigin(arguments)
    if words.count == 1 { words.append(try remote.newestVersion) }
    let versions = words.map { VersionWord.escaped($0) }
    let diff = try remote.api.get(
      "\(try remote.path)/diff?from=\(versions[0])&to=\(versions[1])", limit: 1 << 30)
    if arguments.has("json") {
      terminal.say(String(decoding: diff.canonical, as: UTF8.self))
      return .done
    }
    let marks: [(String, String, Terminal.Colour)] = [
      ("added", "+", .green), ("changed", "~", .yellow), ("removed", "−", .red),
    ]
    for (key, mark, colour) in marks {
      for change in diff[key]?.array ?? [] {
        let size = Bytes.text(change["size"]?.integer ?? 0)
        let was = change["was"].map { " (was \(Bytes.text($0["size"]?.integer ?? 0)))" } ?? ""
        let delta = change["delta"]?.integer.map { ", \(Bytes.text($0)) as a delta" } ?? ""
        terminal.say(
          "\(terminal.colour(mark, colour)) \(change["url"]?.string ?? "?")  \(size)\(was)\(delta)")
      }
    }
    func count(_ key: String) -> Int { diff[key]?.array?.count ?? 0 }
    let bytes = ["added", "changed"].flatMap { diff[$0]?.array ?? [] }.clampedSum {
      $0["size"]?.integer ?? 0
    }
    for line in transfers(diff) { terminal.say(line) }
    terminal.say("+\(count("added")) ~\(count("changed")) −\(count("removed")), \(Bytes.text(bytes)) new")
    return .done
  }

  /// What costs the most of an update, and what it costs in all.
  private static func transfers(_ diff: JSONValue) -> [String] {
    func bytes(_ change: JSONValue) -> Int64 { (change["delta"] ?? change["plain"])?.integer ?? 0 }
    let new = ["added", "changed"].flatMap { diff[$0]?.array ?? [] }.sorted { bytes($0) > bytes($1) }
    guard let cost = diff["cost"], !new.isEmpty else { return [] }
    var lines = ["", "the biggest of the update:"]
    var table = Table(["DELTA", "PLAIN", "URL"], rightAligned: [0, 1])
    for change in new.prefix(10) {
      table.add([
        change["delta"]?.integer.map(Bytes.text) ?? "—", Bytes.text(change["plain"]?.integer ?? 0),
        change["url"]?.string ?? "?",
      ])
    }
    lines += table.lines
    lines.append(
      "an update downloads \(Bytes.text(cost["bytes"]?.integer ?? 0)) with deltas, "
        + "\(Bytes.text(cost["plainBytes"]?.integer ?? 0)) without")
    return lines
  }
}
