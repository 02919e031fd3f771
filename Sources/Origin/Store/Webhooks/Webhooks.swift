import System
import Values

extension Store {
  /// The most webhooks.
  package static let webhookLimit = 100

  /// Adds a receiver, which is told of what happens from now on. `record` keeps the answer for retries, here and below; it
  /// never holds the key.
  /// - Throws: `tooManyWebhooks`.
  package func addWebhook(
    _ draft: WebhookDraft, by actor: Actor = .local, record: AnswerRecord<Webhook>? = nil
  ) throws(StoreError) -> Webhook {
    let now = clock()
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      guard try db.webhooks().count < Self.webhookLimit else { throw .tooManyWebhooks(Self.webhookLimit) }
      let hook = Webhook(
        id: Hex.encode(Secrets.random(4).span.bytes), url: draft.url, events: draft.events, app: draft.app,
        channel: draft.channel, template: draft.template, allowsPrivate: draft.allowsPrivate,
        author: actor.name,
        createdAt: now, disabled: nil, hasAuthorities: draft.authorities != nil)
      try db.insert(hook, draft.secret, authorities: draft.authorities)
      try db.audit(
        AuditEvent(
          "webhook.add", app: hook.app, channel: hook.channel,
          parameters: [
            "allowPrivate": .bool(hook.allowsPrivate), "authorities": .bool(hook.hasAuthorities),
            "events": .strings(hook.events.map(\.rawValue).sorted()),
            "place": .string(hook.place), "template": .string(hook.template.rawValue),
          ], result: ["id": .string(hook.id)]), by: actor, now: now)
      return hook
    }
  }

  /// All receivers and how they fare, oldest first.
  package func webhooks() throws(StoreError) -> [WebhookState] {
    try connections.reading { (db) throws(StoreError) in
      var states: [WebhookState] = []
      for hook in try db.webhooks() { states.append(try db.state(of: hook)) }
      return states
    }
  }

  /// A receiver by its id, or by its URL if no other one has it.
  /// - Throws: `unknownWebhook`, `severalWebhooks`.
  package func webhook(_ idOrURL: String) throws(StoreError) -> WebhookState {
    try connections.reading { (db) throws(StoreError) in try db.state(of: db.required(webhook: idOrURL)) }
  }

  /// Removes a receiver; what waits for it isn't sent.
  /// - Throws: as `webhook`.
  package func removeWebhook(
    _ idOrURL: String, by actor: Actor = .local, record: AnswerRecord<Webhook>? = nil
  ) throws(StoreError) -> Webhook {
    let now = clock()
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      let hook = try db.required(webhook: idOrURL)
      try db.deleteWebhook(hook.id)
      try db.audit(
        AuditEvent(
          "webhook.remove", app: hook.app, channel: hook.channel,
          parameters: ["id": .string(hook.id), "place": .string(hook.place)]), by: actor, now: now)
      return hook
    }
  }

  /// Sends a receiver a message that shows whether it works; it is tried once.
  /// - Throws: as `webhook`, and `webhookDisabled`.
  package func testWebhook(
    _ idOrURL: String, by actor: Actor = .local, record: AnswerRecord<WebhookDelivery>? = nil
  ) throws(StoreError) -> WebhookDelivery {
    let now = clock()
    return try connections.transaction(keeping: record, now: now) { (db) throws(StoreError) in
      let hook = try db.required(webhook: idOrURL)
      if let disabled = hook.disabled { throw .webhookDisabled(hook.id, reason: disabled.reason) }
      let message = try db.queue(.test(of: hook, by: actor), for: hook, now: now)
      try db.audit(
        AuditEvent(
          "webhook.test", parameters: ["id": .string(hook.id)], result: ["message": .string(message)]),
        by: actor,
        now: now)
      return WebhookDelivery(
        message: message, type: WebhookEvent.test, app: nil, channel: nil, at: now, state: .waiting,
        attempts: 0,
        nextAt: now, triedAt: nil, status: nil, error: nil)
    }
  }

  /// The newest deliveries to a receiver, newest first.
  /// - Throws: as `webhook`.
  package func deliveries(to idOrURL: String, limit: Int) throws(StoreError) -> [WebhookDelivery] {
    try connections.reading { (db) throws(StoreError) in
      try db.deliveries(to: db.required(webhook: idOrURL).id, limit: max(0, limit))
    }
  }

  // MARK: - Delivering

  /// Sets where people reach the console, which messages link to; nil: they have no link.
  package func setConsole(_ url: BaseURL?) { connections.console.withLock { $0 = url } }

  /// Calls `listener` when there may be something to deliver, on the thread that made it, which it mustn't keep.
  package func onWebhookMessage(_ listener: @escaping @Sendable () -> Void) {
    connections.announced.withLock { $0 = listener }
  }

  /// The first message that waits of each channel to each receiver.
  package func webhookHeads() throws(StoreError) -> [WebhookSchedule.Head] {
    try connections.reading { (db) throws(StoreError) in try db.webhookHeads() }
  }

  /// What is sent of a delivery; nil if it is over or gone.
  package func webhookJob(_ row: Int64) throws(StoreError) -> WebhookJob? {
    try connections.reading { (db) throws(StoreError) in try db.webhookJob(row) }
  }

  /// Records how an attempt ended.
  /// - Parameter spread: as in `WebhookRetry.verdict`.
  /// - Returns: what follows.
  package func record(
    _ outcome: WebhookOutcome, of job: WebhookJob, spread: Double = .random(in: 0...1)
  ) throws(StoreError) -> WebhookRetry.Verdict {
    let now = clock()
    let verdict = WebhookRetry.verdict(
      outcome, attempts: job.delivery.attempts + 1, at: job.delivery.at, now: now,
      isTest: job.delivery.type == WebhookEvent.test, spread: spread)
    var status: Int?
    if case .answered(let code, _) = outcome { status = code }
    try connections.transaction { [status] (db) throws(StoreError) in
      try db.record(verdict, status, of: job, now: now)
      // It may have been removed while it was asked.
      guard case .disabled(let reason) = verdict,
        try db.disableWebhook(job.webhook.id, reason: reason, now: now)
      else { return }
      try db.audit(
        AuditEvent(
          "webhook.disable", app: job.webhook.app, channel: job.webhook.channel,
          parameters: ["id": .string(job.webhook.id), "place": .string(job.webhook.place)],
          result: ["reason": .string(reason)]), by: Actor(name: "serve", address: ""), now: now)
    }
    return verdict
  }
}

extension Database {
  fileprivate func required(webhook idOrURL: String) throws(StoreError) -> Webhook {
    let hooks = try webhooks()
    if let hook = hooks.first(where: { $0.id == idOrURL }) { return hook }
    let url = (try? ResourceURL(idOrURL))?.text ?? idOrURL
    let named = hooks.filter { $0.url.text == url }
    guard named.count < 2 else { throw .severalWebhooks(named.map(\.id)) }
    guard let hook = named.first else { throw .unknownWebhook(idOrURL) }
    return hook
  }
}
