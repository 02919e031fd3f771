import Manifests
import OriginAPI
import Publishing
import System
import Values

/// `xcache diff A B`: shows what changed between two versions.
enum DiffCommand {
  static let command = Command(
    name: "diff", operands: "A [B]", summary: "show what changed between two versions",
    examples: [
      .init("552 553 --app shop", "what an update changes and costs"),
      .init("'yesterday 18:00' --stat", "from then until now, summarized by file type"),
      .init("0 553 --stat", "what a new device downloads"),
    ],
    notes: """
      A version is a number, or a time at which it was live: 2026-11-19T14:05+08:00, '10m ago'. --at TIME stands for
      A. Without B, A is compared with the newest version. R marks a file that only has a new name, such as
      {app.1f3c.js → app.9e8d.js}; --stat has it among the changed ones. In log and show it is one added and one removed. Version 0 is a device that has nothing: its pack is made in the
      background after a release, and counts once it is stored.
      """,
    options: Command.remote + Command.channel + [VersionArgument.option, FileStatistics.option, Command.all],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    var words = (try VersionArgument.at(arguments)).map { [$0] } ?? []
    words += try arguments.operands.map { (text) throws(UsageError) in try VersionArgument.read(text, in: "")
    }
    if words.isEmpty { throw UsageError("A (the older version) is missing") }
    if words.count > 2 {
      throw UsageError("a diff compares two versions, but a third was given: \(words[2])")
    }
    let remote = try RemoteOrigin(arguments)
    if words.count == 1 { words.append(try remote.newestVersion) }
    let answer = try remote.api.diff(from: words[0], to: words[1], of: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    let diff = answer.value
    // A renamed file is one row, and one changed file in the sums.
    let added = diff.added.filter { $0.renamedFrom == nil }
    let renamed = diff.added.filter { $0.renamedFrom != nil }
    let removed = diff.removed.filter { $0.renamedTo == nil }
    let marks: [([DiffAnswer.File], FileStatistics.Change, String, Terminal.Colour)] = [
      (added, .added, "+", .green), (renamed, .changed, "R", .yellow), (diff.changed, .changed, "~", .yellow),
      (removed, .removed, "−", .red),
    ]
    if arguments.has("stat") {
      var sums = FileStatistics()
      for (files, change, _, _) in marks { for file in files { sums.add(file.url, change, file.size) } }
      for line in sums.lines { terminal.say(line) }
    } else {
      let lines = marks.flatMap { files, _, mark, colour in
        files.map { file in
          let delta = file.delta.map { ", \(Bytes.text($0)) as a delta" } ?? ""
          let size = "\(Bytes.text(file.size))\(was(file))\(delta)\(laziness(file))"
          return "\(terminal.colour(mark, colour)) \(address(file))  \(size)"
        }
      }
      terminal.say(list: lines, all: arguments.has("all"))
    }
    for line in transfers(diff) { terminal.say(line) }
    terminal.say(sum(diff))
    return .done
  }

  /// The last line: how many files changed in which way.
  static func sum(_ diff: DiffAnswer) -> String {
    let bytes = (diff.added + diff.changed).clampedSum { file in
      (file.was?.sha256 ?? file.renamedFrom?.sha256) == file.sha256 ? 0 : file.size
    }
    let renamed = diff.added.count { $0.renamedFrom != nil }
    let counts =
      "+\(diff.added.count - renamed)\(renamed == 0 ? "" : " R\(renamed)") ~\(diff.changed.count) −\(diff.removed.count - renamed)"
    return "version \(diff.from) → \(diff.to): \(counts), \(Bytes.text(bytes)) new"
  }

  /// A file's URL, or both of a renamed file: `https://m.example.com/js/{app.1.js → app.2.js}`.
  static func address(_ file: DiffAnswer.File) -> String {
    guard let former = file.renamedFrom?.url else { return file.url }
    let same = zip(former, file.url).prefix { $0 == $1 }.count
    let folder = former.prefix(same).lastIndex(of: "/").map { former[...$0] } ?? ""
    guard folder.count > "https://".count else { return "\(former) → \(file.url)" }
    return "\(folder){\(former.dropFirst(folder.count)) → \(file.url.dropFirst(folder.count))}"
  }

  /// Describes what a changed file was, or what changed besides its bytes.
  static func was(_ file: DiffAnswer.File) -> String {
    if let former = file.renamedFrom {
      return former.sha256 == file.sha256 ? " (the same bytes)" : " (was \(Bytes.text(former.size)))"
    }
    guard let was = file.was else { return "" }
    guard was.sha256 == file.sha256 else { return " (was \(Bytes.text(was.size)))" }
    let others =
      (was.ctype == file.ctype ? [] : ["different type"])
      + (was.headers == file.headers ?? EntryHeaders() ? [] : ["different headers"])
      + (was.fallbacks == file.fallback ?? PageFallbacks() ? [] : ["another fallback"])
      + (was.isLazy == (file.lazy ?? false) ? [] : [was.isLazy ? "no longer lazy" : "lazy now"])
    return " (the same bytes, \(others.isEmpty ? "another public URL" : others.joined(separator: " and ")))"
  }

  /// Says whether a file is lazy, where `was` doesn't say that it became so.
  static func laziness(_ file: DiffAnswer.File) -> String {
    let isLazy = file.lazy ?? false
    guard let was = file.was, was.isLazy != isLazy else { return isLazy ? ", lazy" : "" }
    if was.sha256 == file.sha256 { return "" }
    return isLazy ? ", lazy now" : ", no longer lazy"
  }

  /// Describes the most expensive files of an update, and its total cost.
  private static func transfers(_ diff: DiffAnswer) -> [String] {
    func bytes(_ file: DiffAnswer.File) -> Int64 { file.delta ?? file.plain ?? 0 }
    let new = (diff.added + diff.changed).sorted { bytes($0) > bytes($1) }
    if new.isEmpty { return [] }
    if diff.to < diff.from { return ["devices never take this step: they don't go back to older versions"] }
    let cost = "an update downloads \(diff.cost.formatted)"
    // Those that changed in other ways, or that devices have under another URL, aren't downloaded.
    let largest = new.filter { $0.lazy != true }.prefix(10).filter { bytes($0) > 0 }
    if largest.isEmpty { return [cost] }
    var table = Table(["DELTA", "PLAIN", "URL"], rightAligned: [0, 1])
    for file in largest {
      table.add([file.delta.map(Bytes.text) ?? "—", Bytes.text(file.plain ?? 0), file.url])
    }
    return ["", "largest files of the update:"] + table.lines + [cost]
  }
}
