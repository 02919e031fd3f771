import Manifests
import System

/// Reports failures and evidence to the origin, each once, and sends batches of counts and error samples, in the background and without
/// affecting updates.
final class FailureReporter: Sendable {
  private let transport: any Transport
  /// The origin's report URL (a mirror is static files, and takes no reports); nil if nothing is to be reported.
  private let address: String?
  private let state = Monitor(State())

  private struct State {
    var reported: Set<String> = []
    /// The bodies of the requests to send.
    var pending: [[UInt8]] = []
    /// How many of 10,000 batches are wanted; nil if there is no origin to send them to.
    var share: Int?
    /// Whether the origin's last answer asked for no error samples.
    var refusesSamples = false
    var isSending = false

    /// Queues a request.
    /// - Returns: whether sending has to be started.
    mutating func add(_ body: [UInt8]) -> Bool {
      pending.append(body)
      defer { isSending = true }
      return !isSending
    }
  }

  /// The maximum number of queued reports: a device on which everything fails has said so by then.
  private static let maxPending = 16
  /// The most bytes that an origin takes (docs/protocol.md §12).
  private static let longestBody = 8_192
  /// The maximum number of versions and URLs remembered as reported.
  private static let maxReported = 4096

  init(_ transport: any Transport, _ settings: CheckedSettings) {
    self.transport = transport
    address = settings.isPreview ? nil : settings.reportURL
  }

  /// Reports a failure, unless one was reported for its version and URL before; returns at once.
  func report(_ report: FailureReport) {
    let mustStart = state.withLock { state in
      if state.reported.count >= Self.maxReported { state.reported = [] }
      guard address != nil, state.pending.count < Self.maxPending,
        state.reported.insert(report.key).inserted
      else { return false }
      return state.add(report.body)
    }
    if mustStart { startSending() }
  }

  /// Reports what a rollout came to, which happens at most twice; returns at once.
  func report(_ evidence: EvidenceMessage) {
    if state.withLock({ address != nil && $0.add(evidence.body) }) { startSending() }
  }

  /// Records how many of 10,000 batches the last poll asked for; nil if the origin didn't answer it.
  func setShare(_ share: Int?) { state.withLock { $0.share = address == nil ? nil : share } }

  /// Records whether an answer of the origin asked for no error samples. It counts until the origin answers again.
  func setRefusesSamples(_ refuses: Bool) { state.withLock { $0.refusesSamples = refuses } }

  /// Whether the origin asked for no error samples.
  var refusesSamples: Bool { state.withLock { $0.refusesSamples } }

  /// Sends an error sample, unless the origin wants none or didn't answer the last poll; returns at once, and doesn't retry.
  func send(_ report: SampleReport) {
    let body = report.body(atMost: Self.longestBody)
    let mustStart = state.withLock { state in
      guard state.share != nil, !state.refusesSamples, state.pending.count < Self.maxPending else {
        return false
      }
      return state.add(body)
    }
    if mustStart { startSending() }
  }

  /// Whether there is an origin that takes batches.
  var takesBatches: Bool { state.withLock { $0.share != nil } }

  /// Sends a batch if it falls in the share that the origin wants; returns at once, and doesn't retry.
  /// - Parameters:
  ///   - batch: the batch to send.
  ///   - chance: 0 to 9,999; the batch is sent if this is below the share.
  func send(_ batch: DeviceBatch, chance: Int = Int.random(in: 0..<AnswerExtras.allReports)) {
    let mustStart = state.withLock { state in
      guard let share = state.share, chance < share, state.pending.count < Self.maxPending else {
        return false
      }
      return state.add(batch.body)
    }
    if mustStart { startSending() }
  }

  private func startSending() {
    let thread = try? OSThread(name: "reports") { [self] in
      OSThread.lowerPriority(to: .background)
      sendPending()
    }
    if thread == nil { state.broadcasting { $0.isSending = false } }
  }

  private func sendPending() {
    while true {
      let next = state.broadcasting { state -> [UInt8]? in
        guard state.pending.isEmpty else { return state.pending.removeFirst() }
        state.isSending = false
        return nil
      }
      guard let next, let address else { return }
      transport.tell(next, to: address)
    }
  }

  /// Waits until all requests have been sent or have failed, at most the given number of milliseconds.
  func wait(_ milliseconds: Int) {
    _ = state.waiting(for: .milliseconds(milliseconds)) { $0.isSending ? nil : () }
  }
}

extension SampleReport {
  /// The body of the request, without the last frames of the stack if they make it longer than `limit` bytes.
  fileprivate func body(atMost limit: Int) -> [UInt8] {
    if body.count <= limit || sample.stack.isEmpty { return body }
    let shorter = ErrorSample(
      sample.kind, message: sample.message, page: sample.page, engine: sample.engine,
      stack: sample.stack.dropLast(),
      listed: { _ in true })
    return SampleReport(version: version, sample: shorter).body(atMost: limit)
  }
}
