import CSQLite
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

@Suite struct WebhookTests {
  let scratch = Scratch()
  let now = Locked<Int64>(1_700_000_000_000)
  let anna = Actor(name: "anna", address: "10.0.0.7")

  private func open() throws -> Store {
    var options = Store.Options()
    options.clock = { [now] in now.withLock { $0 } }
    return try scratch.open(options)
  }

  private func draft(_ change: (inout WebhookDraft) -> Void = { _ in }) throws -> WebhookDraft {
    var draft = WebhookDraft(url: try ResourceURL("https://ci.example.com/hook/secret-path"))
    change(&draft)
    return draft
  }

  /// The next delivery of a store with one channel.
  private func firstJob(_ store: Store) throws -> WebhookJob {
    let head = try #require(try store.webhookHeads().first)
    return try #require(try store.webhookJob(head.row))
  }

  /// The bodies of pending messages, in the order of delivery.
  private func bodies(_ store: Store, _ hook: Webhook) throws -> [JSONValue] {
    var rows: [Int64] = []
    var all: [JSONValue] = []
    while let head = try store.webhookHeads().filter({ $0.webhook == hook.id }).min(by: { $0.row < $1.row }) {
      try #require(!rows.contains(head.row))
      rows.append(head.row)
      let job = try #require(try store.webhookJob(head.row))
      all.append(try JSONValue.parse(job.body))
      #expect(try store.record(.answered(status: 200), of: job) == .delivered)
    }
    return all
  }

