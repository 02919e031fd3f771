import Manifests
import OriginAPI
import Publishing
import Store
import System
import XCacheClient

/// The command line as a whole.
enum XCache {
  static let version = "0.1.0"

  static let commands: [Command] = [
    ServeCommand.command, PublishCommand.command, UnpublishCommand.command, StatusCommand.command,
    LogCommand.command, ShowCommand.command, DiffCommand.command, RollbackCommand.command,
    PromoteCommand.command, AuditCommand.command,
    PullCommand.command, DeviceCommand.command, MirrorCommand.command, TokenCommand.command,
    PrefetchCommand.command, PolicyCommand.command, CheckCommand.command, ChannelCommand.command,
    GCCommand.command, PinCommand.command, DoctorCommand.command, BackupCommand.command,
    RestoreCommand.command, WebCommand.command,
  ]

  // An ordinary function: a closure written in main.swift would belong to the main actor.
  static func main() -> Never {
    // Work in the background may be cut off anywhere: it is made again. It must not trip over the end, though.
    Libcrypto.keepUntilEnd()
    let environment = Environment.variables
    let terminal = Terminal(environment: environment)
    let code = run(Array(CommandLine.arguments.dropFirst()), environment, terminal)
    // A job that writes to a full disk must not take half a result for a whole one.
    guard let error = Terminal.lostResult else { Environment.exit(code.rawValue) }
    terminal.note("xcache: the result could not be written whole: \(error)")
    Environment.exit((code == .done ? .failed : code).rawValue)
  }

  static func run(_ words: [String], _ environment: [String: String], _ terminal: Terminal) -> ExitCode {
    do {
      guard let first = words.first else {
        terminal.note(overview)
        return .usage
      }
      if ["--help", "-h", "help"].contains(first) {
        if words.count > 1, let command = commands.first(where: { $0.name == words[1] }) {
          terminal.say(command.help)
        } else {
          terminal.say(overview)
        }
        return .done
      }
      if first == "--version" || first == "version" {
        terminal.say("xcache \(version)")
        return .done
      }
      // For packagers: what is installed beside the program, made of the tables that --help is made of.
      if first == "completions" { return try completions(Array(words.dropFirst()), terminal) }
      return try run(command(first), words.dropFirst(), environment, terminal)
    } catch let error as UsageError {
      terminal.note("xcache: \(error.message)\nTry: xcache \(hint(words))--help")
      return .usage
    } catch let failure as Failure {
      terminal.note("xcache: \(failure.message)")
      return failure.code
    } catch let error as PublishError {
      terminal.note("xcache: \(error.words)")
      return ExitCode(rawValue: error.exitCode) ?? .failed
    } catch let error as OriginError {
      terminal.note("xcache: \(error.words)")
      return ExitCode(rawValue: error.exitCode) ?? .failed
    } catch let error as SettingsError {
      terminal.note("xcache: \(error.words)")
      return .usage
    } catch {
      // StoreError, ClientError and SystemError say themselves what is wrong, where and what to do.
      terminal.note("xcache: \(error)")
      return .failed
    }
  }

  private static func run(
    _ command: Command, _ words: ArraySlice<String>, _ environment: [String: String], _ terminal: Terminal
  ) throws -> ExitCode {
    if words.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      terminal.say(command.help)
      return .done
    }
    let arguments = try Arguments(words, options: command.options + Command.common, environment: environment)
    return try command.run(arguments, terminal)
  }

  private static func completions(_ words: [String], _ terminal: Terminal) throws(UsageError) -> ExitCode {
    guard words.count == 1 else {
      throw UsageError("xcache completions takes one of bash, zsh, fish and man")
    }
    switch words[0] {
    case "bash": terminal.say(Completions(commands).bash)
    case "zsh": terminal.say(Completions(commands).zsh)
    case "fish": terminal.say(Completions(commands).fish)
    case "man": terminal.say(ManualPage(commands, version: version).text)
    case let other:
      throw UsageError("completions are made for bash, zsh and fish, and man is the page, not \(other)")
    }
    return .done
  }

  private static func command(_ name: String) throws(UsageError) -> Command {
    if let command = commands.first(where: { $0.name == name }) { return command }
    let nearest = Spelling.nearest(to: name, among: commands.map(\.name))
    throw UsageError("there is no command \(name)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
  }

  private static func hint(_ words: [String]) -> String {
    words.first.flatMap { word in commands.first { $0.name == word } }.map { $0.name + " " } ?? ""
  }

  private static var overview: String {
    let width = (commands.map(\.name.count).max() ?? 0) + 2
    let lines = commands.map { command in
      "  \(command.name)\(String(repeating: " ", count: width - command.name.count))\(command.summary)"
    }
    return """
      xcache publishes web builds to mobile apps, which open them offline.

      Usage: xcache COMMAND [OPTIONS]

      Commands:
      \(lines.joined(separator: "\n"))

      xcache COMMAND --help tells the options of one.
      Exit codes: 0 done, 1 failed, 2 usage, 3 refused (conflict, budget or check).
      """
  }
}
