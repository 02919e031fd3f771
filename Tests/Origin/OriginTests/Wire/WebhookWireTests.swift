import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// The API of webhooks, byte for byte.
@Suite struct WebhookWireTests {
  @Test func webhooks() throws {
    let golden = try WireGolden(varying: ["id", "receipt", "secret"])
    let hook = "https://ci.example.com/hook"
    let escaped = PercentEncoding.encode(hook)
    let own: JSONValue = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    try golden.ask("GET", "webhooks")
    let made = try golden.ask(
      "POST", "webhooks",
      [
        "app": "shop", "channel": "online", "events": ["release", "kill"], "secret": own,
        "url": .string(hook),
      ])
    #expect(made["secret"] == nil)
    // A secret made by the origin differs each time.
    let given = try golden.origin.api("POST", "webhooks", ["url": "https://x.example.com"])
    #expect(given.status == 201 && given.json["secret"]?.string?.hasPrefix("whsec_") == true)
    let refused: [JSONValue] = [
      [:], ["url": "https://x.example.com", "events": ["deploy"]],
      ["url": "https://x.example.com", "events": []],
      ["url": "https://x.example.com", "channel": "online"],
      ["url": "https://x.example.com", "template": "xml"],
      ["url": "https://x.example.com", "secret": "whsec_"],
      ["url": "http://x.example.com"], ["url": "https://10.0.0.1"],
      ["url": "https://169.254.169.254", "allowPrivate": true],
      ["url": "https://x.example.com", "name": "x"],
    ]
    for body in refused { try golden.ask("POST", "webhooks", body) }
    try golden.ask(
      "POST", "webhooks",
      ["allowPrivate": true, "secret": own, "template": "slack", "url": "http://10.0.0.1"])
    try golden.origin.publish(["a.js": "one"])
    let list = try golden.ask("GET", "webhooks")
    #expect(JSONValue(encoding: try list.decode(WebhookList.self)) == list)
    try golden.ask("GET", "webhooks/\(escaped)")
    try golden.ask("POST", "webhooks/\(escaped)/test", [:])
    let deliveries = try golden.ask("GET", "webhooks/\(escaped)/deliveries")
    #expect(JSONValue(encoding: try deliveries.decode(WebhookDeliveryList.self)) == deliveries)
    try golden.ask("GET", "webhooks/\(escaped)/deliveries?limit=0")
    try golden.ask("GET", "webhooks/none")
    try golden.ask("DELETE", "webhooks/\(escaped)")
    try golden.ask("DELETE", "webhooks/\(escaped)")
    let token = try golden.origin.api("POST", "tokens", ["name": "ci", "scope": "publish"])
    try golden.ask("GET", "webhooks", token: token.json["token"]?.string)
    try golden.check("webhooks")
  }

  /// Tokens with access to the whole origin see failing receivers, without the path of their URL.
  @Test func failingReceiverIsAProblem() throws {
    let now = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { now.withLock { $0 } })
    func problem() throws -> String? {
      let state = FleetState(
        origin: "o1", health: [], recent: [:], damaged: [], mirrors: [], progress: [:], staged: [],
        disk: DiskUse(at: Moment(milliseconds: 0), size: 9, available: 9, stored: 0), scrubbed: nil,
        webhooks: try origin.store.webhooks(),
        now: origin.store.now)
      let mayRead = { (_: AppName, _: ChannelName) in true }
      #expect(!state.overview(disk: false, where: mayRead).problems.contains { $0.code == "webhook" })
      return state.overview(disk: true, where: mayRead).problems.first { $0.code == "webhook" }?.detail
    }
    let made = try origin.api("POST", "webhooks", ["url": "https://ci.example.com/path-of-it"])
    let id = try #require(made.json["webhook"]?["id"]?.string)
    try origin.publish(["a.js": "one"])
    func attempt(_ outcome: WebhookOutcome) throws {
      let head = try #require(try origin.store.webhookHeads().first)
      let job = try #require(try origin.store.webhookJob(head.row))
      _ = try origin.store.record(outcome, of: job)
    }
    try attempt(.answered(status: 500))
    #expect(try problem() == nil)
    now.withLock { $0 += 16 * 60_000 }
    let failing = try #require(try problem())
    #expect(failing.contains("\(id) to https://ci.example.com has failed since"))
    #expect(
      failing.contains("1 message waits. The last attempt: status 500") && !failing.contains("path-of-it"))
    now.withLock { $0 += 86_400_000 }
    try attempt(.failed("no host"))
    #expect(try problem()?.contains("1 message was given up. The last attempt: no host") == true)
    try origin.publish(["a.js": "two"])
    try attempt(.answered(status: 200))
    #expect(try problem() == nil)
    try origin.publish(["a.js": "three"])
    try attempt(.answered(status: 410))
    #expect(try problem()?.contains("is disabled since") == true)
  }
}
