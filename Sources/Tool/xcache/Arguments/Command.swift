import Values

/// A command.
struct Command: Sendable {
  let name: String
  /// The operands in the usage line, e.g. `DIR…`.
  let operands: String
  /// A one-line summary.
  let summary: String
  /// Useful command lines, without the program's name, each with what it does.
  let examples: [Example]
  /// The paragraphs after the options.
  let notes: String
  let options: [Option]
  let run: @Sendable (Arguments, Terminal) throws -> ExitCode

  init(
    name: String, operands: String = "", summary: String, examples: [Example], notes: String = "",
    options: [Option] = [], run: @escaping @Sendable (Arguments, Terminal) throws -> ExitCode
  ) {
    self.name = name
    self.operands = operands
    self.summary = summary
    self.examples = examples
    self.notes = notes
    self.options = options
    self.run = run
  }

  /// A command line, and what it does.
  struct Example: Sendable {
    /// The part after the command's name.
    let line: String
    let message: String

    init(_ line: String, _ message: String) {
      self.line = line
      self.message = message
    }
  }

  /// The text that `--help` prints.
  var help: String {
    let words = operands.isEmpty ? "" : " \(operands)"
    var text = "\(summary)\n\nUsage: xcache \(name)\(words) [OPTIONS]\n\nExamples:\n"
    for line in exampleLines { text += "  \(line)\n" }
    text += "\nOptions:\n"
    for option in options + Command.common { text += option.helpLines }
    return notes.isEmpty ? text : text + "\n\(notes)\n"
  }

  /// `xcache NAME …   # what it does`, with aligned descriptions; after a long line, the description is on the next one.
  var exampleLines: [String] {
    let lines = examples.map { "xcache \(name)\($0.line.isEmpty ? "" : " \($0.line)")" }
    let column = lines.map(\.count).filter { $0 <= 62 }.max() ?? 0
    return zip(lines, examples).flatMap { line, example in
      line.count > 62
        ? ["# \(example.message)", line]
        : ["\(line)\(String(repeating: " ", count: column - line.count))  # \(example.message)"]
    }
  }

  /// The options of every command.
  static let common: [Option] = [
    .flag("json", "print the result or the error as one JSON document"),
    .flag("quiet", short: "q", "print only results and errors, no progress or hints"),
    .flag("verbose", short: "v", "log each request to a server, and its duration, to standard error"),
    .flag("no-color", "disable colors, as NO_COLOR does"),
    .flag("help", short: "h", "show this help"),
  ]

  /// The options of every command that talks to an origin.
  static let remote: [Option] =
    signedIn + [
      .value(
        "id-token", "FILE", environment: "XCACHE_ID_TOKEN_FILE",
        "a CI job's ID token, traded for a token of 15 minutes; also XCACHE_ID_TOKEN"),
      certificates,
    ]

  /// The options of a command that talks to an origin with a token of its own.
  static let signedIn: [Option] = [
    .value("server", "URL", environment: "XCACHE_SERVER", "the origin's URL, such as http://127.0.0.1:8080"),
    .value(
      "token", "TOKEN", environment: "XCACHE_TOKEN",
      "API token (prefer XCACHE_TOKEN)"),
    .value("token-file", "FILE", environment: "XCACHE_TOKEN_FILE", "a file that contains the token"),
  ]

  /// The certificates to trust.
  static let certificates = Option.value(
    "cacert", "FILE", environment: "XCACHE_CACERT",
    "trust these certificates (PEM) instead of the system's, for a server with a private one")

  /// Prints a list without truncating it.
  static let all = Option.flag("all", "print the whole list, not only the first \(Listing.limit) lines")

  /// The options that select a channel.
  static let channel: [Option] = [
    .value("app", "NAME", environment: "XCACHE_APP", "the app"),
    .value("channel", "NAME", environment: "XCACHE_CHANNEL", "the channel (default: online)"),
  ]

  /// Whether it is about one app. `status` and lists without one are about all of them.
  func needsApp(_ operands: [String]) -> Bool {
    guard options.contains(where: { $0.environment == "XCACHE_APP" }) else { return false }
    return switch name {
    case "status", "acknowledge", "init": false
    case "channel": !["list", "default-app"].contains(operands.first ?? "list")
    default: true
    }
  }
}

extension Option {
  /// Whether `word` is this option, by its long or short name.
  func isWritten(_ word: String) -> Bool { word == "--\(name)" || short.map { word == "-\($0)" } ?? false }

  fileprivate var helpLines: String {
    let words = "  \(short.map { "-\($0), " } ?? "")--\(name)\(value.map { " \($0)" } ?? "")"
    let more = environment.map { " [\($0)]" } ?? ""
    let indent = String(repeating: " ", count: 28)
    let gap = words.utf8.count < 27 ? String(indent.dropFirst(words.utf8.count)) : "\n" + indent
    return "\(words)\(gap)\(Self.wrapped(help + more, indent))\n"
  }

  /// Wraps a text at 112 columns, including its indent.
  private static func wrapped(_ text: String, _ indent: String) -> String {
    var (lines, line) = ("", "")
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent.count + line.count + 1 + word.count > 112 {
        lines += line + "\n" + indent
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    return lines + line
  }
}

extension [Option] {
  /// The same options, where each with a value has an environment variable: by default, `--max-head` has XCACHE_MAX_HEAD.
  var orFromEnvironment: [Option] {
    map { option in
      guard option.value != nil, option.environment == nil else { return option }
      let variable = "XCACHE_" + option.name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
      return Option(
        name: option.name, short: option.short, value: option.value, help: option.help, environment: variable,
        choices: option.choices, acts: option.acts)
    }
  }
}

/// The exit codes of commands (docs/guide-commands.md, "Exit codes"), one per kind of failure.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case failed = 1
  case usage = 2
  case refused = 3

  /// A description for the help.
  var message: String {
    switch self {
    case .done: "success, or there was nothing to do"
    case .failed:
      "failure: not found, unreachable, not allowed, damaged or out of space; after a 5xx, try again later"
    case .usage:
      "usage: the command line, an environment variable, xcache.json or a saved profile is invalid"
    case .refused:
      "refused by a conflict, a freeze, a host list, a size limit or a check; nothing was changed"
    }
  }
}

/// A failure with its message and exit code.
struct Failure: Error {
  let message: String
  let code: ExitCode
  /// The error name for programs, in `--json`.
  let name: String

  init(_ message: String, code: ExitCode = .failed, name: String? = nil) {
    self.message = message
    self.code = code
    self.name = name ?? "\(code)"
  }
}

/// A command-line option: `--name VALUE`, or `--name` alone.
struct Option: Sendable {
  let name: String
  /// The letter of its short form, such as `-m`.
  let short: Character?
  /// The value's name in the help; nil for a switch.
  let value: String?
  let help: String
  /// The environment variable that has the value if the command line doesn't.
  let environment: String?
  /// The possible values, if they are few.
  var choices: [String] = []
  /// The first words of its subcommands, such as `create`, or an empty one for none; if empty, it belongs to all.
  var acts: [String] = []

  static func value(
    _ name: String, _ value: String, short: Character? = nil, environment: String? = nil,
    choices: [String] = [], _ help: String
  ) -> Option {
    Option(name: name, short: short, value: value, help: help, environment: environment, choices: choices)
  }

  static func flag(_ name: String, short: Character? = nil, _ help: String) -> Option {
    Option(name: name, short: short, value: nil, help: help, environment: nil)
  }

  /// Returns the same option, only for these subcommands.
  func only(_ acts: String...) -> Option {
    var option = self
    option.acts = acts
    return option
  }
}
