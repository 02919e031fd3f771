import System
import Values

/// Counts sign-ins and trades, and logs those that are refused: one line each, with the code and the words, never a secret. Anyone may
/// send what is refused, so there is a limit of lines a minute; the next one after it says how many were left out.
final class SignInLog: Sendable {
  /// What is counted.
  enum Act: String, CaseIterable {
    /// Of people, by the console or for a command line.
    case signIn
    /// Of jobs.
    case trade
  }

  private struct State {
    var counts: [Act: [String: Int]] = [.signIn: ["ok": 0], .trade: ["ok": 0]]
    /// When the minute began, in monotonic nanoseconds.
    var minute: UInt64 = 0
    var lines = 0
    var left = 0
  }

  private let state = Locked(State())
  private let log: @Sendable (String) -> Void

  static let linesPerMinute = 30

  init(log: @escaping @Sendable (String) -> Void) { self.log = log }

  func noteSuccess(_ act: Act) { state.withLock { $0.counts[act, default: [:]]["ok", default: 0] += 1 } }

  /// Notes a refusal.
  /// - Parameters:
  ///   - code: one of a fixed set: it becomes a label.
  ///   - words: may quote what came from outside, but no secret.
  func noteRefusal(
    _ act: Act, _ code: String, _ words: String, from peer: IPAddress,
    now: UInt64 = Clock.monotonicNanoseconds()
  ) {
    let left: Int? = state.withLock { state in
      state.counts[act, default: [:]][code, default: 0] += 1
      if state.minute == 0 || now &- state.minute >= 60_000_000_000 { (state.minute, state.lines) = (now, 0) }
      guard state.lines < Self.linesPerMinute else {
        state.left += 1
        return nil
      }
      state.lines += 1
      defer { state.left = 0 }
      return state.left
    }
    guard let left else { return }
    if left > 0 { log("warning: \(left) more refused sign-in\(left == 1 ? "" : "s") went unlogged") }
    let name = act == .trade ? "trade" : "sign-in"
    log("warning: \(name) from \(peer) refused (\(code)): \(HumanText.line(words, limit: 500))")
  }

  /// The metrics in Prometheus text format.
  var metrics: String {
    let counts = state.withLock { $0.counts }
    func lines(_ act: Act, _ name: String) -> String {
      (counts[act] ?? [:]).sorted { $0.key < $1.key }.map { "\(name){outcome=\"\($0.key)\"} \($0.value)\n" }
        .joined()
    }
    return """
      # HELP xcache_sign_ins_total Sign-ins of people with the provider, by outcome.
      # TYPE xcache_sign_ins_total counter
      \(lines(.signIn, "xcache_sign_ins_total"))# HELP xcache_trades_total ID tokens of jobs that were traded, by outcome.
      # TYPE xcache_trades_total counter
      \(lines(.trade, "xcache_trades_total"))
      """
  }
}
