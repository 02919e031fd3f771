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
