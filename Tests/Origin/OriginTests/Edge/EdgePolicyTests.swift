import Manifests
import Store
import Testing
import Values

@testable import Origin

/// What shared caches are told, what devices are told, and what is counted.
@Suite struct EdgePolicyTests {
  @Test func agesFollowFromTheTTL() {
    for ttl in EdgePolicy.ttls {
      let policy = EdgePolicy(ttl: ttl)
      #expect(policy.staleWhileRevalidate <= 20 && policy.oldest <= ttl + 20)
      // With five failed polls, half a minute apart, a dead origin is noticed within five minutes.
      #expect(policy.ttl + policy.staleIfError + 7 * 30 <= 300)
      #expect(policy.staleIfError >= policy.staleWhileRevalidate)
    }
    #expect(EdgePolicy(ttl: 1).oldest == 3 && EdgePolicy(ttl: 10).oldest == 30)
  }

  static let headers: [(EdgePolicy.Header, [String: String])] = [
    (
      .cdnCacheControl,
      [
        "Cache-Control": "no-cache",
        "CDN-Cache-Control": "max-age=5, stale-while-revalidate=10, stale-if-error=75",
      ]
    ),
    (
      .surrogate,
      [
        "Cache-Control": "no-cache",
        "Surrogate-Control": "max-age=5, stale-while-revalidate=10, stale-if-error=75",
      ]
    ),
    (.sMaxAge, ["Cache-Control": "max-age=0, s-maxage=5"]),
  ]

  @Test(arguments: headers) func fields(_ header: EdgePolicy.Header, _ wanted: [String: String]) throws {
    let origin = try EdgeAnswerTests.published(EdgePolicy(ttl: 5, header: header))
    for query in ["", "version=2", "version=1&patch=1"] {
      for coding in ["identity", "gzip", "zstd"] {
        let lines = ["Accept-Encoding: \(coding)"]
        let reply = try origin.ask("GET", "/configure.json?\(query)", lines)
        let again = try origin.ask(
          "GET", "/configure.json?\(query)", lines + ["If-None-Match: \(reply.field("ETag") ?? "")"])
        #expect(reply.status == 200 && again.status == 304)
        for answer in [reply, again] {
          for name in ["Cache-Control", "CDN-Cache-Control", "Surrogate-Control"] {
            #expect(answer.field(name) == wanted[name], "\(name) of \(query)")
          }
          #expect(answer.head.lowercased().components(of: "\r\ncache-control:") == 1)
          #expect(answer.field("Surrogate-Key") == "xcache:shop:online")
          #expect(answer.field("Cache-Tag") == "xcache:shop:online")
        }
      }
    }
    // What they may not keep is as it was.
    let other = try origin.ask("GET", "/configure.json?version=3")
    #expect(other.field("Cache-Control") == "no-cache" && other.field("Cache-Tag") == nil)
  }

  /// Every answer has `edge`, whoever may keep it and however it comes about.
  @Test func devicesLearnOfIt() throws {
    let origin = try EdgeAnswerTests.published()
    let targets = [
      "/configure.json", "/configure.json?version=1", "/configure.json?version=1&patch=1",
      "/configure.json?version=2", "/configure.json?version=9&patch=1", "/configure.json?skip=9",
      "/configure.json?candidate=1", "/xcache/shop/configure.json", "/xcache/shop/configure.json?version=2",
      "/xcache-provider/xhr/client/configure.json?version=1&patch=1",
    ]
    func check(_ origin: TestOrigin, _ edge: Int64?, _ place: String) throws {
      for target in targets {
        let data = try origin.ask("GET", target).json["data"]
        #expect(data != nil && data?["edge"]?.integer == edge, "\(target), \(place)")
      }
    }
    let online = EdgeAnswerTests.online
    try check(origin, 10, "after releases")
    #expect(try origin.api("POST", "\(online)/policy", ["act": "kill", "message": "x"]).status == 201)
    try check(origin, 10, "after a policy")
    #expect(try origin.api("POST", "\(online)/settings", ["interval": 60]).status == 200)
    try check(origin, 10, "after a setting")
    #expect(try origin.candidate(["a.js": "three"]).status == 201)
    try check(origin, 10, "in a rollout")
    #expect(try origin.api("POST", "\(online)/rollout/complete", [:]).status == 200)
    try check(origin, 10, "after a rollout")
    let tag = try origin.ask("GET", "/configure.json").field("ETag")
    let longer = try origin.restarted { $0.edge = EdgePolicy(ttl: 20) }
    try check(longer, 20, "after a restart")
    #expect(try longer.ask("GET", "/configure.json").field("ETag") != tag)
    let without = try origin.restarted()
    try check(without, nil, "without a cache")
    #expect(try without.ask("GET", "/configure.json").field("ETag") != tag)
    // New apps and channels.
    try origin.publish(["a.js": "a"], app: "other")
    #expect(try origin.ask("GET", "/configure.json?app=other").json["data"]?["edge"]?.integer == 10)
  }

