import Manifests
import System

/// Tells the origin of failures, each once, and sends batches of counts: behind the device's back, and never an update's
/// concern.
final class FailureReporter: Sendable {
  private let transport: any Transport
  /// The origin's: a mirror is files, and takes no reports. Nil: nobody is told.
  private let address: String?
  private let state = Monitor(State())

  private struct State {
    var told: Set<String> = []
    /// Bodies of requests.
    var waiting: [[UInt8]] = []
    /// Of 10,000 batches, how many are wanted; nil: there is no origin to send them to.
    var share: Int?
    var isSending = false

    /// - Returns: whether somebody has to begin to send.
    mutating func add(_ body: [UInt8]) -> Bool {
      waiting.append(body)
      defer { isSending = true }
      return !isSending
    }
  }

  /// Reports that wait at most: a device that fails all over has said so by then.
  private static let mostWaiting = 16
  /// Versions and URLs that are remembered as told.
  private static let mostTold = 4096

  init(_ transport: any Transport, _ settings: CheckedSettings) {
    self.transport = transport
    address = settings.isPreview ? nil : settings.reportURL
  }

  /// Has a failure told, unless this version's and URL's was before; returns at once.
  func report(_ report: FailureReport) {
    let begins = state.withLock { state in
      if state.told.count >= Self.mostTold { state.told = [] }
      guard address != nil, state.waiting.count < Self.mostWaiting,
        state.told.insert(report.key).inserted
      else { return false }
      return state.add(report.body)
    }
    if begins { begin() }
  }

  /// What the last poll said of batches: of 10,000, how many are wanted. Nil: it wasn't the origin's answer.
  func wants(_ share: Int?) { state.withLock { $0.share = address == nil ? nil : share } }

  /// Whether somebody takes batches.
  var takesBatches: Bool { state.withLock { $0.share != nil } }

  /// Sends a batch, or, as the origin wishes, not; returns at once. One that is lost is lost.
  /// - Parameter chance: 0 to 9,999.
  func send(_ batch: DeviceBatch, chance: Int = Int.random(in: 0..<AnswerExtras.allReports)) {
    let begins = state.withLock { state in
      guard let share = state.share, chance < share, state.waiting.count < Self.mostWaiting else {
        return false
      }
      return state.add(batch.body)
    }
    if begins { begin() }
  }

  private func begin() {
    let thread = try? OSThread(name: "reports") { [self] in
      OSThread.lowerPriority(to: .background)
      send()
    }
    if thread == nil { state.broadcasting { $0.isSending = false } }
  }

  private func send() {
    while true {
      let next = state.broadcasting { state -> [UInt8]? in
        guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
        state.isSending = false
        return nil
      }
      guard let next, let address else { return }
      transport.tell(next, to: address)
    }
  }

  /// Waits until all are told, or given up, at most so many milliseconds.
  func wait(_ milliseconds: Int) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { $0.isSending ? nil : () }
  }
}
