/// xcache(1), in the language of man(7), made of what `--help` prints.
struct ManualPage {
  private let commands: [Command]
  private let version: String

  init(_ commands: [Command], version: String) {
    self.commands = commands
    self.version = version
  }

  var text: String {
    var lines = [
      ".TH XCACHE 1 \"\" \"xcache \(Self.escaped(version))\" \"User Commands\"", ".SH NAME",
      "xcache \\- publish web builds to mobile apps, which open them offline", ".SH SYNOPSIS",
      ".B xcache", ".I COMMAND", "[\\fIOPTIONS\\fR]", ".SH DESCRIPTION",
      "One program is the origin server and every command that talks to it.", ".SH COMMANDS",
    ]
    for command in commands { lines += section(command) }
    lines += [
      ".SH ENVIRONMENT", "Each option that names a variable takes its value from there where it isn't given.",
    ]
    lines += [
      ".SH FILES", ".TP", ".I xcache.json", "Settings of a project, in the working folder or one above it.",
    ]
    lines += [".SH EXIT STATUS", ".TP", ".B 0", "done", ".TP", ".B 1", "failed", ".TP", ".B 2", "usage"]
    lines += [".TP", ".B 3", "refused: conflict, budget or check"]
    return lines.joined(separator: "\n")
  }

  private func section(_ command: Command) -> [String] {
    let operands = command.operands.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    var lines = [".SS xcache \(Self.escaped(command.name))", Self.line(command.summary + "."), ".PP"]
    let words = operands.isEmpty ? "" : " \(Self.escaped(operands))"
    lines.append("\\fBxcache \(Self.escaped(command.name))\\fR\(words) [\\fIOPTIONS\\fR]")
    for option in command.options + Command.common {
      let short = option.short.map { "\\fB\\-\($0)\\fR, " } ?? ""
      let value = option.value.map { " \\fI\(Self.escaped($0))\\fR" } ?? ""
      lines += [".TP", "\(short)\\fB\\-\\-\(Self.escaped(option.name))\\fR\(value)"]
      lines.append(Self.line(option.help + (option.environment.map { " [\($0)]" } ?? "")))
    }
    if !command.notes.isEmpty {
      lines.append(".PP")
      lines += command.notes.split(separator: "\n").map { Self.line(String($0)) }
    }
    return lines
  }

  /// A line of text: a dot or an apostrophe at its beginning would be a request of man(7).
  private static func line(_ text: String) -> String {
    let text = text.drop { $0 == " " }
    return (text.first == "." || text.first == "'" ? "\\&" : "") + escaped(String(text))
  }

  private static func escaped(_ text: String) -> String {
    text.map { character in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "…": "..."
      default: String(character)
      }
    }.joined()
  }
}