  /// A copy isn't behind the cache, so what it says isn't about one.
  @Test func copiesDontHaveIt() throws {
    let origin = try EdgeAnswerTests.published()
    let channel = try origin.store.channel(try AppName("shop"), .online)
    #expect(try origin.store.answerExtras(of: channel).edge == nil)
    for document in [
      MirrorDocument.whole(ManifestVersion(2)), .patch(from: ManifestVersion(1), to: ManifestVersion(2)),
    ] {
      let bytes = try origin.store.mirrorDocument(document, of: channel)
      #expect(!String(decoding: bytes, as: UTF8.self).contains("\"edge\""))
      let reply = try origin.api("GET", "\(EdgeAnswerTests.online)/mirror/document?\(document.query)")
      #expect(reply.status == 200 && !reply.text.contains("\"edge\""))
    }
    let overview = try origin.api("GET", "mirror")
    #expect(overview.status == 200 && !overview.text.contains("\"edge\""))
  }

  /// The polls that come through say nothing about how many there are, but for those at addresses that no cache keeps.
  @Test func pollsThatCachesTakeArentCounted() throws {
    for (policy, counted) in [(EdgePolicy?.none, Int64(6)), (EdgePolicy(ttl: 10), 2)] {
      let origin = try EdgeAnswerTests.published(policy)
      for target in [
        "/configure.json?version=2", "/configure.json?version=2", "/configure.json?version=9",
        "/xcache/shop/configure.json?version=2", "/configure.json",
        "/xcache-provider/xhr/client/configure.json?version=2",
      ] { _ = try origin.ask("GET", target) }
      origin.origin.adoption.flush()
      let hour = try origin.api("GET", "\(EdgeAnswerTests.online)/adoption").json["hour"]
      let polls = (hour?["versions"]?.array ?? []).reduce(0) { $0 + ($1["polls"]?.integer ?? 0) }
      #expect(polls == counted)
    }
  }

  /// Reports are then all that tells which versions are in use.
  @Test func reportsCantBeTurnedOff() throws {
    let origin = try EdgeAnswerTests.published()
    let settings = "\(EdgeAnswerTests.online)/settings"
    for body: JSONValue in [["reports": 0], ["interval": 60, "reports": 0]] {
      let refused = try origin.api("POST", settings, body)
      #expect(refused.status == 409 && refused.json["code"]?.string == "reports-needed")
      #expect(refused.json["detail"]?.string?.contains("--edge-ttl") == true)
      #expect(try origin.api("GET", settings).json["interval"]?.integer == nil)
    }
    for (reports, status): (JSONValue, Int) in [(1, 200), (10_000, 200), (.null, 200), (-1, 400)] {
      #expect(try origin.api("POST", settings, ["reports": reports]).status == status, "\(reports)")
    }
    let unknown = try origin.api("POST", "apps/shop/channels/none/settings", ["reports": 0])
    #expect(unknown.status == 404)
    let without = try origin.restarted()
    #expect(try without.api("POST", settings, ["reports": 0]).status == 200)
  }
}

extension String {
  /// The number of places where `text` is.
  fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
