import System

@testable import xcache

/// A terminal that records its output.
final class CapturedTerminal: Sendable {
  private let written = Locked<(output: [UInt8], error: [UInt8])>(([], []))

  /// A terminal that appears interactive and in colour, or like a pipe.
  func terminal(isInteractive: Bool = false, usesColour: Bool = false) -> Terminal {
    Terminal(isInteractive: isInteractive, usesColour: usesColour) { [written] bytes, stream in
      written.withLock { if stream == .output { $0.output += bytes } else { $0.error += bytes } }
    }
  }

  var output: String { String(decoding: written.withLock { $0.output }, as: UTF8.self) }
  var error: String { String(decoding: written.withLock { $0.error }, as: UTF8.self) }

  /// Runs a whole command line; the environment is empty by default.
  static func run(_ words: [String], environment: [String: String] = [:]) -> (
    code: ExitCode, output: String, error: String
  ) {
    let captured = CapturedTerminal()
    let code = XCache.run(words, environment, captured.terminal())
    return (code, captured.output, captured.error)
  }
}
