import HTTP
import HTTPClient
import Manifests
import OriginAPI
import Store
import System
import Values

/// `/webhooks…`, for unrestricted admins.
struct WebhookHandler: APIHandler {
  let context: RequestContext

  /// `GET /webhooks`
  func list() throws -> Response { .json(WebhookList(webhooks: try store.webhooks().map(WebhookInfo.init))) }

  /// `GET /webhooks/{id or URL}`
  func show() throws -> Response { .json(WebhookInfo(try store.webhook(request.path[1]))) }

  /// `GET /webhooks/{id or URL}/deliveries`
  func deliveries() throws -> Response {
    let limit = try request.number("limit", in: 1...Self.maxDeliveries) ?? Self.maxDeliveries
    return .json(
      WebhookDeliveryList(
        deliveries: try store.deliveries(to: request.path[1], limit: limit).map(WebhookDeliveryInfo.init)))
  }

  private static let maxDeliveries = 1000

  /// `POST /webhooks`
  func add(_ body: WebhookRequest) throws -> Response {
    let draft = try draft(body)
    guard body.secret == nil else {
      return try context.answering {
        APIAnswer(WebhookAnswer(webhook: WebhookInfo(WebhookState(new: $0))), .created)
      } to: {
        try store.addWebhook(draft, by: actor, record: $0)
      }
    }
    // As with a token: the answer can't be kept, so a retry is told what to do.
    let record = context.key.map { AnswerRecord<Webhook>($0) { StoredAnswer(Self.lost($0)) } }
    let made = try store.addWebhook(draft, by: actor, record: record)
    return .json(
      WebhookAnswer(webhook: WebhookInfo(WebhookState(new: made)), secret: draft.secret.text), .created)
  }

  private static func lost(_ hook: Webhook) -> Problem {
    Problem(
      .conflict, "secret-lost",
      "webhook \(hook.id) was added, but the answer with its secret was lost, and it is shown only once; remove it with "
        + "`xcache webhook remove \(hook.id)` and add it again", [.init(key: "id", value: .string(hook.id))])
  }

  /// `DELETE /webhooks/{id or URL}`
  func remove() throws -> Response {
    try context.answering {
      APIAnswer(WebhookInfo(WebhookState(new: $0)))
    } to: {
      try store.removeWebhook(request.path[1], by: actor, record: $0)
    }
  }

  /// `POST /webhooks/{id or URL}/test`
  func test(_ body: WebhookTestRequest) throws -> Response {
    try context.answering {
      APIAnswer(WebhookDeliveryInfo($0))
    } to: {
      try store.testWebhook(request.path[1], by: actor, record: $0)
    }
  }

  // MARK: - What is asked for

  private func draft(_ body: WebhookRequest) throws -> WebhookDraft {
    let allowsPrivate = body.allowPrivate ?? false
    var draft = WebhookDraft(url: try url(body.url, allowsPrivate: allowsPrivate))
    draft.allowsPrivate = allowsPrivate
    if let names = body.events { draft.events = try events(names) }
    draft.app = try body.app.map { try AppName($0) }
    draft.channel = try body.channel.map { try ChannelName($0) }
    if draft.app == nil, draft.channel != nil {
      throw Problem.badRequest("a webhook for a channel must also name its app")
    }
    if let name = body.template {
      guard let template = WebhookTemplate(rawValue: name) else {
        throw Problem.badRequest("\"template\" must be json or slack")
      }
      draft.template = template
    }
    draft.authorities = try body.ca.map(certificates)
    if let text = body.secret {
      guard let secret = WebhookSecret(text) else {
        throw Problem.badRequest("\"secret\" must be whsec_ and the base64 of 24 to 64 random bytes")
      }
      draft.secret = secret
    }
    return draft
  }

  private func events(_ names: [String]) throws -> Set<WebhookEvent> {
    guard !names.isEmpty else {
      throw Problem.badRequest("\"events\" is empty; events are \(WebhookEvent.names)")
    }
    return Set(
      try names.map { name in
        guard let event = WebhookEvent(rawValue: name) else {
          throw Problem.badRequest(
            "there is no event \(name.prefix(64).debugDescription); events are \(WebhookEvent.names)")
        }
        return event
      })
  }

