import Manifests
import OriginAPI
import Publishing

/// `xcache channel list | create | remove | freeze | thaw | set | default-app`.
enum ChannelCommand {
  static let command = Command(
    name: "channel", operands: "list | create | remove | freeze | thaw | set | default-app [NAME]",
    summary: "manage channels: make and remove them, refuse releases, change how they are served",
    notes: """
      freeze --reason TEXT: releases are refused (exit code 3, with who froze it, when and why) until thaw; publish,
      unpublish, rollback and promote take --break-glass REASON for the case that can't wait. remove takes a channel
      that holds nothing; made again, it goes on with its numbers. set --interval SECONDS asks devices to wait longer
      than the usual 30 seconds between polls; none takes that back. create and remove need --channel on the command
      line; freeze, thaw and set are about online where no channel is named. default-app NAME names the app that answers
      polls which name none: the first one that was made, until another is named; without NAME it is shown.
      """,
    options: Command.remote + Command.channel + ChannelActs.options + ChannelSet.options,
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "list": return try ChannelActs.list(arguments, terminal)
      case let verb? where ["create", "remove", "freeze", "thaw"].contains(verb):
        return try ChannelActs.act(verb, arguments, terminal)
      case "set": return try ChannelSet.run(arguments, terminal)
      case "default-app": return try ChannelActs.defaultApp(arguments, terminal)
      case let word?:
        throw UsageError(
          "there is no \"channel \(word)\"; it is list, create, remove, freeze, thaw, set or default-app")
      case nil: throw UsageError("channel list, create, remove, freeze, thaw, set or default-app?")
      }
    })
}

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
    let answer = try remote.api.change(ChannelSettingsRequest(interval: interval), of: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      terminal.say(
        interval.map { "devices are asked to wait \($0) s between polls" } ?? "no interval is asked for")
    }
    return .done
  }
}
