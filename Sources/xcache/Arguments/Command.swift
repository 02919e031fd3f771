/// One verb of the command line.
struct Command: Sendable {
  let name: String
  /// What follows the name, e.g. `DIR…`.
  let operands: String
  /// One line.
  let summary: String
  /// Paragraphs below the options.
  let notes: String
  let options: [Option]
  let run: @Sendable (Arguments, Terminal) throws -> ExitCode

  /// The text that `--help` prints.
  var help: String {
    let words = operands.isEmpty ? "" : " \(operands)"
    var text = "\(summary)\n\nUsage: xcache \(name)\(words) [OPTIONS]\n\nOptions:\n"
    for option in options + Command.common { text += option.helpLines }
    return notes.isEmpty ? text : text + "\n\(notes)\n"
  }

  static let common: [Option] = [
    .flag("json", "print the result as one JSON document"),
    .flag("help", "print this text"),
  ]

  /// Options of every command that talks to an origin.
  static let remote: [Option] = [
    .value("server", "URL", environment: "XCACHE_SERVER", "the origin's address, e.g. http://127.0.0.1:8080"),
    .value(
      "token", "TOKEN", environment: "XCACHE_TOKEN",
      "the token that the origin gave; better in the environment"),
    .value("token-file", "FILE", environment: "XCACHE_TOKEN_FILE", "a file that holds the token"),
  ]

  /// Options that name a channel.
  static let channel: [Option] = [
    .value("app", "NAME", environment: "XCACHE_APP", "the app"),
    .value("channel", "NAME", environment: "XCACHE_CHANNEL", "the channel (default: online)"),
  ]
}

extension Option {
  fileprivate var helpLines: String {
    let words = "  \(short.map { "-\($0), " } ?? "")--\(name)\(value.map { " \($0)" } ?? "")"
    let more = environment.map { " [\($0)]" } ?? ""
    let gap =
      words.utf8.count < 27
      ? String(repeating: " ", count: 28 - words.utf8.count) : "\n" + String(repeating: " ", count: 28)
    return "\(words)\(gap)\(help)\(more)\n"
  }
}

extension [Option] {
  /// The same options; those that take a value and have no variable get one of their name: `--max-head`, XCACHE_MAX_HEAD.
  var orFromEnvironment: [Option] {
    map { option in
      guard option.value != nil, option.environment == nil else { return option }
      let variable = "XCACHE_" + option.name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined()
      return Option(
        name: option.name, short: option.short, value: option.value, help: option.help, environment: variable)
    }
  }
}

/// What a command tells the shell (DESIGN §7).
enum ExitCode: Int32, Sendable {
  case done = 0
  case failed = 1
  case usage = 2
  /// A conflict, a budget or a check said no.
  case refused = 3
}

/// A failure in words, with the exit code that goes with it.
struct Failure: Error {
  let message: String
  let code: ExitCode

  init(_ message: String, code: ExitCode = .failed) {
    self.message = message
    self.code = code
  }
}

/// One thing that a command line may say: `--name VALUE`, or `--name` alone.
struct Option: Sendable {
  let name: String
  /// One letter, for `-m`.
  let short: Character?
  /// What stands for the value in help; nil for a switch.
  let value: String?
  let help: String
  /// The environment variable that gives the value where the command line doesn't.
  let environment: String?

  static func value(
    _ name: String, _ value: String, short: Character? = nil, environment: String? = nil, _ help: String
  ) -> Option {
    Option(name: name, short: short, value: value, help: help, environment: environment)
  }

  static func flag(_ name: String, _ help: String) -> Option {
    Option(name: name, short: nil, value: nil, help: help, environment: nil)
  }
}