  /// Certificates as they are stored: PEM, and no key by mistake.
  private func certificates(_ text: String) throws -> String {
    guard text.utf8.count <= Self.maxCertificates else {
      throw Problem.badRequest("\"ca\" is longer than 64 KB")
    }
    guard !text.contains("PRIVATE KEY-----") else {
      throw Problem.badRequest(
        "\"ca\" contains a private key, which nobody else needs; only certificates belong there")
    }
    let parts = text.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false)
      .dropFirst()
    let isWhole = parts.allSatisfy { part in
      guard let end = part.firstRange(of: "-----END CERTIFICATE-----")?.lowerBound else { return false }
      let bytes = Base64.decode(String(part[..<end].filter { !$0.isWhitespace }))
      // A SEQUENCE, in DER.
      return bytes?.first == 0x30
    }
    guard !parts.isEmpty, isWhole else {
      throw Problem.badRequest("\"ca\" is not a list of certificates in PEM form")
    }
    return text
  }

  private static let maxCertificates = 65_536

  /// The address of a name is checked when something is sent: by then it may be another one.
  private func url(_ text: String?, allowsPrivate: Bool) throws -> ResourceURL {
    guard let text else { throw Problem.badRequest("\"url\" is required: where messages are sent") }
    let url: ResourceURL
    do throws(ResourceURLError) {
      url = try ResourceURL(text)
    } catch {
      throw Problem.badRequest("the webhook's URL: \(error)")
    }
    // With or without the dot of the root.
    let name = url.host.last == "." ? url.host.dropLast() : url.host
    let isLocal = name == "localhost" || name.hasSuffix(".localhost")
    let scope = Self.address(url.host).map { AddressScope($0) } ?? (isLocal ? .network : nil)
    if scope == .special {
      throw Problem.badRequest(
        "the webhook's URL: nothing is sent to \(url.host): it is no address of a host of its own")
    }
    guard !allowsPrivate else { return url }
    if scope == .network {
      throw Problem.badRequest(
        "the webhook's URL: \(url.host) is in a private network; --allow-private (\"allowPrivate\") allows that"
      )
    }
    guard url.scheme == "https" else {
      throw Problem.badRequest(
        "the webhook's URL must be https; http is only for private networks, with --allow-private (\"allowPrivate\")"
      )
    }
    return url
  }

  /// The bytes of the address that a URL's host is, in the form that parsing gives it; nil for a name.
  private static func address(_ host: Substring) -> [UInt8]? { IPAddress(String(host))?.bytes }
}

extension WebhookInfo {
  fileprivate init(_ state: WebhookState) {
    let hook = state.webhook
    self.init(
      id: hook.id, url: hook.url.text, events: hook.events.map(\.rawValue).sorted(), app: hook.app,
      channel: hook.channel, template: hook.template.rawValue, allowPrivate: hook.allowsPrivate,
      hasCA: hook.hasAuthorities,
      author: hook.author, createdAt: Moment(milliseconds: hook.createdAt),
      disabledAt: hook.disabled.map { Moment(milliseconds: $0.at) }, disabledReason: hook.disabled?.reason,
      waiting: state.waiting, failed: state.failed, failingSince: state.failingSince.map(Moment.init),
      last: state.last.map(WebhookDeliveryInfo.init))
  }
}

extension WebhookDeliveryInfo {
  fileprivate init(_ delivery: WebhookDelivery) {
    self.init(
      id: delivery.message, type: delivery.type, app: delivery.app, channel: delivery.channel,
      at: Moment(milliseconds: delivery.at), state: delivery.state.rawValue, attempts: delivery.attempts,
      nextAt: delivery.nextAt.map(Moment.init), triedAt: delivery.triedAt.map(Moment.init),
      status: delivery.status, error: delivery.error)
  }
}
