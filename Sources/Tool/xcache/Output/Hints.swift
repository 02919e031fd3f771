import Manifests
import Values

/// Completes the commands that messages name, so that they can be pasted: a command in backticks gets the server, app and channel
/// that this one was given by options. What comes from the environment, from xcache.json or from `login` needs no words.
struct Hints: Sendable {
  /// The options to repeat, with their values.
  private var given: [(option: String, value: String)] = []
  /// The folder that this command was given, for those that check it.
  private var folder: String?
  /// The channel that `promote` releases to, where its rollouts are, and what it schedules is listed.
  private var target: String?
  /// `prefetch` or `policy`, whose documents have versions and a log of their own.
  private var document: String?

  /// No hint needs anything.
  init() {}

  /// Reads a whole command line, without the program's name. An invalid one yields what can be read of it.
  init(_ words: [String]) {
    guard let verb = words.firstIndex(where: { !$0.hasPrefix("-") }),
      let command = XCache.commands.first(where: { $0.name == words[verb] })
    else { return }
    let options = command.options + Command.common
    let rest = words[..<verb] + words[(verb + 1)...]
    guard let arguments = try? Arguments(rest, options: options, environment: [:]) else { return }
    if ["prefetch", "policy"].contains(command.name) { document = command.name }
    if ["check", "publish"].contains(command.name) {
      folder = arguments.operands.first
      // Without it, references are checked in another way.
      if folder != nil, let base = arguments.all("base-url").first { given.append(("base-url", base)) }
    }
    if command.name == "promote" { target = arguments.all("to").first }
    for option in ["app", "channel", "server", "cacert", "token-file", "id-token", "data"] {
      // A channel that is copied from is the one whose versions are in question.
      // With --if-version, those of the other one.
      let copied = arguments.isGiven("if-version") ? "to" : "from"
      let value =
        arguments.all(option).first
        ?? (option == "channel" && command.name == "promote" ? arguments.all(copied).first : nil)
      if let value { given.append((option, value)) }
    }
  }

  /// Returns the text with every command in it completed.
  func completed(_ text: String) -> String {
    guard !given.isEmpty || document != nil || folder != nil, text.utf8.contains(UInt8(ascii: "`")) else {
      return text
    }
    return text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
      index % 2 == 1 ? line(String(part)) : String(part)
    }.joined(separator: "`")
  }

  private func line(_ line: String) -> String {
    let line = line == "xcache log" ? document.map { "xcache \($0) log" } ?? line : line
    let words = line.split(separator: " ").map(String.init)
    guard words.count > 1, words[0] == "xcache",
      let command = XCache.commands.first(where: { $0.name == words[1] })
    else { return line }
    let act = words.count > 2 ? words[2] : ""
    // A message that names the app names the channel as well, unless it is the default one; and that may not be the default here.
    let namesPlace = words.contains("--app")
    let missing = given.filter { option, value in
      Self.isRepeated(option, command, act)
        && !(namesPlace && option == "channel" && value != ChannelName.online.text)
        && !words.contains { $0 == "--\(option)" || $0.hasPrefix("--\(option)=") }
    }
    let operand =
      command.name == "check" && words.allSatisfy({ $0.hasPrefix("-") || words.prefix(2).contains($0) })
      ? folder : nil
    return line + (operand.map { " " + ShellWord.quoted($0) } ?? "")
      + missing.map { option, value in
        let value =
          option == "channel" && ["schedule", "rollout"].contains(command.name) ? target ?? value : value
        return " --\(option) \(ShellWord.quoted(value))"
      }.joined()
  }

  /// Whether a command is about what an option of another one names.
  private static func isRepeated(_ name: String, _ command: Command, _ act: String) -> Bool {
    guard
      let option = command.options.first(where: {
        $0.name == name && ($0.acts.isEmpty || $0.acts.contains(act))
      })
    else { return false }
    return switch name {
    // Elsewhere they restrict what the command is about, such as the copies of `mirror`.
    case "app", "channel":
      option.environment != nil && !(command.name == "channel" && ["list", "default-app"].contains(act))
    case "base-url": command.name == "check"
    // `restore` creates another folder, and `backup` names its own.
    case "data": ["doctor", "gc", "token"].contains(command.name)
    default: true
    }
  }
}
