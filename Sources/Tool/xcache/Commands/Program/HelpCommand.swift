import Manifests

/// `xcache help`: all commands, or one.
enum HelpCommand {
  static let command = Command(
    name: "help", operands: "[COMMAND]", summary: "list all commands, or show help for one",
    examples: [
      .init("", "all commands"), .init("publish", "the same as xcache publish --help"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    var text = overview
    if let name = arguments.operands.first {
      let command = try XCache.command(name)
      try command.checkActs(Array(arguments.operands.dropFirst()))
      text = command.help
    }
    if arguments.has("json") { terminal.say(json: ["help": .string(text)]) } else { terminal.say(text) }
    return .done
  }

  static var overview: String {
    let width = (XCache.commands.map(\.name.count).max() ?? 0) + 2
    let groups = XCache.groups.map { group in
      "\(group.title):\n"
        + group.commands.map { command in
          "  \(command.name)\(String(repeating: " ", count: width - command.name.count))\(command.summary)"
        }.joined(separator: "\n")
    }
    let codes = ExitCode.allCases.map { "\($0.rawValue)  \($0.message)" }
    return """
      xcache publishes web builds to mobile apps, which open them offline.

      Usage: xcache COMMAND [OPTIONS]

      \(groups.joined(separator: "\n\n"))

      Run 'xcache COMMAND --help' for its options and examples.
      Exit codes:
      \(codes.joined(separator: "\n"))
      """
  }
}

/// `xcache version`: prints the version.
enum VersionCommand {
  static let command = Command(
    name: "version", summary: "print the version",
    examples: [.init("--json", "as JSON; xcache -V is the short form")],
    run: { arguments, terminal in
      _ = try arguments.operands()
      if arguments.has("json") {
        terminal.say(json: ["name": "xcache", "version": .string(XCache.version)])
      } else {
        terminal.say("xcache \(XCache.version)")
      }
      return .done
    })
}

/// `xcache completions`: prints shell completions and the manual page, generated from the same tables as `--help`.
enum CompletionsCommand {
  static let command = Command(
    name: "completions", operands: "bash | zsh | fish | man",
    summary: "print shell completions or the manual page",
    examples: [
      .init("bash > /etc/bash_completion.d/xcache", "for all users of this machine"),
      .init("man | man -l -", "show the manual page"),
    ],
    run: { arguments, terminal in
      let kind = try arguments.operands("bash, zsh, fish or man")[0]
      let commands = XCache.commands
      let text =
        switch kind {
        case "bash": Completions(commands).bash
        case "zsh": Completions(commands).zsh
        case "fish": Completions(commands).fish
        default: ManualPage(XCache.groups, version: XCache.version).text
        }
      if arguments.has("json") {
        terminal.say(json: ["kind": .string(kind), "text": .string(text)])
      } else {
        terminal.say(text)
      }
      return .done
    })
}
