import Manifests

/// One message to one receiver, and how far it came.
package struct WebhookDelivery: Hashable, Sendable {
  /// The state of a delivery.
  package enum State: String, Hashable, Sendable {
    case waiting, delivered
    /// Given up.
    case failed
  }

  /// The message's id, the same over all attempts.
  package let message: String
  /// The event's name, or `test`.
  package let type: String
  /// The channel concerned; nil if there isn't one.
  package let app: String?
  package let channel: String?
  /// When it happened, in milliseconds since 1970, like all times here.
  package let at: Int64
  package let state: State
  package let attempts: Int
  /// When the next attempt is due; nil unless it waits.
  package let nextAt: Int64?
  /// When the last attempt was; nil if there was none.
  package let triedAt: Int64?
  /// The status of the last answer; nil if there was none.
  package let status: Int?
  /// What was wrong with the last attempt; nil if nothing was.
  package let error: String?
}

/// A receiver and how it fares.
package struct WebhookState: Hashable, Sendable {
  package let webhook: Webhook
  /// The messages that wait.
  package let waiting: Int
  /// Those among the kept ones that were given up.
  package let failed: Int
  /// When what waits and was tried in vain happened first, in milliseconds since 1970.
  package let failingSince: Int64?
  /// The delivery that was tried last.
  package let last: WebhookDelivery?

  init(webhook: Webhook, waiting: Int, failed: Int, failingSince: Int64?, last: WebhookDelivery?) {
    self.webhook = webhook
    self.waiting = waiting
    self.failed = failed
    self.failingSince = failingSince
    self.last = last
  }

  /// A receiver to which nothing was sent yet, or isn't any more.
  package init(new webhook: Webhook) {
    self.init(webhook: webhook, waiting: 0, failed: 0, failingSince: nil, last: nil)
  }
}

/// What is sent in one attempt.
package struct WebhookJob: Sendable {
  /// The delivery's row.
  package let row: Int64
  package let webhook: Webhook
  package let delivery: WebhookDelivery
  package let body: [UInt8]
  package let secret: WebhookSecret
  /// The certificates (PEM) that the receiver's has to come from; nil: the system's.
  package let authorities: String?
}

/// How an attempt ended.
package enum WebhookOutcome: Hashable, Sendable {
  /// The receiver answered, perhaps asking to wait some seconds.
  case answered(status: Int, retryAfter: Int? = nil)
  /// There was no answer; with the reason.
  case failed(String)
}
