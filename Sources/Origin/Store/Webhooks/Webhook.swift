import Manifests
import System
import Values

/// A receiver that is told of events.
package struct Webhook: Hashable, Sendable {
  /// 8 hexadecimal digits.
  package let id: String
  /// Where deliveries go. Its path may be as good as a password, so it isn't logged.
  package let url: ResourceURL
  /// The events that it is told of.
  package let events: Set<WebhookEvent>
  /// The only app; nil: every app.
  package let app: AppName?
  /// The only channel; nil: every channel.
  package let channel: ChannelName?
  /// The form of the body.
  package let template: WebhookTemplate
  /// Whether its host may have a private or loopback address.
  package let allowsPrivate: Bool
  /// The token that added it.
  package let author: String
  /// Milliseconds since 1970, like all times here.
  package let createdAt: Int64
  /// Why and since when nothing is sent to it any more; nil if it is in use.
  package let disabled: Disabling?
  /// Whether its server's certificate has to come from certificates of its own, in place of the system's.
  package var hasAuthorities = false

  /// Why and since when nothing is sent to a receiver.
  package struct Disabling: Hashable, Sendable {
    /// Milliseconds since 1970.
    package let at: Int64
    /// A sentence part, such as `the receiver answered 410 Gone`.
    package let reason: String
  }

  /// The receiver in logs and in the audit trail: without the path, which may be as good as a password.
  package var place: String { "\(url.scheme)://\(url.authority)" }

  /// Whether it is told of something in these channels; empty: something that belongs to none, which all are told of.
  func covers(_ places: [EventChannel]) -> Bool {
    places.isEmpty || places.contains { (app ?? $0.app) == $0.app && (channel ?? $0.channel) == $0.channel }
  }
}

/// What a receiver can be told of.
package enum WebhookEvent: String, Hashable, Sendable, CaseIterable {
  case release, rollback, rollout, halt, kill, resume, bypass, freeze, thaw, purge, schedule
  case mirrorLate = "mirror-late"
  case rolloutAlarm = "rollout.alarm"
  case approvalNeeded = "approval.needed"

  /// All names, as help and refusals list them.
  package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// The type of the message that `webhook test` sends.
  package static let test = "test"
}

/// The form of a delivery's body.
package enum WebhookTemplate: String, Hashable, Sendable, CaseIterable {
  /// `{"type":…,"timestamp":…,"data":{…}}`.
  case json
  /// `{"text":"…"}`, one line in words, as Slack and what is compatible with it take.
  case slack
}

/// The key that the deliveries to one receiver are signed with (Standard Webhooks, "Signature scheme").
package struct WebhookSecret: Sendable {
  /// 24 to 64 bytes.
  let bytes: [UInt8]

  /// How many bytes a key has: "between 24 bytes (192 bits) and 64 bytes (512 bits)".
  package static let counts = 24...64
  private static let prefix = "whsec_"

  /// Creates a random key of 32 bytes.
  package init() { bytes = Secrets.random(32) }

  /// Parses `whsec_` and the base64 of 24 to 64 bytes; nil for any other text.
  package init?(_ text: String) {
    guard text.utf8.count <= 128, text.hasPrefix(Self.prefix),
      let bytes = Base64.decode(String(text.dropFirst(Self.prefix.count))), Self.counts.contains(bytes.count)
    else { return nil }
    self.bytes = bytes
  }

  init(stored bytes: [UInt8]) { self.bytes = bytes }

  /// The form that receivers are given.
  package var text: String { Self.prefix + Base64.encode(bytes) }

  /// The signature of a message: `v1,` and the base64 of the HMAC-SHA-256 of its id, the seconds since 1970 and its body.
  package func signature(of id: String, at seconds: Int64, _ body: [UInt8]) -> String {
    "v1," + Base64.encode(HMAC.sha256(bytes, Array("\(id).\(seconds).".utf8) + body))
  }
}

/// A receiver that is to be added.
package struct WebhookDraft: Sendable {
  package let url: ResourceURL
  package var events = Set(WebhookEvent.allCases)
  package var app: AppName?
  package var channel: ChannelName?
  package var template = WebhookTemplate.json
  package var allowsPrivate = false
  /// The certificates (PEM) that its server's has to come from; nil: the system's.
  package var authorities: String?
  package var secret = WebhookSecret()

  /// A receiver of all events.
  package init(url: ResourceURL) { self.url = url }
}
