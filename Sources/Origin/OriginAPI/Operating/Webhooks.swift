import Manifests
import System

/// `POST /webhooks`: a receiver to add.
package struct WebhookRequest: Codable, Sendable {
  /// https, or http if private addresses are allowed.
  package var url: String?
  /// Names of events; nil means all that there are.
  package var events: [String]?
  /// What it is limited to; nil means every app, every channel of the app.
  package var app: String?
  package var channel: String?
  /// `json`, the default, or `slack`.
  package var template: String?
  /// Whether its host may have a private or loopback address.
  package var allowPrivate: Bool?
  /// The certificates (PEM) that its server's has to come from; nil means the system's.
  package var ca: String?
  /// The key that deliveries are signed with: `whsec_` and 24 to 64 bytes in base64; nil if the origin is to make it.
  package var secret: String?

  package init(url: String) { self.url = url }
}

/// A receiver that was added.
package struct WebhookAnswer: Codable, Sendable {
  package let webhook: WebhookInfo
  /// The key, if the origin made it: it is never shown again.
  package var secret: String?

  package init(webhook: WebhookInfo, secret: String? = nil) {
    self.webhook = webhook
    self.secret = secret
  }
}

/// A receiver as shown to admins: everything but its key.
package struct WebhookInfo: Codable, Hashable, Sendable {
  package let id: String
  package let url: String
  package let events: [String]
  @OrNull package var app: AppName?
  @OrNull package var channel: ChannelName?
  package let template: String
  package let allowPrivate: Bool
  /// Whether its server's certificate has to come from certificates of its own, not from the system's.
  @OrNull package var hasCA: Bool?
  /// The token that added it.
  package let author: String
  @OrNull package var createdAt: Moment?
  /// Since when and why nothing is sent to it any more; nil if it is in use.
  @OrNull package var disabledAt: Moment?
  @OrNull package var disabledReason: String?
  /// The messages that wait, and those of the kept ones that were given up.
  package let waiting: Int
  package let failed: Int
  /// When the oldest message happened that was tried in vain and waits; nil if there is none.
  @OrNull package var failingSince: Moment?
  /// The delivery that was tried last.
  @OrNull package var last: WebhookDeliveryInfo?

  package init(
    id: String, url: String, events: [String], app: AppName?, channel: ChannelName?, template: String,
    allowPrivate: Bool, hasCA: Bool?, author: String, createdAt: Moment?, disabledAt: Moment?,
    disabledReason: String?,
    waiting: Int, failed: Int, failingSince: Moment?, last: WebhookDeliveryInfo?
  ) {
    self.id = id
    self.url = url
    self.events = events
    self.template = template
    self.allowPrivate = allowPrivate
    self.hasCA = hasCA
    self.author = author
    self.waiting = waiting
    self.failed = failed
    self.app = app
    self.channel = channel
    self.createdAt = createdAt
    self.disabledAt = disabledAt
    self.disabledReason = disabledReason
    self.failingSince = failingSince
    self.last = last
  }
}

/// One message to a receiver.
package struct WebhookDeliveryInfo: Codable, Hashable, Sendable {
  /// The same over all attempts.
  package let id: String
  /// The event, or `test`.
  package let type: String
  @OrNull package var app: String?
  @OrNull package var channel: String?
  /// When it happened.
  package let at: Moment
  /// `waiting`, `delivered` or `failed`.
  package let state: String
  package let attempts: Int
  @OrNull package var nextAt: Moment?
  @OrNull package var triedAt: Moment?
  /// The status of the last answer.
  @OrNull package var status: Int?
  @OrNull package var error: String?

  package init(
    id: String, type: String, app: String?, channel: String?, at: Moment, state: String, attempts: Int,
    nextAt: Moment?, triedAt: Moment?, status: Int?, error: String?
  ) {
    self.id = id
    self.type = type
    self.at = at
    self.state = state
    self.attempts = attempts
    self.app = app
    self.channel = channel
    self.nextAt = nextAt
    self.triedAt = triedAt
    self.status = status
    self.error = error
  }
}

/// `GET /webhooks`.
package struct WebhookList: Codable, Sendable {
  package let webhooks: [WebhookInfo]

  package init(webhooks: [WebhookInfo]) { self.webhooks = webhooks }
}

/// `GET /webhooks/{id}/deliveries`, newest first.
package struct WebhookDeliveryList: Codable, Sendable {
  package let deliveries: [WebhookDeliveryInfo]

  package init(deliveries: [WebhookDeliveryInfo]) { self.deliveries = deliveries }
}

/// `POST /webhooks/{id}/test`.
package struct WebhookTestRequest: Codable, Sendable {
  package init() {}
}