  private func policy(_ store: Store, _ kind: DocumentRecord.Kind, _ change: (inout Policy) -> Void) throws {
    let request = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: .policy, kind: kind, author: "anna",
      message: "why <b>")
    _ = try store.change(
      request,
      change: { _, newest in
        var policy = newest?.policy ?? .none
        change(&policy)
        return JSONValue.object(policy.json).canonical
      })
  }

  @Test func actsAreQueuedOnceInOrder() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft(), by: anna)
    let shop = try AppName("shop")
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    try store.publish(base: 1, set: ["f.js": Sample("b"), "g.js": Sample("c")])
    _ = try store.rollback(
      RollbackInput(app: shop, channel: .online, to: .steps(1), by: anna, message: "it burns"))
    try policy(store, .kill) { $0.intercept = false }
    let pattern = try MatchPattern("https://m.example.com/pay/*")
    try policy(store, .bypass) { $0.add(Policy.Bypass(pattern, until: nil)) }
    try policy(store, .resume) { $0.intercept = true }
    _ = try store.freezeChannel(shop, .online, reason: "sale", by: anna)
    _ = try store.thawChannel(shop, .online, by: anna)
    // Unchanged acts, and acts without an event, aren't queued.
    _ = try store.thawChannel(shop, .online, by: anna)
    _ = try store.createToken(name: "ci", scope: .publish, by: anna)
    let messages = try bodies(store, hook)
    #expect(
      messages.map { $0["type"]?.string } == [
        "release", "release", "rollback", "kill", "bypass", "resume", "freeze", "thaw",
      ])
    #expect(messages.allSatisfy { $0["timestamp"]?.string == Timestamp.text(1_700_000_000_000) })
    #expect(
      messages.allSatisfy {
        $0["data"]?["app"]?.string == "shop" && $0["data"]?["channel"]?.string == "online"
      })
    let release = messages[1]["data"]
    #expect(release?["kind"]?.string == "publish" && release?["version"]?.string == "2")
    #expect(release?["previous"]?.string == "1" && release?["author"]?.string == "ci")
    #expect(release?["message"]?.string == "a message" && release?["bundles"] == ["main"])
    #expect(release?["changes"] == ["added": 1, "changed": 1, "removed": 0])
    #expect(release?["receipt"]?.string?.contains(":") == true)
    #expect(messages[2]["data"]?["to"]?.string == "1" && messages[2]["data"]?["version"]?.string == "3")
    #expect(messages[3]["data"]?["message"]?.string == "why <b>")
    #expect(messages[4]["data"]?["added"] == ["https://m.example.com/pay/*"])
    #expect(
      messages[6]["data"]?["reason"]?.string == "sale" && messages[7]["data"]?["reason"]?.string == "sale")
  }

  @Test func purgeIsReportedToWebhooksOfItsChannels() throws {
    let store = try open()
    let shop = try store.addWebhook(try draft { $0.app = try? AppName("shop") }, by: anna)
    let other = try store.addWebhook(try draft { $0.app = try? AppName("other") }, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a"), "g.js": Sample("g")])
    let sha256 = SHA256.of(Array("a".utf8))
    try store.forbid(sha256, reason: "a key", by: anna)
    try store.publish(base: 1, remove: ["f.js"])
    _ = try store.erase(try store.purgePlan(sha256), reason: "a key", by: anna)
    let messages = try bodies(store, shop)
    #expect(messages.map { $0["type"]?.string } == ["release", "release", "purge"])
    #expect(messages[2]["data"]?["channels"] == [["app": "shop", "channel": "online"]])
    #expect(messages[2]["data"]?["sha256"]?.string == sha256.hex)
    #expect(try bodies(store, other).isEmpty)
  }

  @Test func slackTextIsOneLineWithoutMarkup() throws {
    let store = try open()
    let hook = try store.addWebhook(
      try draft {
        $0.template = .slack
        $0.events = [.freeze]
      }, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    _ = try store.freezeChannel(
      try AppName("shop"), .online, reason: "<!channel> R&D\nsays <https://evil.example|so>", by: anna)
    #expect(
      try bodies(store, hook) == [
        [
          "text":
            "shop online: anna froze the channel: &lt;!channel&gt; R&amp;D says &lt;https://evil.example|so&gt;"
        ]
      ])
  }

  @Test func otherAppsAndChannelsAreFiltered() throws {
    let store = try open()
    let hooks = try [
      draft { $0.app = try? AppName("shop") },
      draft { ($0.app, $0.channel) = (try? AppName("shop"), .online) },
      draft { ($0.app, $0.channel) = (try? AppName("shop"), try? ChannelName("test")) },
      draft { $0.app = try? AppName("other") }, draft { $0.events = [.rollback] },
    ].map { try store.addWebhook($0, by: anna) }
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    let counts = try hooks.map { try store.webhook($0.id).waiting }
    #expect(counts == [1, 1, 0, 0, 0])
  }

  @Test func channelsAreDeliveredIndependently() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft { $0.events = [.freeze, .thaw] }, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    let (shop, test) = (try AppName("shop"), try ChannelName("test"))
    _ = try store.createChannel(shop, test, publicURL: try BaseURL("https://cdn.example.com"), by: anna)
    _ = try store.freezeChannel(shop, .online, reason: "one", by: anna)
    _ = try store.thawChannel(shop, .online, by: anna)
    _ = try store.freezeChannel(shop, test, reason: "two", by: anna)
    let heads = try store.webhookHeads()
    #expect(heads.count == 2)
    let first = try #require(heads.min { $0.row < $1.row })
    let job = try #require(try store.webhookJob(first.row))
    guard case .retry(let at, _) = try store.record(.answered(status: 500), of: job, spread: 0) else {
      Issue.record("not retried")
      return
    }
    #expect(at == 1_700_000_005_000)
    // The same message is the next one again, with the same id; the other channel's is due now.
    let again = try store.webhookHeads()
    #expect(again.contains(WebhookSchedule.Head(row: first.row, webhook: hook.id, due: at)))
    #expect(WebhookSchedule(again, busy: [], now: 1_700_000_000_000).begin.map(\.row) == [first.row + 2])
    let repeated = try #require(try store.webhookJob(first.row))
    #expect(repeated.delivery.message == job.delivery.message && repeated.body == job.body)
    #expect(repeated.delivery.attempts == 1 && repeated.delivery.error == "status 500")
    // A late outcome changes nothing.
    _ = try store.record(.answered(status: 200), of: repeated)
    _ = try store.record(.answered(status: 500), of: job)
    #expect(try store.deliveries(to: hook.id, limit: 9).last?.state == .delivered)
  }

  @Test func queueSurvivesARestart() throws {
    let hook: Webhook
    let message: String
    do {
      let store = try open()
      hook = try store.addWebhook(try draft(), by: anna)
      try store.publish(base: 0, set: ["f.js": Sample("a")])
      message = try store.deliveries(to: hook.id, limit: 1)[0].message
    }
    let store = try open()
    let job = try firstJob(store)
    #expect(job.delivery.message == message && job.webhook.id == hook.id)
  }

  @Test func failedActQueuesNothing() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft(), by: anna)
    #expect(throws: StoreError.self) {
      try store.freezeChannel(try AppName("shop"), .online, reason: "x", by: anna)
    }
    #expect(throws: StoreError.self) {
      let request = RollbackInput(
        app: try AppName("shop"), channel: .online, to: .steps(1), by: anna, message: "nothing to go back to")
      _ = try store.rollback(request)
    }
    _ = try store.publish(base: 0, set: ["f.js": Sample("a")], dryRun: true)
    #expect(try store.webhook(hook.id).waiting == 0)
  }

  @Test func goneDisablesTheWebhook() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft(), by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    try store.publish(base: 1, set: ["f.js": Sample("b")])
    let job = try firstJob(store)
    _ = try store.record(.answered(status: 410), of: job)
    try store.publish(base: 2, set: ["f.js": Sample("c")])
    let state = try store.webhook(hook.id)
    #expect(state.webhook.disabled?.reason == "the receiver answered 410 Gone")
    #expect(state.waiting == 0 && state.failed == 2)
    #expect(try store.webhookHeads().isEmpty)
    #expect(throws: StoreError.self) { try store.testWebhook(hook.id, by: anna) }
    #expect(try store.auditLog(limit: 2).map(\.act) == ["publish", "webhook.disable"])
  }

  @Test func finishedDeliveriesAreKeptForAWhile() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft { $0.events = [.freeze] }, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    func freezes(_ count: Int) throws {
      for number in 0..<count {
        _ = try store.freezeChannel(try AppName("shop"), .online, reason: "\(number)", by: anna)
      }
      #expect(try bodies(store, hook).count == count)
    }
    try freezes(103)
    #expect(try store.deliveries(to: hook.id, limit: 1000).count == 100)
    now.withLock { $0 += 31 * 86_400_000 }
    try freezes(1)
    #expect(try store.deliveries(to: hook.id, limit: 1000).count == 1)
  }

  @Test func queueOfAFailingReceiverIsBounded() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft { $0.events = [.freeze] }, by: anna)
    try store.connections.transaction { (db) throws(StoreError) in
      for _ in 0..<10_002 { _ = try db.queue(.test(of: hook, by: anna), for: hook, now: 1) }
    }
    let state = try store.webhook(hook.id)
    #expect(state.waiting == 10_000 && state.failed == 2)
    // Dropped messages are kept like other finished ones.
    try store.connections.transaction { (db) throws(StoreError) in
      for _ in 0..<200 { _ = try db.queue(.test(of: hook, by: anna), for: hook, now: 1) }
    }
    #expect(try store.webhook(hook.id).failed == 100)
    _ = try store.record(.answered(status: 410), of: try firstJob(store))
    let after = try store.webhook(hook.id)
    #expect(after.webhook.disabled != nil && after.waiting == 0 && after.failed <= 100)
  }

  /// With 20,000 pending messages, an act and an attempt read only their own rows.
  @Test func manyPendingMessagesCostNothing() throws {
    let store = try open()
    let apps = try (0..<5).map { try AppName("app\($0)") }
    let hooks = try (0..<20).map { _ in try store.addWebhook(try draft(), by: anna) }
    try store.connections.transaction { (db) throws(StoreError) in
      for number in 0..<1000 {
        let place = EventChannel(app: apps[number % 5], channel: .online)
        let message = WebhookMessage(type: "freeze", places: [place], data: [:], text: "")
        for hook in hooks { _ = try db.queue(message, for: hook, now: 1) }
      }
    }
    let heads = try store.webhookHeads()
    #expect(heads.count == 100)
    #expect(Set(heads.map(\.row)) == Set(1...100))
    let steps = try store.connections.reading { (db) throws(StoreError) in
      _ = db.counter(SQLITE_STMTSTATUS_VM_STEP, reset: true)
      _ = try db.webhookHeads()
      let heads = db.counter(SQLITE_STMTSTATUS_VM_STEP, reset: true)
      for hook in hooks { _ = try db.state(of: hook) }
      return (heads: heads, states: db.counter(SQLITE_STMTSTATUS_VM_STEP))
    }
    #expect(steps.heads < 20_000 && steps.states < 5_000, "\(steps)")
  }

  @Test func webhookRemovedDuringADeliveryStaysRemoved() throws {
    let store = try open()
    let hook = try store.addWebhook(try draft(), by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    let job = try firstJob(store)
    _ = try store.removeWebhook(hook.id, by: anna)
    _ = try store.record(.answered(status: 410), of: job)
    #expect(try store.auditLog(limit: 1).map(\.act) == ["webhook.remove"])
  }

  @Test func messagesLinkToTheConsole() throws {
    let store = try open()
    store.setConsole(try BaseURL("https://xcache.example.com/console/"))
    let hook = try store.addWebhook(try draft(), by: anna)
    let slack = try store.addWebhook(try draft { $0.template = .slack }, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    _ = try store.freezeChannel(try AppName("shop"), .online, reason: "sale", by: anna)
    let links = try bodies(store, hook).map { $0["data"]?["console"]?.string }
    #expect(
      links == [
        "https://xcache.example.com/console/#/release/shop/online/1",
        "https://xcache.example.com/console/#/channel/shop/online",
      ])
    #expect(
      try bodies(store, slack)[1]["text"]?.string
        == "shop online: anna froze the channel: sale https://xcache.example.com/console/#/channel/shop/online"
    )
  }

  @Test func removalErasesTheKey() throws {
    let store = try open()
    var keyed = try draft()
    keyed.secret = try #require(WebhookSecret("whsec_" + Base64.encode([UInt8](repeating: 0x5A, count: 40))))
    let hook = try store.addWebhook(keyed, by: anna)
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    let key = [UInt8](repeating: 0x5A, count: 40)
    func database() throws -> [UInt8] { try DurableFile.read(scratch.data + "/xcache.db") ?? [] }
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(try String(decoding: database(), as: UTF8.self).contains(String(decoding: key, as: UTF8.self)))
    #expect(try store.removeWebhook(hook.url.text, by: anna).id == hook.id)
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(try !String(decoding: database(), as: UTF8.self).contains(String(decoding: key, as: UTF8.self)))
    #expect(try store.webhookHeads().isEmpty && store.webhooks().isEmpty)
    #expect(throws: StoreError.self) { try store.webhook(hook.id) }
    // Neither the key nor the path of the URL is in the audit trail.
    let trail = try store.auditRows(after: 0, limit: 100)
    #expect(trail.map(\.act).filter { $0.hasPrefix("webhook") } == ["webhook.add", "webhook.remove"])
    #expect(trail.allSatisfy { !($0.parameters + $0.result).contains("secret-path") })
    #expect(trail.allSatisfy { !($0.parameters + $0.result).contains("whsec_") })
  }

  @Test func severalWithOneURLNeedAnID() throws {
    let store = try open()
    let hooks = try [draft(), draft()].map { try store.addWebhook($0, by: anna) }
    var named: [String] = []
    do { _ = try store.webhook(hooks[0].url.text) } catch .severalWebhooks(let ids) { named = ids }
    #expect(named.sorted() == hooks.map(\.id).sorted())
    #expect(try store.webhook(hooks[1].id).webhook == hooks[1])
  }

  @Test func lateMirrorIsReportedOnce() throws {
    let store = try open()
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    func mirror(_ version: Int64) throws {
      try store.register(
        mirror: "www",
        [ChannelVersion(app: try AppName("shop"), channel: .online, version: ManifestVersion(version))])
    }
    try mirror(1)
    let hook = try store.addWebhook(try draft { $0.events = [.mirrorLate] }, by: anna)
    func look(_ minutes: Int64) throws -> Int {
      now.withLock { $0 += minutes * 60_000 }
      try store.announceLateMirrors()
      return try store.webhook(hook.id).waiting
    }
    #expect(try look(600) == 0)
    try store.publish(base: 1, set: ["f.js": Sample("b")])
    #expect(try look(60) == 0)
    // It stays late after further releases.
    try store.publish(base: 2, set: ["f.js": Sample("c")])
    #expect(try look(1) == 1)
    #expect(try look(100) == 1)
    let messages = try bodies(store, hook)[0]
    #expect(messages["type"]?.string == "mirror-late")
    #expect(messages["data"]?["mirror"]?.string == "www" && messages["data"]?["mirrorVersion"]?.string == "1")
    #expect(messages["data"]?["version"]?.string == "3")
    try mirror(3)
    #expect(try look(1) == 0)
    try store.publish(base: 3, set: ["f.js": Sample("d")])
    #expect(try look(61) == 1)
  }

  /// The example of the specification's reference libraries.
  @Test func signatureMatchesStandardWebhooks() throws {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    #expect(
      secret.signature(
        of: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330, Array(#"{"test": 2432232314}"#.utf8))
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test(arguments: [
    "", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!!!",
    "whsec_" + Base64.encode([UInt8](repeating: 1, count: 23)),
    "whsec_" + Base64.encode([UInt8](repeating: 1, count: 65)),
  ])
  func invalidSecrets(text: String) { #expect(WebhookSecret(text) == nil) }
}
