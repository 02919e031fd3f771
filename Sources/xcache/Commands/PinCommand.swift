import Manifests
import Publishing

/// `xcache pin`: versions that gc leaves alone.
enum PinCommand {
  static let command = Command(
    name: "pin", operands: "VERSION \"why\" | list | remove VERSION",
    summary: "keep a version, whatever gc would do",
    notes: "A pinned version stays, with every file that it names, until the pin is removed.",
    options: Command.remote + Command.channel, run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments)
    let pins = "\(try remote.path)/pins"
    let result: JSONValue
    let line: String
    switch arguments.operands.first {
    case "list":
      _ = try arguments.operands("list")
      result = try remote.api.get(pins)
      line = table(result).joined(separator: "\n")
    case "remove":
      let version = try version(arguments.operands("remove", "VERSION")[1])
      result = try remote.api.send(OriginAPI.Call("DELETE", "\(pins)/\(version)"))
      line = "version \(version) is not pinned any more"
    case nil: throw UsageError("pin VERSION \"why\", pin list, or pin remove VERSION?")
    default:
      let words = try arguments.operands("VERSION", "\"why\"")
      let version = try version(words[0])
      result = try remote.api.send(
        "POST", pins, json: ["reason": .string(words[1]), "version": .string(version.text)])
      line = "pinned version \(version)"
    }
    terminal.say(arguments.has("json") ? String(decoding: result.canonical, as: UTF8.self) : line)
    return .done
  }

  private static func version(_ text: String) throws(UsageError) -> ManifestVersion {
    guard let version = ManifestVersion(text: text), version > .none else {
      throw UsageError("\(text) is no version: a whole number from 1 on is needed")
    }
    return version
  }

  private static func table(_ result: JSONValue) -> [String] {
    var table = Table(["VERSION", "SINCE", "BY", "WHY"], rightAligned: [0])
    for pin in result["pins"]?.array ?? [] {
      table.add([
        pin["version"]?.string ?? "?", Moment.text(pin["at"]), pin["author"]?.string ?? "?",
        pin["reason"]?.string ?? "",
      ])
    }
    return table.lines
  }
}
