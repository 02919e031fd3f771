/// xcache(1) in the format of man(7), generated from the texts of `--help`.
struct ManualPage {
  private let groups: [(title: String, commands: [Command])]
  private let version: String

  init(_ groups: [(title: String, commands: [Command])], version: String) {
    self.groups = groups
    self.version = version
  }

  var text: String {
    var lines = [
      ".TH XCACHE 1 \"\" \"xcache \(Self.escaped(version))\" \"User Commands\"", ".SH NAME",
      "xcache \\- publish web builds to mobile apps, which open them offline", ".SH SYNOPSIS",
      ".B xcache", ".I COMMAND", "[\\fIOPTIONS\\fR]", ".SH DESCRIPTION",
      "xcache is both the origin server and its command-line client.",
    ]
    for group in groups {
      lines.append(".SH \(Self.escaped(group.title.uppercased()))")
      for command in group.commands { lines += section(command) }
    }
    lines += [
      ".SH ENVIRONMENT", "An option with a variable takes its value from it if the option isn't given.",
    ]
    for variable in variables {
      lines += [".TP", ".B \(Self.escaped(variable.name))", Self.line(variable.message)]
    }
    lines += [
      ".SH FILES", ".TP", ".I xcache.json", "A project's settings, in the current folder or one above it.",
    ]
    lines += [
      ".TP", ".I ~/.config/xcache/servers.json",
      "The servers and tokens saved by 'xcache login'; in XDG_CONFIG_HOME if that is set. Only its owner can "
        + "read it.",
    ]
    lines.append(".SH EXIT STATUS")
    for code in ExitCode.allCases { lines += [".TP", ".B \(code.rawValue)", Self.line(code.message)] }
    return lines.joined(separator: "\n")
  }

  /// The environment variables and what uses them, those of many commands first.
  private var variables: [(name: String, message: String)] {
    var found: [String: (option: Option, commands: [String])] = [:]
    for command in groups.flatMap(\.commands) {
      for option in command.options {
        guard let name = option.environment else { continue }
        var known = found[name] ?? (option, [])
        if known.commands.last != command.name { known.commands.append(command.name) }
        found[name] = known
      }
    }
    let sorted = found.sorted { ($1.value.commands.count, $0.key) < ($0.value.commands.count, $1.key) }
    return sorted.map { name, use in
      let place = use.commands.count > 3 ? "many commands" : use.commands.joined(separator: ", ")
      return (name, "\(use.option.help) (--\(use.option.name) of \(place))")
    } + Self.others
  }

  /// Variables that don't correspond to an option.
  private static let others = [
    ("NO_COLOR", "if it isn't empty: disable colors, as --no-color does"),
    ("HOME, XDG_CONFIG_HOME", "where servers.json is"),
    ("XDG_CACHE_HOME", "where publish keeps hashes of files"),
    (
      "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL",
      "an S3-compatible store's keys, region and address"
    ),
  ]

  private func section(_ command: Command) -> [String] {
    let operands = command.operands.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    var lines = [".SS xcache \(Self.escaped(command.name))", Self.line(command.summary + "."), ".PP"]
    let words = operands.isEmpty ? "" : " \(Self.escaped(operands))"
    lines.append("\\fBxcache \(Self.escaped(command.name))\\fR\(words) [\\fIOPTIONS\\fR]")
    lines.append(contentsOf: [".PP", ".EX"] + command.exampleLines.map(Self.line) + [".EE"])
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

  /// Returns a line of text, escaping a leading dot or apostrophe, which would make it a request of man(7).
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
