import Manifests
import Synchronization
import System

/// Where words go: results to standard output, everything else to standard error.
struct Terminal: Sendable {
  /// Whether standard error is a terminal, where a progress line may be drawn over itself.
  let isInteractive: Bool
  let usesColour: Bool
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

  /// Prints a line of the result.
  func say(_ line: String) { write(line + "\n", to: .output) }

  /// Prints a document of the result, as one line.
  func say(json document: JSONValue) { write(document.canonical + [0x0a]) }

  /// Prints bytes of the result as they are.
  func write(_ bytes: [UInt8]) { sink(bytes, .output) }

  /// Prints a remark or an error.
  func note(_ line: String) {
    write((isInteractive ? "\r\u{1B}[K" : "") + line + "\n", to: .error)
  }

  /// Draws the progress line; nothing where nobody watches.
  func progress(_ line: String) {
    if isInteractive { write("\r\u{1B}[K\(line)", to: .error) }
  }

  /// Takes the progress line away.
  func endProgress() {
    if isInteractive { write("\r\u{1B}[K", to: .error) }
  }

  /// What kept a result from being written whole; nil: nothing did.
  static var lostResult: SystemError? {
    let code = resultError.load(ordering: .relaxed)
    return code == 0 ? nil : SystemError("write", on: "standard output", code: Errno(rawValue: code))
  }

  /// The errno of a write to standard output that failed; 0: none did. The whole process has one standard output.
  private static let resultError = Atomic<Int32>(0)

  func colour(_ text: String, _ colour: Colour) -> String {
    usesColour ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }

  enum Colour: Int {
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
      // A reader that went away (`xcache log | head`) wants no more.
      if stream == .output, error.code != .brokenPipe {
        resultError.store(error.code.rawValue, ordering: .relaxed)
      }
    }
  }
}
