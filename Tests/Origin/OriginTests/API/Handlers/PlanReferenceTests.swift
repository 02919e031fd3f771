import HTTP
import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Releases that refer to the plan of a preparation.
@Suite struct PlanReferenceTests {
  private static let online = "apps/shop/channels/online"

  private static func prepare(_ origin: TestOrigin, _ body: JSONValue, token: String? = nil) throws -> String
  {
    let reply = try origin.api("POST", "\(online)/preparations", body, token: token)
    let plan = try #require(reply.json["plan"]?.string, "\(reply.text)")
    #expect(plan == SHA256.of(body.canonical).hex)
    return plan
  }

  private static func release(_ origin: TestOrigin, _ plan: String, token: String? = nil) throws
    -> TestOrigin.Reply
  {
    try origin.api(
      "POST", "\(online)/releases", ["message": "named", "now": true, "plan": .string(plan)], token: token)
  }

  @Test func planIsSentOnce() throws {
    let origin = try TestOrigin()
    let plan = try Self.prepare(origin, origin.release(["a.js": "a", "b.js": "b"]))
    let reply = try Self.release(origin, plan)
    #expect(reply.status == 201 && reply.json["added"]?.integer == 2, "\(reply.text)")
    let log = try origin.api("GET", "\(Self.online)/log").json["releases"]?.array
    #expect(log?.first?["message"]?.string == "named")
    // It is removed with its release.
    let again = try Self.release(origin, plan)
    #expect(again.status == 404 && again.json["code"]?.string == "unknown-plan", "\(again.text)")
  }

