/// `xcache channel set`.
enum ChannelCommand {
  static let command = Command(
    name: "channel", operands: "set --interval SECONDS", summary: "change how a channel is served",
    notes:
      "Devices poll every 30 seconds at most often; --interval asks them to wait longer, none takes that back.",
    options: Command.remote + Command.channel + ChannelSet.options,
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "set": return try ChannelSet.run(arguments, terminal)
      case let word?: throw UsageError("there is no \"channel \(word)\"; it is set")
      case nil: throw UsageError("channel set?")
      }
    })
}
