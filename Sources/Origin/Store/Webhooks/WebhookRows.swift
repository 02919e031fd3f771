import Manifests
import System

extension Database {
  /// All webhooks, oldest first.
  func webhooks() throws(StoreError) -> [Webhook] {
    try all(
      """
      SELECT id, url, events, app, channel, template, allows_private, author, created_at, disabled_at, disabled_reason,
        authorities IS NOT NULL
      FROM webhook ORDER BY created_at, id
      """, read: Webhook.init)
  }

  func insert(_ hook: Webhook, _ secret: WebhookSecret, authorities: String?) throws(StoreError) {
    let events = hook.events.map(\.rawValue).sorted().joined(separator: " ")
    try run(
      """
      INSERT INTO webhook (
        id, url, events, app, channel, template, allows_private, secret, author, created_at, authorities)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, hook.id, hook.url.text, events, hook.app?.text, hook.channel?.text, hook.template.rawValue,
      hook.allowsPrivate ? 1 : 0, secret.bytes, hook.author, hook.createdAt, authorities)
  }

  /// Deletes a webhook and its deliveries. Its key is overwritten, since deleted rows stay in the file for a while.
  func deleteWebhook(_ id: String) throws(StoreError) {
    try run("UPDATE webhook SET secret = zeroblob(length(secret)) WHERE id = ?", id)
    try run("DELETE FROM webhook WHERE id = ?", id)
  }

  /// Ends the use of a webhook, and gives up what waits for it. Returns false if it is disabled already, or gone.
  func disableWebhook(_ id: String, reason: String, now: Int64) throws(StoreError) -> Bool {
    try run(
      "UPDATE webhook SET disabled_at = ?, disabled_reason = ? WHERE id = ? AND disabled_at IS NULL", now,
      reason,
      id)
    if changedRows == 0 { return false }
    try run(
      """
      UPDATE webhook_delivery SET state = 'failed', next_at = NULL, error = coalesce(error, ?)
      WHERE webhook_id = ? AND state = 'waiting'
      """, reason, id)
    try trimDeliveries(of: id, now: now)
    return true
  }

  // MARK: - Deliveries

  /// The most messages that wait for one receiver; with one more, the oldest is given up.
  private static var maxWaiting: Int { 10_000 }
  /// The most messages to one receiver that are kept when they are over, and for how many milliseconds.
  private static var maxKept: Int { 100 }
  private static var keptFor: Int64 { 30 * 86_400_000 }

  /// Writes what each receiver that wants it is to be told.
  func announce(_ messages: [WebhookMessage], now: Int64) throws(StoreError) {
    if messages.isEmpty { return }
    let messages = messages.map { $0.linked(to: console) }
    for hook in try webhooks() where hook.disabled == nil {
      for message in messages where hook.events.contains(where: { $0.rawValue == message.type }) {
        guard hook.covers(message.places) else { continue }
        _ = try queue(message, for: hook, now: now)
      }
    }
  }

  /// Writes a message to one receiver; returns its id.
  func queue(_ message: WebhookMessage, for hook: Webhook, now: Int64) throws(StoreError) -> String {
    let waiting = try value(Int.self, "SELECT waiting FROM webhook WHERE id = ?", hook.id) ?? 0
    if waiting >= Self.maxWaiting {
      try run(
        """
        UPDATE webhook_delivery SET state = 'failed', next_at = NULL, error = 'too many messages were waiting'
        WHERE id = (SELECT min(id) FROM webhook_delivery WHERE webhook_id = ? AND state = 'waiting')
        """, hook.id)
      try trimDeliveries(of: hook.id, now: now)
    }
    let id = "msg_" + Hex.encode(Secrets.random(16).span.bytes)
    try run(
      """
      INSERT INTO webhook_delivery (webhook_id, message_id, type, app, channel, at, body, state, attempts, next_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', 0, ?)
      """, hook.id, id, message.type, message.lane?.app.text ?? "", message.lane?.channel.text ?? "", now,
      String(decoding: message.body(hook.template, now: now), as: UTF8.self), now)
    hasAnnounced = true
    return id
  }

  /// Records what follows an attempt, unless the delivery is over or gone meanwhile.
  func record(
    _ verdict: WebhookRetry.Verdict, _ status: Int?, of job: WebhookJob, now: Int64
  ) throws(StoreError) {
    let (state, next, error): (WebhookDelivery.State, Int64?, String?) =
      switch verdict {
      case .delivered: (.delivered, nil, nil)
      case .retry(let at, let reason): (.waiting, at, reason)
      case .givenUp(let reason), .disabled(let reason): (.failed, nil, reason)
      }
    try run(
      """
      UPDATE webhook_delivery SET state = ?, attempts = attempts + 1, next_at = ?, tried_at = ?, status = ?, error = ?
      WHERE id = ? AND message_id = ? AND state = 'waiting'
      """, state.rawValue, next, now, status, error, job.row, job.delivery.message)
    if state != .waiting { try trimDeliveries(of: job.webhook.id, now: now) }
  }

  /// Deletes what is over, but for the newest of the last 30 days.
  private func trimDeliveries(of hook: String, now: Int64) throws(StoreError) {
    try run(
      """
      DELETE FROM webhook_delivery WHERE webhook_id = ?1 AND state <> 'waiting' AND (at < ?2 OR id <= (
        SELECT id FROM webhook_delivery WHERE webhook_id = ?1 AND state <> 'waiting'
        ORDER BY id DESC LIMIT 1 OFFSET ?3))
      """, hook, now - Self.keptFor, Self.maxKept)
  }

  /// The first message that waits of each channel to each receiver.
  func webhookHeads() throws(StoreError) -> [WebhookSchedule.Head] {
    // From each lane to the next in the index: with GROUP BY, it would read every message that waits, after each attempt.
    try all(
      """
      WITH RECURSIVE head (id) AS (
        SELECT (SELECT id FROM webhook_delivery INDEXED BY webhook_delivery_waiting WHERE state = 'waiting'
          ORDER BY webhook_id, app, channel, id LIMIT 1)
        UNION ALL
        SELECT coalesce(
          (SELECT id FROM webhook_delivery INDEXED BY webhook_delivery_waiting
            WHERE state = 'waiting' AND webhook_id = one.webhook_id AND app = one.app AND channel > one.channel
            ORDER BY channel, id LIMIT 1),
          (SELECT id FROM webhook_delivery INDEXED BY webhook_delivery_waiting
            WHERE state = 'waiting' AND webhook_id = one.webhook_id AND app > one.app
            ORDER BY app, channel, id LIMIT 1),
          (SELECT id FROM webhook_delivery INDEXED BY webhook_delivery_waiting
            WHERE state = 'waiting' AND webhook_id > one.webhook_id ORDER BY webhook_id, app, channel, id LIMIT 1))
        FROM head JOIN webhook_delivery AS one ON one.id = head.id)
      SELECT one.id, one.webhook_id, one.next_at FROM head JOIN webhook_delivery AS one ON one.id = head.id
      """
    ) { WebhookSchedule.Head(row: $0.get(0), webhook: $0.get(1), due: $0.get(2)) }
  }

  /// What is sent of a delivery; nil if it is over or gone.
  func webhookJob(_ row: Int64) throws(StoreError) -> WebhookJob? {
    let found = try first(
      """
      SELECT webhook_id, body, message_id, type, app, channel, at, state, attempts, next_at, tried_at, status, error
      FROM webhook_delivery WHERE id = ? AND state = 'waiting'
      """, row
    ) { (row) throws(StoreError) in
      (
        hook: row.get(0, as: String.self), body: row.get(1, as: String.self),
        try WebhookDelivery(row, from: 2)
      )
    }
    guard let found, let hook = try webhooks().first(where: { $0.id == found.hook }), hook.disabled == nil,
      let keys = try first(
        "SELECT secret, authorities FROM webhook WHERE id = ?", hook.id,
        read: { (secret: $0.get(0, as: [UInt8].self), authorities: $0.get(1, as: String?.self)) })
    else { return nil }
    return WebhookJob(
      row: row, webhook: hook, delivery: found.2, body: Array(found.body.utf8),
      secret: WebhookSecret(stored: keys.secret), authorities: keys.authorities)
  }

  /// The newest deliveries to a receiver, newest first.
  func deliveries(to hook: String, limit: Int) throws(StoreError) -> [WebhookDelivery] {
    try all(
      """
      SELECT message_id, type, app, channel, at, state, attempts, next_at, tried_at, status, error
      FROM webhook_delivery WHERE webhook_id = ? ORDER BY id DESC LIMIT ?
      """, hook, limit
    ) { (row) throws(StoreError) in try WebhookDelivery(row, from: 0) }
  }

  /// How a receiver fares.
  func state(of hook: Webhook) throws(StoreError) -> WebhookState {
    let sums: (waiting: Int, failed: Int, since: Int64?) =
      try first(
        """
        SELECT waiting,
          (SELECT count(*) FROM webhook_delivery WHERE webhook_id = ?1 AND state <> 'waiting' AND state = 'failed'),
          (SELECT min(at) FROM webhook_delivery INDEXED BY webhook_delivery_tried
            WHERE webhook_id = ?1 AND tried_at IS NOT NULL AND state = 'waiting')
        FROM webhook WHERE id = ?1
        """, hook.id
      ) { ($0.get(0), $0.get(1), $0.get(2)) }
      ?? (0, 0, nil)
    let last = try first(
      """
      SELECT message_id, type, app, channel, at, state, attempts, next_at, tried_at, status, error
      FROM webhook_delivery WHERE webhook_id = ? AND tried_at IS NOT NULL ORDER BY tried_at DESC, id DESC LIMIT 1
      """, hook.id
    ) { (row) throws(StoreError) in try WebhookDelivery(row, from: 0) }
    return WebhookState(
      webhook: hook, waiting: sums.waiting, failed: sums.failed, failingSince: sums.since, last: last)
  }
}

extension Webhook {
  fileprivate init(_ row: Statement) throws(StoreError) {
    let template: String = row.get(5)
    guard let template = WebhookTemplate(rawValue: template) else { throw .corruptRow(template) }
    let disabledAt: Int64? = row.get(9)
    self.init(
      id: row.get(0), url: try Stored.url(row.get(1)),
      // An event that only a newer version knows is left out.
      events: Set(
        row.get(2, as: String.self).split(separator: " ").compactMap { WebhookEvent(rawValue: String($0)) }),
      app: try row.get(3, as: String?.self).map { (text) throws(StoreError) in try Stored.app(text) },
      channel: try row.get(4, as: String?.self).map { (text) throws(StoreError) in try Stored.channel(text) },
      template: template, allowsPrivate: row.get(6, as: Int.self) != 0, author: row.get(7),
      createdAt: row.get(8),
      disabled: disabledAt.map { Disabling(at: $0, reason: row.get(10, as: String?.self) ?? "") },
      hasAuthorities: row.get(11, as: Int.self) != 0)
  }
}

extension WebhookDelivery {
  fileprivate init(_ row: Statement, from column: Int32) throws(StoreError) {
    let state: String = row.get(column + 5)
    guard let state = State(rawValue: state) else { throw .corruptRow(state) }
    let (app, channel): (String, String) = (row.get(column + 2), row.get(column + 3))
    self.init(
      message: row.get(column), type: row.get(column + 1), app: app.isEmpty ? nil : app,
      channel: channel.isEmpty ? nil : channel, at: row.get(column + 4), state: state,
      attempts: row.get(column + 6), nextAt: row.get(column + 7), triedAt: row.get(column + 8),
      status: row.get(column + 9), error: row.get(column + 10))
  }
}
