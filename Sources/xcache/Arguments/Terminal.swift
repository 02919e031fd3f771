import Manifests
import Synchronization
import System

/// Where words go: results to standard output, everything else to standard error.
struct Terminal: Sendable {
  /// Whether standard error is a terminal, where a progress line may be drawn over itself.
  private(set) var isInteractive: Bool
  private(set) var usesColour: Bool
  /// Whether nothing but results and errors is printed.
  private(set) var isQuiet = false
  /// Whether it is said what is asked of servers.
  private(set) var isVerbose = false
  private let sink: @Sendable ([UInt8], StandardStream) -> Void

  /// A terminal of somebody's own, who takes what is written.
  init(
    isInteractive: Bool = false, usesColour: Bool = false,
    sink: @escaping @Sendable ([UInt8], StandardStream) -> Void
  ) {
    self.isInteractive = isInteractive
    self.usesColour = usesColour
    self.sink = sink
  }

  /// The process's own streams.
  init(environment: [String: String]) {
    sink = { Self.write($0, to: $1) }
    isInteractive = StandardStream.error.isTerminal && environment["TERM"] != "dumb"
    // https://no-color.org: any value that isn't empty.
    usesColour =
      StandardStream.output.isTerminal && (environment["NO_COLOR"] ?? "").isEmpty
      && environment["TERM"] != "dumb"
  }

  /// The same with what --quiet, --verbose and --no-color say.
  func told(by arguments: Arguments) -> Terminal {
    var terminal = self
    terminal.isQuiet = arguments.has("quiet")
    terminal.isVerbose = arguments.has("verbose")
    if arguments.has("no-color") { terminal.usesColour = false }
    return terminal
  }

  /// Prints a line of the result.
  func say(_ line: String) { write(SafeText.escaped(line) + "\n", to: .output) }

  /// Prints a list's lines; of a long one the first, and how many more there are.
  /// - Parameters:
  ///   - head: lines that are above it and don't count.
  ///   - all: whether it was asked for to the end.
  func say(list lines: [String], head: Int = 0, all: Bool) {
    for line in all ? lines : Listing.shown(lines, head: head, hint: Self.hint) { say(line) }
  }

  /// The same as errors.
  func note(list lines: [String], all: Bool) {
    for line in all ? lines : Listing.shown(lines, hint: Self.hint) { note(line) }
  }

  private static let hint = "--all lists them"

  /// Prints a document of the result, as one line.
  func say(json document: JSONValue) {
    Self.hasDocument.store(true, ordering: .relaxed)
    write(SafeText.escaped(json: document.canonical) + [0x0a])
  }

  /// Prints a document of what was found; where that is a failure, programs find in it what a problem document says.
  func say(json document: JSONValue, _ failure: Failure?) {
    guard let failure, var members = document.object else { return say(json: document) }
    for member in Fault(failure).json.object?.members ?? [] { members[member.key] = member.value }
    say(json: .object(members))
  }

  /// Prints why there is no result, as one line; nothing where a document was printed that tells it.
  func say(problem document: JSONValue) {
    if !Self.hasDocument.load(ordering: .relaxed) {
      write(SafeText.escaped(json: document.canonical) + [0x0a])
    }
  }

  /// Whether a document was printed. The whole process has one standard output.
  private static let hasDocument = Atomic<Bool>(false)

  /// Prints bytes of the result as they are.
  func write(_ bytes: [UInt8]) { sink(bytes, .output) }

  /// Prints an error, or what a server says while it runs.
  func note(_ line: String) {
    write((isInteractive ? "\r\u{1B}[K" : "") + Self.safe(line) + "\n", to: .error)
  }

  /// Prints a question, whose answer follows on its line.
  func ask(_ question: String) { write(Self.safe(question), to: .error) }

  private static func safe(_ text: String) -> String { SafeText.escaped(SafeText.withoutTokens(text)) }

  /// Prints what is good to know, unless --quiet says that it isn't.
  func remark(_ line: String) { if !isQuiet { note(line) } }

  /// Draws the progress line; nothing where nobody watches.
  func progress(_ line: String) {
    if isInteractive, !isQuiet { write("\r\u{1B}[K\(Self.safe(line))", to: .error) }
  }

  /// Takes the progress line away.
  func endProgress() {
    if isInteractive, !isQuiet { write("\r\u{1B}[K", to: .error) }
  }

  /// What kept a result from being written whole; nil: nothing did, but for a reader that went away (`xcache log | head`) and
  /// wants no more.
  static var lostResult: SystemError? { unwrittenResult.flatMap { $0.code == .brokenPipe ? nil : $0 } }

  /// The same with a reader that went away: it has nothing of a result that nobody can have twice.
  static var unwrittenResult: SystemError? {
    let code = resultError.load(ordering: .relaxed)
    return code == 0 ? nil : SystemError("write", on: "standard output", code: Errno(rawValue: code))
  }

  /// The errno of a write to standard output that failed; 0: none did. The whole process has one standard output.
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
