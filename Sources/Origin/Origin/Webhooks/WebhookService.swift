import Store
import System

/// Delivers what webhooks are to be told: each receiver gets one message at a time, on a thread of low priority, so that no
/// act, poll or end of the process waits for it.
final class WebhookService: Sendable {
  private struct State {
    /// Whether there may be something new to deliver.
    var isChanged = true
    var isStopping = false
    /// The receivers that are being sent to.
    var busy: Set<String> = []
    /// The receivers whose last attempt failed.
    var failing: Set<String> = []
    var delivered = 0
    var failed = 0
    var givenUp = 0
  }

  private let store: Store
  private let log: @Sendable (String) -> Void
  private let state = Monitor(State())
  private let thread = BackgroundThread()

  /// The seconds that a receiver rests if the outcome of an attempt couldn't be recorded, so that it isn't sent the same
  /// message again and again.
  private static let rest = 30

  init(store: Store, log: @escaping @Sendable (String) -> Void) {
    self.store = store
    self.log = log
  }

  /// Starts delivering, first what was left when the process ended last.
  func start() throws(SystemError) {
    store.onWebhookMessage { [weak self] in self?.state.broadcasting { $0.isChanged = true } }
    try thread.start("webhooks") { [self] in run() }
  }

  func beginStopping() {
    thread.beginStopping()
    state.broadcasting { $0.isStopping = true }
  }

  /// Waits a moment for attempts that are being broken off. One that isn't recorded is made again after the next start.
  func finish() {
    beginStopping()
    thread.stop(within: .seconds(1))
    _ = state.waiting(for: .seconds(2)) { $0.busy.isEmpty ? () : nil }
  }

  private func run() {
    while true {
      let wait = begin()
      let goesOn = state.waiting(for: .milliseconds(wait)) { state -> Bool? in
        if state.isStopping { return false }
        return state.isChanged ? true : nil
      }
      if goesOn == false { return }
    }
  }

  /// Begins what is due; returns after how many milliseconds to look again.
  private func begin() -> Int64 {
    let busy = state.withLock { state in
      state.isChanged = false
      return state.busy
    }
    // Looking takes a query, and a slot that becomes free is a change.
    if busy.count >= WebhookSchedule.maxBusy { return WebhookSchedule.longestWait }
    do {
      let heads = try store.webhookHeads()
      let failing = state.withLock { state in
        // Those that have nothing to fail with are forgotten, removed ones among them.
        state.failing.formIntersection(heads.map(\.webhook))
        return state.failing
      }
      let plan = WebhookSchedule(heads, busy: busy, failing: failing, now: store.now)
      for head in plan.begin { try begin(head) }
      return plan.wait
    } catch {
      log("error: webhooks: \(error)")
      return 10_000
    }
  }

  private func begin(_ head: WebhookSchedule.Head) throws {
    state.withLock { _ = $0.busy.insert(head.webhook) }
    do {
      _ = try OSThread(name: "webhook") { [self] in
        OSThread.lowerPriority(to: .background)
        deliver(head)
        state.broadcasting { state in
          state.busy.remove(head.webhook)
          state.isChanged = true
        }
      }
    } catch {
      state.withLock { _ = $0.busy.remove(head.webhook) }
      throw error
    }
  }

  private func deliver(_ head: WebhookSchedule.Head) {
    do {
      guard let job = try store.webhookJob(head.row) else { return }
      let sender = WebhookSender { [state] in state.withLock { $0.isStopping } }
      guard let outcome = sender.send(job, at: store.now / 1000) else { return }
      note(try store.record(outcome, of: job), of: job)
    } catch {
      log("error: webhook \(head.webhook): what became of a delivery could not be recorded: \(error)")
      _ = state.waiting(for: .seconds(Self.rest)) { $0.isStopping ? () : nil }
    }
  }

  private func note(_ verdict: WebhookRetry.Verdict, of job: WebhookJob) {
    let (name, type) = ("webhook \(job.webhook.id) (\(job.webhook.place))", job.delivery.type)
    state.withLock { state in
      if verdict == .delivered {
        state.failing.remove(job.webhook.id)
      } else {
        state.failing.insert(job.webhook.id)
      }
      switch verdict {
      case .delivered: state.delivered += 1
      case .retry: state.failed += 1
      case .givenUp, .disabled:
        state.failed += 1
        state.givenUp += 1
      }
    }
    switch verdict {
    case .delivered: break
    // Once a message, not at each of its attempts.
    case .retry(_, let reason):
      if job.delivery.attempts == 0 {
        log("warning: \(name): \(type) was not delivered: \(reason); it is tried again for a day")
      }
    case .givenUp(let reason): log("error: \(name): \(type) was given up: \(reason)")
    case .disabled(let reason): log("error: \(name): disabled, since \(reason)")
    }
  }

  /// The counts in Prometheus's text exposition format.
  var prometheusText: String {
    let counts = state.withLock { (delivered: $0.delivered, failed: $0.failed, givenUp: $0.givenUp) }
    let hooks = (try? store.webhooks()) ?? []
    let waiting = hooks.map { "xcache_webhook_waiting{webhook=\"\($0.webhook.id)\"} \($0.waiting)\n" }
    let disabled = hooks.count { $0.webhook.disabled != nil }
    return """
      # HELP xcache_webhook_attempts_total Attempts to deliver a message to a webhook.
      # TYPE xcache_webhook_attempts_total counter
      xcache_webhook_attempts_total{result="delivered"} \(counts.delivered)
      xcache_webhook_attempts_total{result="failed"} \(counts.failed)
      # HELP xcache_webhook_given_up_total Messages that were given up.
      # TYPE xcache_webhook_given_up_total counter
      xcache_webhook_given_up_total \(counts.givenUp)
      # HELP xcache_webhooks_disabled Webhooks that nothing is sent to any more.
      # TYPE xcache_webhooks_disabled gauge
      xcache_webhooks_disabled \(disabled)

      """
        + (waiting.isEmpty
          ? ""
          : "# HELP xcache_webhook_waiting Messages that wait for a webhook.\n# TYPE xcache_webhook_waiting gauge\n"
            + waiting.joined())
  }
}
