import Manifests
import OriginAPI
import Publishing

/// `xcache channel set`: settings that every answer to a device carries.
enum ChannelSet {
  static let options: [Option] = [
    .value("interval", "SECONDS", "how long devices wait between polls, 30 to 3600, or none")
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("set")
    guard let text = try arguments.value("interval") else {
      throw UsageError("what is to be set? Give --interval SECONDS, or --interval none")
    }
    let allowed = AnswerExtras.intervals
    let interval = text == "none" ? nil : Int(text)
    guard text == "none" || interval.map(allowed.contains) ?? false else {
      throw UsageError(
        "--interval \(text): seconds from \(allowed.lowerBound) to \(allowed.upperBound), or none, are needed"
      )
    }
    let remote = try RemoteOrigin(arguments)
    let answer = try remote.api.send(
      "POST", "\(try remote.path)/settings", json: ["interval": interval.map { .integer($0) } ?? .null])
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
    } else {
      terminal.say(
        interval.map { "devices are asked to wait \($0) s between polls" } ?? "no interval is asked for")
    }
    return .done
  }
}
