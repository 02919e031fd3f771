import BuildCheck
import HTTPClient
import Manifests
import OriginAPI
import System
import Values

/// A parsed command line, checked against the command's options.
struct Arguments: Sendable {
  /// The words that aren't options, in order.
  private(set) var operands: [String] = []
  private var values: [String: [String]] = [:]
  /// The environment variables.
  let environment: [String: String]
  private let options: [Option]
  /// Whether the command needs an app, for messages that name all that is missing.
  var needsApp = false
  /// Called with each request to a server if --verbose was given.
  var trace: (@Sendable (String) -> Void)?
  /// Called with messages to show at once: warnings, or that a request is retried.
  var remark: @Sendable (String) -> Void = { _ in }

  /// Parses a command line.
  /// - Throws: `UsageError` for an unknown option, a missing value, or a switch with a value.
  init(_ words: some Sequence<String>, options: [Option], environment: [String: String]) throws(UsageError) {
    self.options = options
    self.environment = environment
    try read(words)
    for (name, given) in values where name != "token" {
      for text in given { try Self.refuseToken(text, in: "--\(name)") }
    }
    for text in operands { try Self.refuseToken(text, in: "an argument") }
  }

  private mutating func read(_ words: some Sequence<String>) throws(UsageError) {
    var rest = Array(words)[...]
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        return
      }
      guard word.count > 1, word.hasPrefix("-") else {
        operands.append(word)
        continue
      }
      try take(word, &rest)
    }
  }

  /// Rejects tokens in other places, since they would be repeated in messages, request paths and server logs.
  private static func refuseToken(_ text: String, in place: String) throws(UsageError) {
    guard let id = SafeText.tokenID(in: text) else { return }
    throw UsageError(
      "\(place) is a token, whose id is \(id); give a name or an id there. Tokens are read from XCACHE_TOKEN, --token-file or "
        + "`xcache login`; if others may have seen this one, revoke it: `xcache token revoke \(id)`")
  }

  private mutating func take(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let equals = word.hasPrefix("--") ? word.firstIndex(of: "=") : nil
    let written = equals.map { String(word[..<$0]) } ?? word
    guard let option = option(written) else {
      // `rollback -1`
      let steps = written.dropFirst()
      let isSteps = Int(steps) ?? 0 > 0 && options.contains { $0.name == "steps" }
      throw UsageError(
        "unknown option \(written)\(isSteps ? "; did you mean --steps \(steps)?" : suggestion(for: written))")
    }
    let attached = equals.map { String(word[word.index(after: $0)...]) }
    guard let placeholder = option.value else {
      if attached != nil { throw UsageError("--\(option.name) doesn't take a value") }
      values[option.name, default: []].append("")
      return
    }
    guard let value = attached ?? rest.popFirst() else {
      throw UsageError("--\(option.name) needs a value: --\(option.name) \(placeholder)")
    }
    // In `--app --json`, the name is missing; a value that begins like this must be given with an equals sign.
    if attached == nil, value.hasPrefix("--"), self.option(value) != nil {
      throw UsageError(
        "--\(option.name) needs a value, but \(value) is an option: --\(option.name) \(placeholder)")
    }
    // An empty value usually comes from an unset variable in a script.
    if value.isEmpty, ["DIR", "FILE", "FROM", "TO"].contains(where: placeholder.hasPrefix) {
      throw UsageError("--\(option.name) has an empty value; it takes \(placeholder)")
    }
    values[option.name, default: []].append(value)
  }

  private func option(_ written: String) -> Option? {
    written.hasPrefix("--")
      ? options.first { "--\($0.name)" == written }
      : options.first { option in option.short.map { "-\($0)" == written } ?? false }
  }

  private func suggestion(for written: String) -> String {
    Spelling.suggestion(for: written, among: options.map { "--\($0.name)" })
  }

  /// Whether the command has an option.
  func takes(_ name: String) -> Bool { options.contains { $0.name == name } }

  /// Whether a switch was given.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// Whether an option was given on the command line.
  func isGiven(_ name: String) -> Bool { values[name] != nil }

  /// Returns every value of an option, in order.
  func all(_ name: String) -> [String] { values[name] ?? [] }

  /// Returns the value of an option, from the command line or its environment variable.
  /// - Throws: `UsageError` if it was given twice.
  func value(_ name: String) throws(UsageError) -> String? {
    let given = all(name)
    if given.count > 1 { throw UsageError("--\(name) was given \(given.count) times") }
    if let value = given.first { return value }
    guard let variable = options.first(where: { $0.name == name })?.environment else { return nil }
    guard let text = environment[variable], !text.isEmpty else { return nil }
    if name != "token" { try Self.refuseToken(text, in: variable) }
    return text
  }

  /// Returns the source of an option's value for messages: `--server`, or its environment variable.
  func source(_ name: String) -> String {
    guard all(name).isEmpty, let variable = options.first(where: { $0.name == name })?.environment else {
      return "--\(name)"
    }
    return variable
  }

  /// Returns every value of a repeatable option, from the command line or its environment variable, where they are separated by
  /// spaces or commas.
  func list(_ name: String) throws(UsageError) -> [String] {
    let given = all(name)
    if !given.isEmpty { return given }
    return try value(name)?.split { $0 == "," || $0.isWhitespace }.map(String.init) ?? []
  }

  /// Returns an option's value as an integer within `range`.
  func number(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = try value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw UsageError(
        "\(source(name)) \(text): expected an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns the operands if there are exactly as many as `names`.
  func operands(_ names: String...) throws(UsageError) -> [String] {
    if operands.count < names.count { throw UsageError("\(names[operands.count]) is missing") }
    if operands.count > names.count {
      throw UsageError(
        "unexpected argument: \(operands[names.count])\(meantOption(by: operands[names.count...]))")
    }
    return operands
  }

  /// The option that words too many were probably meant for.
  private func meantOption(by extra: ArraySlice<String>) -> String {
    func has(_ name: String) -> Bool {
      let act = operands.first ?? ""
      return !isGiven(name)
        && options.contains { $0.name == name && ($0.acts.isEmpty || $0.acts.contains(act)) }
    }
    if operands.count == 2, extra.count == 2, has("from"), has("to") {
      return "; did you mean --from \(operands[0]) --to \(operands[1])?"
    }
    // A number, a percentage or a time is no name of anything.
    guard extra.count == 1, let word = extra.first, word.first?.isNumber == false else { return "" }
    // What such commands are about: a folder to write, a bundle, an app, a data folder.
    guard let option = ["to", "bundle", "app", "data"].first(where: has), !has("from") else { return "" }
    return "; did you mean --\(option) \(word)?"
  }
}

extension Arguments {
  /// Returns an HTTP client that traces and reports retries as these arguments specify. `authorities` is a PEM file of trusted
  /// certificates; nil means the system's.
  func http(authorities: String? = nil) -> HTTPClient {
    HTTPClient(authorities: authorities, trace: trace, retrying: remark)
  }

  /// Returns the contents of a file.
  static func file(_ path: String, limit: Int = 16 << 20) throws -> [UInt8] {
    // Reading a folder or a pipe gives misleading errors; neither is a document.
    if let kind = try Kernel.status(path)?.kind, kind == .folder {
      throw Failure("\(path) is a folder, not a file", name: "no-files")
    }
    guard let bytes = try DurableFile.read(path, limit: limit) else {
      throw Failure("no such file: \(path)", name: "no-files")
    }
    return bytes
  }

  /// Returns an option's text for people, checked before anything is sent.
  func text(_ name: String, _ rule: HumanText.Rule = .message) throws(UsageError) -> String? {
    guard let text = try value(name) else { return nil }
    try Self.check(text, rule, in: source(name))
    return text
  }

  static func check(_ text: String, _ rule: HumanText.Rule, in place: String) throws(UsageError) {
    if let problem = HumanText.problem(of: text, rule) { throw UsageError("\(place): \(problem)") }
    guard let secret = SecretFile.secrets(in: Array(text.utf8), isText: true).first else { return }
    throw UsageError(
      "\(place) contains \(secret.noun), and what is written there stays in the log and in the audit trail for good; leave it out"
    )
  }

  /// Returns the reason to override a freeze; nil if there is none.
  func breakGlass() throws(UsageError) -> String? {
    guard let reason = try text("break-glass") else { return nil }
    guard !reason.isEmpty else {
      throw UsageError("--break-glass needs a reason, which is recorded: --break-glass REASON")
    }
    return reason
  }

  /// Returns the time of an option, which is to come: at most a year ahead, and written with its offset from UTC.
  func time(ahead name: String, now: Int64 = Clock.unixMilliseconds()) throws(UsageError) -> Moment? {
    guard let text = try value(name) else { return nil }
    let example = "such as \(Timestamp.text((now / 3_600_000 + 24) * 3_600_000).prefix(16))+08:00"
    guard let time = Timestamp.parse(text) else {
      throw UsageError(
        "--\(name) \(text) is not a time with an offset from UTC: write date, time and offset, \(example)")
    }
    guard time > now else {
      throw UsageError(
        "--\(name) \(text) is in the past: it is \(Timestamp.words(now)) now; give a later time, \(example)")
    }
    guard time - now <= 366 * 86_400_000 else {
      throw UsageError("--\(name) \(text) is more than a year ahead; give an earlier time, \(example)")
    }
    return Moment(milliseconds: time)
  }

  /// Returns the time that is `90s`, `30m`, `6h` or `2d` from now.
  func moment(ahead name: String) throws(UsageError) -> Instant? {
    guard let text = try value(name) else { return nil }
    guard let seconds = Self.seconds(of: text, in: "smhd") else {
      throw UsageError("--\(name) \(text) is not a duration; expected one such as 30m, 6h or 2d")
    }
    return Instant(seconds: Clock.unixMilliseconds() / 1000 + seconds)
  }

  /// Parses a duration such as `90s`, `30m`, `6h`, `2d` or `4w` to seconds; nil for anything else.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - units: The allowed units.
  ///   - range: The allowed numbers before the unit.
  static func seconds(of text: String, in units: String, _ range: ClosedRange<Int64> = 1...100_000) -> Int64?
  {
    let lengths: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    guard text.first != "+", let unit = text.last, units.contains(unit), let length = lengths[unit],
      let count = Int64(text.dropLast()), range.contains(count)
    else { return nil }
    return count * length
  }
}

/// An invalid command line; exit code 2.
struct UsageError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}
