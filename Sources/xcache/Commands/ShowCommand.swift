import Manifests
import OriginAPI
import Publishing

/// `xcache show V`: one release, or the manifest that devices got with it.
enum ShowCommand {
  static let command = Command(
    name: "show", operands: "[V]", summary: "show a release, or the manifest that devices got with it",
    notes: """
      V is a number, or a time at which the version was live; without it the newest is shown. --manifest prints the
      canonical resourcemap, byte for byte as devices got it: its sha256 is the release's digest.
      """,
    options: Command.remote + Command.channel + [
      VersionWord.option, .flag("manifest", "print the resourcemap instead"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.count > 1 {
      throw UsageError("nothing is expected after that: \(arguments.operands[1])")
    }
    let remote = try RemoteOrigin(arguments)
    var word = try VersionWord.one(arguments, arguments.operands.first)
    if word == nil { word = try remote.newestVersion }
    let version = VersionWord.escaped(word ?? "")
    if arguments.has("manifest") {
      let map = try remote.api.get("\(try remote.path)/manifest?version=\(version)", limit: 1 << 30)
      terminal.write(map.canonical)
      return .done
    }
    let release = try remote.api.get("\(try remote.path)/releases/\(version)")
    if arguments.has("json") {
      terminal.say(String(decoding: release.canonical, as: UTF8.self))
    } else {
      for line in lines(release, terminal) { terminal.say(line) }
    }
    return .done
  }

  private static func lines(_ release: JSONValue, _ terminal: Terminal) -> [String] {
    func text(_ key: String) -> String { release[key]?.string ?? "?" }
    func count(_ key: String) -> Int64 { release[key]?.integer ?? 0 }
    var lines = [
      terminal.colour("version \(text("version"))", .bold) + "  \(LogCommand.kind(release))",
      "released  \(Moment.text(release["at"])) by \(text("author"))",
      "changes   +\(count("added")) ~\(count("changed")) −\(count("removed")), \(Bytes.text(count("newBytes"))) new",
      "holds     \(count("resources")) resources, \(Bytes.text(count("bytes")))",
      "digest    \(text("digest"))",
    ]
    if let glass = release["breakGlass"], let reason = glass["reason"]?.string {
      lines.append("in spite of the freeze by \(glass["frozenBy"]?.string ?? "?"): \(reason)")
    }
    if let message = release["message"]?.string, !message.isEmpty { lines += ["", message] }
    var table = Table(["BUNDLE", "ADDED", "CHANGED", "REMOVED"], rightAligned: [1, 2, 3])
    for bundle in release["bundles"]?.array ?? [] {
      table.add(
        [bundle["bundle"]?.string ?? "?"]
          + ["added", "changed", "removed"].map { "\(bundle[$0]?.integer ?? 0)" })
    }
    return lines + [""] + table.lines
  }
}
