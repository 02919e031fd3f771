import HTTP
import System
import Testing
import Values

@testable import Origin

@Suite struct LimitTests {
  private static let online = "apps/shop/channels/online"

  /// What a token for bundles `activity-*` may and may not do.
  static let acts: [(String, JSONValue, Int)] = [
    ("releases", ["bundles": [["bundle": "activity-1", "unpublish": true]]], 201),
    ("releases", ["bundles": [["bundle": "main", "unpublish": true]]], 403),
    ("rollback", ["bundle": "activity-1", "steps": 1], 201),
    ("rollback", ["bundle": "main", "steps": 1], 403),
    ("rollback", ["allBundles": true, "steps": 1], 403),
    ("promote", ["bundle": "activity-1", "from": "test"], 200),
    ("promote", ["from": "test"], 403), ("freeze", ["reason": "no"], 403),
    ("prefetch", ["document": []], 403), ("settings", ["interval": 60], 403),
    // A version contains all bundles.
    ("pins", ["reason": "mine", "version": "1"], 403),
  ]

  @Test func tokenForSomeBundles() throws {
    let origin = try TestOrigin()
    for channel in ["online", "test"] {
      try origin.publish(["m.js": "m"], bundle: "main", channel: channel)
      try origin.publish(["a.js": "a"], bundle: "activity-1", channel: channel)
    }
    let body: JSONValue = ["bundles": "activity-*", "expiresIn": 3600, "name": "ci", "scope": "publish"]
    let token = try origin.api("POST", "tokens", body).json["token"]?.string
    for (path, body, status) in Self.acts {
      let reply = try origin.api("POST", "\(Self.online)/\(path)", body, token: token)
      #expect(reply.status == status, "\(path): \(reply.text)")
    }
    #expect(try origin.api("POST", "\(Self.online)/pins", ["reason": "keep", "version": "1"]).status == 201)
    #expect(try origin.api("DELETE", "\(Self.online)/pins/1", token: token).status == 403)
    let listed = try origin.api("GET", "tokens").json["tokens"]?.array?.first { $0["name"]?.string == "ci" }
    #expect(listed?["bundles"]?.string == "activity-*" && listed?["expiresAt"]?.string != nil)
    let bad: [JSONValue] = [
      ["bundles": "a/b", "name": "x", "scope": "publish"], ["bundles": "*", "name": "x", "scope": "admin"],
      ["expiresIn": 0, "name": "x", "scope": "read"],
    ]
    for body in bad { #expect(try origin.api("POST", "tokens", body).status == 400) }
  }

  @Test func auditTrailIsForAdminsAndHasNoTokens() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let token =
      try origin.api("POST", "tokens", ["name": "ci", "scope": "publish"]).json["token"]?.string ?? ""
    #expect(try origin.api("GET", "audit", token: token).status == 403)
    let log = try origin.api("GET", "audit")
    let rows = log.json["rows"]?.array ?? []
    #expect(rows.compactMap { $0["act"]?.string } == ["token.create", "publish", "token.create"])
    #expect(!log.text.contains(token) && !log.text.contains(String(token.suffix(20))))
    let page = try origin.api("GET", "audit/export?after=1").json["rows"]?.array
    #expect(page?.compactMap { $0["id"]?.integer } == [2, 3])
  }

  @Test func wrongTokensBlockAnAddressTemporarily() throws {
    let time = Locked<Int64>(0)
    let attempts = LoginAttempts(now: { time.withLock { $0 } })
    let (failing, good) = (IPAddress(v4: 1), IPAddress(v4: 2))
    for _ in 0..<LoginAttempts.freeFailures {
      #expect(attempts.retryDelay(failing) == nil)
      attempts.noteFailure(failing)
    }
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      #expect(attempts.retryDelay(failing) == nil)
      attempts.noteFailure(failing)
      #expect(attempts.retryDelay(failing) == seconds)
      #expect(attempts.retryDelay(good) == nil)
      time.withLock { $0 += Int64(seconds) * 1000 }
    }
    time.withLock { $0 += 600_001 }
    attempts.noteFailure(failing)
    #expect(attempts.retryDelay(failing) == nil)
    #expect(attempts.metrics.contains("xcache_token_failures_total 18\n"))
    #expect(attempts.metrics.contains("xcache_token_refusals_total 7\n"))
    // Addresses of one IPv6 network count as one; many networks evict the oldest, and the memory is bounded.
    for low in 0..<11 { attempts.noteFailure(IPAddress(high: 7, low: UInt64(low))) }
    #expect(attempts.retryDelay(IPAddress(high: 7, low: 99)) == 1)
    for high in 0..<5000 { attempts.noteFailure(IPAddress(high: UInt64(high + 100), low: 1)) }
  }

  @Test func failingAddressGetsRetryAfter() throws {
    let origin = try TestOrigin()
    var statuses: [Int] = []
    for _ in 0...LoginAttempts.freeFailures + 1 {
      statuses.append(try origin.api("GET", "tokens", token: "xcache_wrong").status)
    }
    #expect(statuses.dropLast().allSatisfy { $0 == 401 } && statuses.last == 429)
    let reply = try origin.api("GET", "tokens", token: "xcache_other")
    #expect(reply.status == 429 && reply.field("Retry-After") == "1")
    #expect(try origin.ask("GET", "/metrics").text.contains("xcache_token_failures_total 11"))
  }

  /// Failing clients don't lock out others with the same address.
  @Test func validTokenIsAcceptedFromAFailingAddress() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let wrong = "xcache_0123456789ab_" + String(repeating: "A", count: 43)
    var statuses: [Int] = []
    for _ in 0..<(LoginAttempts.freeFailures + 3) {
      statuses.append(
        try origin.ask("GET", "/api/v1/apps", ["Authorization: Bearer \(wrong)"]).status)
      #expect(try origin.api("GET", Self.online).status == 200)
    }
    #expect(statuses == Array(repeating: 401, count: LoginAttempts.freeFailures + 1) + [429, 429])
  }
}
