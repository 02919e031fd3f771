import Preview
import System
import Values

/// The command-line program.
enum XCache {
  static let version = "0.3.0"

  /// The commands by purpose, as in the overview.
  static let groups: [(title: String, commands: [Command])] = [
    ("Set up", [LoginCommand.command, LogoutCommand.command, WhoAmICommand.command, InitCommand.command]),
    (
      "Release",
      [
        CheckCommand.command, SmokeCommand.command, PublishCommand.command, UnpublishCommand.command,
        RollbackCommand.command, RolloutCommand.command, ScheduleCommand.command, ReleaseSignCommand.command,
        ApproveCommand.command, RejectCommand.command,
        PromoteCommand.command, PurgeCommand.command, WebCommand.command,
      ]
    ),
    (
      "Inspect",
      [
        StatusCommand.command, AcknowledgeCommand.command, SamplesCommand.command, LogCommand.command,
        ShowCommand.command, DiffCommand.command, SearchCommand.command,
        PreviewCommand.command, AuditCommand.command,
      ]
    ),
    (
      "Control devices",
      [
        PrefetchCommand.command, PolicyCommand.command, ChannelCommand.command, PinCommand.command,
        TrustCommand.command,
      ]
    ),
    ("Act as a device", [PullCommand.command, DeviceCommand.command]),
    (
      "Run an origin",
      [
        ServeCommand.command, TokenCommand.command, IdentityCommand.command, WebhookCommand.command,
        GCCommand.command,
        DoctorCommand.command,
        BackupCommand.command, RestoreCommand.command, MirrorCommand.command,
      ]
    ),
    ("This program", [HelpCommand.command, VersionCommand.command, CompletionsCommand.command]),
  ]

  static let commands: [Command] = groups.flatMap(\.commands)

  // An ordinary function: a closure in main.swift would be isolated to the main actor.
  static func main() -> Never {
    StandardStream.reserve()
    // Background work may be interrupted anywhere, since it is redone. It must not crash at exit, though.
    Libcrypto.keepUntilEnd()
    let environment = Environment.variables
    let terminal = Terminal(environment: environment)
    let code = run(Array(CommandLine.arguments.dropFirst()), environment, terminal)
    Interruption.waitIfAny()
    // A job that writes to a full disk must not take a partial result for a complete one.
    guard let error = Terminal.lostResult else { Environment.exit(code.rawValue) }
    terminal.note("xcache: the result could not be written completely: \(error)")
    Environment.exit((code == .done ? .failed : code).rawValue)
  }

  static func run(_ words: [String], _ environment: [String: String], _ terminal: Terminal) -> ExitCode {
    let hints = Hints(words)
    let terminal = terminal.configured(by: hints)
    do {
      return try follow(words, environment, terminal)
    } catch {
      Interruption.waitIfAny()
      let reported = error as? Reported
      let fault = Fault(reported?.error ?? error).completed(for: environment).completed(by: hints)
      let hint = fault.name == "usage" ? "\nTry: xcache \(hint(words))--help" : ""
      if reported == nil { terminal.note("xcache: \(fault.message)\(hint)") }
      if words.prefix(while: { $0 != "--" }).contains("--json") { terminal.say(problem: fault.json) }
      return fault.exitCode
    }
  }

  private static func follow(
    _ words: [String], _ environment: [String: String], _ terminal: Terminal
  ) throws -> ExitCode {
    // The common options may also precede the command.
    let general = words.prefix { word in Command.common.contains { $0.isWritten(word) && $0.name != "help" } }
    guard let first = words.dropFirst(general.count).first else {
      guard general.isEmpty else { throw UsageError("no command given; see `xcache --help`") }
      terminal.note(HelpCommand.overview)
      return .usage
    }
    let name =
      switch first {
      case "--help", "-h": "help"
      case "--version", "-V": "version"
      default: first
      }
    return try run(command(name), general + words.dropFirst(general.count + 1), environment, terminal)
  }

  private static func run(
    _ command: Command, _ words: ArraySlice<String>, _ environment: [String: String], _ terminal: Terminal
  ) throws -> ExitCode {
    if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      let isDocument = words.prefix(while: { $0 != "--" }).contains("--json")
      if isDocument {
        terminal.say(json: ["help": .string(command.help)])
      } else {
        terminal.say(command.help)
      }
      return .done
    }
    var arguments = try Arguments(words, options: command.options + Command.common, environment: environment)
    let terminal = terminal.configured(by: arguments)
    if terminal.isVerbose { arguments.trace = { terminal.note($0) } }
    arguments.remark = { terminal.remark($0) }
    try command.checkActs(arguments.operands)
    try command.checkOptions(arguments)
    arguments.needsApp = command.needsApp(arguments.operands)
    return try command.run(arguments, terminal)
  }

  /// Returns the command with this name.
  /// - Throws: `UsageError` with the nearest one.
  static func command(_ name: String) throws(UsageError) -> Command {
    if let command = commands.first(where: { $0.name == name }) { return command }
    if name.hasPrefix("-") {
      throw UsageError(
        "unknown option \(name) before a command\(Spelling.suggestion(for: name, among: ["--help", "--version"])); "
          + "options of a command go after it")
    }
    // `freeze`, of `channel freeze`
    let owners = commands.filter { $0.acts.contains([name]) }
    let names = commands.map(\.name)
    let suggestion =
      owners.count == 1 && Spelling.synonym(of: name, among: names) == nil
      ? "; did you mean \(owners[0].name) \(name)?" : Spelling.suggestion(for: name, among: names)
    throw UsageError("unknown command \(name)\(suggestion)")
  }

  /// Returns the command that the words begin with, for the line that says where its help is.
  private static func hint(_ words: [String]) -> String {
    let name = words.first { !$0.hasPrefix("-") }
    return name.flatMap { name in commands.first { $0.name == name && name != "help" } }.map { $0.name + " " }
      ?? ""
  }
}
