import System

/// Tells the origin of failures: each once, behind the device's back, and never an update's concern.
final class FailureReporter: Sendable {
  private let transport: any Transport
  /// The origin's: a mirror is files, and takes no reports.
  private let address: String
  private let state = Monitor(State())

  private struct State {
    var told: Set<String> = []
    var waiting: [FailureReport] = []
    var isSending = false
  }

  /// Reports that wait at most: a device that fails all over has said so by then.
  private static let mostWaiting = 16
  /// Versions and URLs that are remembered as told.
  private static let mostTold = 4096

  init(_ transport: any Transport, _ settings: CheckedSettings) {
    self.transport = transport
    address = settings.reportURL
  }

  /// Has a failure told, unless this version's and URL's was before; returns at once.
  func report(_ report: FailureReport) {
    let begins = state.withLock { state in
      if state.told.count >= Self.mostTold { state.told = [] }
      guard state.waiting.count < Self.mostWaiting, state.told.insert(report.key).inserted else {
        return false
      }
      state.waiting.append(report)
      defer { state.isSending = true }
      return !state.isSending
    }
    guard begins else { return }
    let thread = try? OSThread(name: "reports") { [self] in
      OSThread.lowerPriority(to: .background)
      send()
    }
    if thread == nil { state.broadcasting { $0.isSending = false } }
  }

  private func send() {
    while true {
      let next = state.broadcasting { state -> FailureReport? in
        guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
        state.isSending = false
        return nil
      }
      guard let next else { return }
      transport.tell(next.body, to: address)
    }
  }

  /// Waits until all are told, or given up, at most so many milliseconds.
  func wait(_ milliseconds: Int) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { $0.isSending ? nil : () }
  }
}