  @Test func concurrentReleasesOfOnePlan() throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a"])
    let plan = try Self.prepare(origin, body)
    #expect(try Self.prepare(origin, body) == plan)
    let key = "Idempotency-Key: 0123456789abcdef"
    let named: JSONValue = ["now": true, "plan": .string(plan)]
    let replies = try (0..<2).map { _ in
      try origin.ask(
        "POST", "/api/v1/\(Self.online)/releases", ["Authorization: Bearer \(origin.token)", key],
        body: named.canonical)
    }
    // The retry gets the first attempt's answer, though the plan is gone.
    #expect(replies.map(\.status) == [201, 201] && replies[0].body == replies[1].body)
    #expect(try Self.release(origin, plan).status == 404)
  }

  @Test func dryRunKeepsThePlan() throws {
    let origin = try TestOrigin()
    let plan = try Self.prepare(origin, origin.release(["a.js": "a"]))
    let dry: JSONValue = ["dryRun": true, "plan": .string(plan)]
    #expect(try origin.api("POST", "\(Self.online)/releases", dry).status == 200)
    #expect(try Self.release(origin, plan).status == 201)
  }

  @Test func plansDoNotSurviveARestart() throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a"])
    let plan = try Self.prepare(origin, body)
    let other = try origin.restarted()
    #expect(try Self.release(other, plan).json["code"]?.string == "unknown-plan")
    // The whole request is accepted.
    #expect(try other.api("POST", "\(Self.online)/releases", body).status == 201)
  }

  @Test func planBelongsToItsTokenAndChannel() throws {
    let origin = try TestOrigin()
    try origin.publish(["z.js": "z"], bundle: "other")
    let plan = try Self.prepare(origin, origin.release(["a.js": "a"]))
    let stranger = try origin.newToken(["name": "stranger", "scope": "publish"])
    #expect(try Self.release(origin, plan, token: stranger).json["code"]?.string == "unknown-plan")
    let there = try origin.api("POST", "apps/shop/channels/test/releases", ["plan": .string(plan)])
    #expect(there.json["code"]?.string == "unknown-plan")
    #expect(try Self.release(origin, plan).status == 201)
  }

  @Test func progressIsForThePlansTokenAndChannel() throws {
    let origin = try TestOrigin()
    try origin.publish(["z.js": "z"], bundle: "other")
    #expect(try origin.api("POST", "apps/shop/channels/test/create", [:]).status == 201)
    let body = try origin.release(["a.js": "a"])
    func ask(_ id: JSONValue, token: String? = nil, in channel: String = Self.online) throws
      -> TestOrigin.Reply
    {
      try origin.api("POST", "\(channel)/preparations", ["id": id], token: token)
    }
    let id = try #require(try origin.api("POST", "\(Self.online)/preparations", body).json["id"])
    #expect(try ask(id).status == 200)
    // Another token, and another channel.
    let stranger = try origin.newToken(["name": "stranger", "scope": "publish"])
    let others = [try ask(id, token: stranger), try ask(id, in: "apps/shop/channels/test")]
    for other in others {
      #expect(other.status == 404 && other.json["code"]?.string == "unknown-preparation", "\(other.text)")
    }
    // Two clients with the same plan get the same preparation.
    let same = try origin.api("POST", "\(Self.online)/preparations", body, token: stranger)
    #expect(same.json["id"] == id)
    #expect(try ask(id, token: stranger).status == 200)
  }

  @Test func planAndBundlesExcludeEachOther() throws {
    let origin = try TestOrigin()
    let body = try origin.release(["a.js": "a"])
    let plan = try Self.prepare(origin, body)
    var both = try #require(body.object)
    both["plan"] = .string(plan)
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(both)).status == 400)
    #expect(try origin.api("POST", "\(Self.online)/releases", ["plan": "x"]).status == 400)
    #expect(try origin.api("POST", "\(Self.online)/releases", ["plan": 1]).status == 400)
  }

  /// Missing blobs are named, and the plan is kept for the next attempt.
  @Test func refusedReleaseKeepsThePlan() throws {
    let origin = try TestOrigin()
    try origin.publish(["z.js": "z"])
    let plan = try Self.prepare(origin, origin.release(["a.js": "a"]))
    let named: JSONValue = ["ifVersion": "0", "now": true, "plan": .string(plan)]
    #expect(try origin.api("POST", "\(Self.online)/releases", named).status == 409)
    #expect(try Self.release(origin, plan).status == 201)
  }

  @Test func cacheIsBounded() throws {
    let now = Locked<UInt64>(0)
    let plans = PlanCache(maxBytes: 100_000, maxTokenBytes: 45_000) { now.withLock { $0 } }
    func names(_ token: String) throws -> [PlanCache.Name] {
      try (0..<20).map {
        PlanCache.Name(
          token: token, app: try AppName("shop"), channel: try ChannelName("online"),
          sha256: SHA256.of([UInt8($0)]))
      }
    }
    let (first, second, third) = (try names("a"), try names("b"), try names("c"))
    let isKept = (first + second).map { plans.keep([], as: $0) }
    #expect(isKept.allSatisfy { $0 })
    // A token's new plans evict its own oldest ones, and no others.
    #expect(first.map { plans.plan($0) != nil } == first.indices.map { $0 >= 10 })
    #expect(second.map { plans.plan($0) != nil } == second.indices.map { $0 >= 10 })
    let more = third.prefix(5).map { plans.keep([], as: $0) }
    #expect(more == [true, true, true, true, false])
    // The memory counts, not the size of the request.
    let url = try ResourceURL("https://m.example.com/" + String(repeating: "a", count: 4000))
    let large = BundleChange(try BundleName("main"), .update(base: .none, set: [:], remove: [url]))
    let isLargeKept = plans.keep(Array(repeating: large, count: 12), as: first[0])
    #expect(!isLargeKept)
    now.withLock { $0 = 299_999_999_999 }
    plans.dropOld()
    #expect(plans.plan(first[19]) != nil)
    plans.drop(first[15])
    #expect(plans.plan(first[15]) == nil)
    now.withLock { $0 = 300_000_000_000 }
    plans.dropOld()
    #expect(plans.plan(first[19]) == nil)
  }
}
