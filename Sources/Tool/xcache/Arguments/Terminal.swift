import Linux
import Synchronization
import System
import Values

/// The command's output: results go to standard output, everything else to standard error.
struct Terminal: Sendable {
  /// Whether standard error is a terminal, so that a progress line can be redrawn.
  private(set) var isInteractive: Bool
  private(set) var usesColour: Bool
  /// Whether only results and errors are printed.
  private(set) var isQuiet = false
  /// Whether requests to servers are logged.
  private(set) var isVerbose = false
  /// Completes the commands in messages.
  private var hints = Hints()
  private let sink: @Sendable ([UInt8], StandardStream) -> Void

  /// A terminal that passes its output to `sink`.
  init(
    isInteractive: Bool = false, usesColour: Bool = false,
    sink: @escaping @Sendable ([UInt8], StandardStream) -> Void
  ) {
    self.isInteractive = isInteractive
    self.usesColour = usesColour
    self.sink = sink
  }

  /// A terminal for the process's own streams.
  init(environment: [String: String]) {
    sink = { Self.write($0, to: $1) }
    isInteractive = StandardStream.error.isTerminal && environment["TERM"] != "dumb"
    // https://no-color.org: any non-empty value.
    usesColour =
      StandardStream.output.isTerminal && (environment["NO_COLOR"] ?? "").isEmpty
      && environment["TERM"] != "dumb"
  }

  /// Returns the terminal with the settings of --quiet, --verbose and --no-color.
  func configured(by arguments: Arguments) -> Terminal {
    var terminal = self
    terminal.isQuiet = arguments.has("quiet")
    terminal.isVerbose = arguments.has("verbose")
    if arguments.has("no-color") { terminal.usesColour = false }
    return terminal
  }

  /// Returns the terminal for a command line, whose options the commands in messages repeat.
  func configured(by hints: Hints) -> Terminal {
    var terminal = self
    terminal.hints = hints
    return terminal
  }

  /// Prints a line of the result.
  func say(_ line: String) { write(SafeText.escaped(hints.completed(line)) + "\n", to: .output) }

  /// Prints a list, truncated unless `all` is set, with how many lines are left out. The first `head` lines are headings
  /// and don't count.
  func say(list lines: [String], head: Int = 0, all: Bool) {
    for line in all ? lines : Listing.shown(lines, head: head, hint: Self.hint) { say(line) }
  }

  /// Prints a list as above, to standard error.
  func note(list lines: [String], all: Bool) {
    for line in all ? lines : Listing.shown(lines, hint: Self.hint) { note(line) }
  }

  private static let hint = "--all lists them"

  /// Prints a JSON document of the result on one line.
  func say(json document: JSONValue) {
    Self.hasDocument.store(true, ordering: .relaxed)
    write(SafeText.escaped(json: document.canonical) + [0x0a])
  }

  /// Prints a document of findings; for a failure, it also has the members of a problem document.
  func say(json document: JSONValue, _ failure: Failure?) {
    guard let failure, var members = document.object else { return say(json: document) }
    for member in Fault(failure).json.object?.members ?? [] { members[member.key] = member.value }
    say(json: .object(members))
  }

  /// Prints the problem document of a failure on one line, unless a document was printed that describes it.
  func say(problem document: JSONValue) {
    if !Self.hasDocument.load(ordering: .relaxed) {
      write(SafeText.escaped(json: document.canonical) + [0x0a])
    }
  }

  /// Whether a document was printed. The whole process shares one standard output.
  private static let hasDocument = Atomic<Bool>(false)

  /// Prints bytes of the result unchanged.
  func write(_ bytes: [UInt8]) { sink(bytes, .output) }

  /// Prints an error, or a message of a running server.
  func note(_ line: String) {
    write((isInteractive ? "\r\u{1B}[K" : "") + Self.safe(hints.completed(line)) + "\n", to: .error)
  }

  /// Prints a question; the answer follows on the same line.
  func ask(_ question: String) { write(Self.safe(question), to: .error) }

  /// Asks a question that y or yes confirms; nil if there is no terminal to ask on.
  func confirms(_ question: String) throws(SystemError) -> Bool? {
    guard StandardInput.isTerminal else { return nil }
    ask("\(question) [y/N] ")
    let answer = try StandardInput.line(limit: 100)?.lowercased().filter { !$0.isWhitespace }
    return answer == "y" || answer == "yes"
  }

  private static func safe(_ text: String) -> String { SafeText.escaped(SafeText.withoutTokens(text)) }

  /// Prints a helpful message, unless --quiet was given.
  func remark(_ line: String) { if !isQuiet { note(line) } }

  /// Draws the progress line if the terminal is interactive.
  func progress(_ line: String) {
    if isInteractive, !isQuiet { write("\r\u{1B}[K\(Self.safe(line))", to: .error) }
  }

  /// Clears the progress line.
  func endProgress() {
    if isInteractive, !isQuiet { write("\r\u{1B}[K", to: .error) }
  }

  /// Why the result couldn't be written completely, or nil. A closed pipe (`xcache log | head`) doesn't count, since its reader
  /// wants no more.
  static var lostResult: SystemError? { unwrittenResult.flatMap { $0.code == .brokenPipe ? nil : $0 } }

  /// As above, but including a closed pipe, for a result that can't be printed again.
  static var unwrittenResult: SystemError? {
    let code = resultError.load(ordering: .relaxed)
    return code == 0 ? nil : SystemError("write", on: "standard output", code: Errno(rawValue: code))
  }

  /// The errno of a failed write to standard output, or 0. The whole process shares one standard output.
  private static let resultError = Atomic<Int32>(0)

  func colour(_ text: String, _ colour: Colour) -> String {
    usesColour ? SafeText.coloured(text, colour) : text
  }

  enum Colour: Int, CaseIterable {
    case bold = 1
    case red = 31
    case green = 32
    case yellow = 33
  }

  private func write(_ text: String, to stream: StandardStream) { sink(Array(text.utf8), stream) }

  private static func write(_ bytes: [UInt8], to stream: StandardStream) {
    do throws(SystemError) {
      try stream.write(bytes)
    } catch {
      if stream == .output { resultError.store(error.code.rawValue, ordering: .relaxed) }
    }
  }
}
