import Glibc
import HTTP
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Origin
@testable import Store

/// Requests with an Idempotency-Key: an act happens once, and retries get the first attempt's answer.
@Suite struct RetryTests {
  private static let online = "apps/shop/channels/online"
  private static let key = "0123456789abcdef0123456789abcdef"
  private static let back: JSONValue = ["allBundles": true, "now": true, "steps": 1]

  private static func ask(
    _ origin: TestOrigin, _ method: String, _ path: String, _ body: JSONValue? = nil, key: String = key,
    token: String? = nil
  ) throws -> TestOrigin.Reply {
    try origin.ask(
      method, "/api/v1/\(path)",
      ["Authorization: Bearer \(token ?? origin.token)", "Idempotency-Key: \(key)"], body: body?.canonical)
  }

  private static func filled(
    _ change: (inout Origin.Options) -> Void = { _ in }, clock: (@Sendable () -> Int64)? = nil
  ) throws -> TestOrigin {
    let origin = try TestOrigin(change, clock: clock)
    for text in ["1", "2", "3", "4"] { #expect(try origin.publish(["a.js": text]).status == 201) }
    return origin
  }

  private static func version(_ origin: TestOrigin) throws -> String? {
    try origin.api("GET", online).json["version"]?.string
  }

  private static func acts(_ origin: TestOrigin) throws -> Int {
    try origin.store.auditLog(limit: 1000, before: nil).count
  }

  // MARK: - Retries

  struct Act: Sendable, CustomTestStringConvertible {
    let method: String
    let path: String
    var body: JSONValue?
    /// Requests to be made first.
    var first: [(String, String, JSONValue?)] = []

    var testDescription: String { "\(method) \(path)" }
  }

  /// Every route that changes something and isn't idempotent.
  private static let changing: [Act] = [
    Act(
      method: "POST", path: "\(online)/releases", body: ["bundles": [["bundle": "main", "unpublish": true]]]),
    Act(
      method: "POST", path: "\(online)/releases",
      body: ["bundles": [["bundle": "main", "unpublish": true]], "ifVersion": "4"]),
    Act(method: "POST", path: "\(online)/rollback", body: back),
    Act(
      method: "POST", path: "apps/shop/channels/test/promote", body: ["from": "online"],
      first: [("POST", "apps/shop/channels/test/create", [:])]),
    Act(method: "POST", path: "\(online)/prefetch", body: ["document": []]),
    Act(method: "POST", path: "\(online)/policy", body: ["act": "kill"]),
    Act(
      method: "POST", path: "\(online)/policy", body: ["act": "bypass-remove", "pattern": "https://a.com/*"],
      first: [("POST", "\(online)/policy", ["act": "bypass-add", "pattern": "https://a.com/*"])]),
    Act(method: "POST", path: "\(online)/settings", body: ["interval": 60]),
    Act(method: "POST", path: "apps/shop/channels/test/create", body: [:]),
    Act(
      method: "POST", path: "apps/shop/channels/test/remove", body: [:],
      first: [("POST", "apps/shop/channels/test/create", [:])]),
    Act(method: "POST", path: "\(online)/freeze", body: ["reason": "a reason"]),
    Act(
      method: "POST", path: "\(online)/thaw", body: [:],
      first: [("POST", "\(online)/freeze", ["reason": "a reason"])]),
    Act(method: "POST", path: "\(online)/pins", body: ["reason": "a reason", "version": "2"]),
    Act(
      method: "DELETE", path: "\(online)/pins/2",
      first: [("POST", "\(online)/pins", ["reason": "a reason", "version": "2"])]),
    Act(
      method: "POST", path: "tokens",
      body: [
        "name": "ci", "scope": "read",
        "secretHash": .string(SHA256.of(Array(repeating: 7, count: 32)).hex),
      ]),
    Act(method: "DELETE", path: "tokens/ci", first: [("POST", "tokens", ["name": "ci", "scope": "read"])]),
    Act(method: "POST", path: "leases", body: ["seconds": 60]),
    Act(method: "POST", path: "mirrors", body: ["name": "copy", "versions": []]),
    Act(
      method: "POST", path: "purge",
      body: ["content": .string(SHA256.of(Array("4".utf8)).hex), "reason": "a key"]),
    Act(method: "POST", path: "default-app", body: ["app": "shop"]),
    Act(method: "POST", path: "gc", body: ["keepDays": 0, "keepVersions": 1]),
  ]

  @Test(arguments: changing)
  func retryActsOnceAndGetsTheSameAnswer(_ act: Act) throws {
    let origin = try Self.filled()
    for (method, path, body) in act.first {
      #expect(try (200...201).contains(origin.api(method, path, body).status))
    }
    let first = try Self.ask(origin, act.method, act.path, act.body)
    #expect((200...201).contains(first.status), "\(first.text)")
    let (version, acts, leases) = (try Self.version(origin), try Self.acts(origin), try origin.store.leases())
    for _ in 0..<2 {
      let again = try Self.ask(origin, act.method, act.path, act.body)
      #expect(again.status == first.status && again.text == first.text)
      #expect(again.field("content-type") == first.field("content-type"))
    }
    #expect(try Self.version(origin) == version)
    #expect(try Self.acts(origin) == acts)
    #expect(try origin.store.leases() == leases)
  }

  @Test func answersSurviveARestart() throws {
    let origin = try Self.filled()
    let first = try Self.ask(origin, "POST", "\(Self.online)/rollback", Self.back)
    // The state left by a process that was killed after the commit.
    var options = Store.Options()
    options.creates = false
    let copy = origin.folder + "-copy"
    defer { Scratch.remove(copy) }
    try Scratch.copy(origin.folder, to: copy)
    let store = try Store(path: copy, options: options)
    let id = try #require(try store.tokens().first?.id)
    let kept = try store.connections.reading { (db) throws(StoreError) in
      try db.first("SELECT answer FROM request_key WHERE token_id = ? AND key = ?", id, Self.key) {
        $0.get(0, as: [UInt8].self)
      }
    }
    #expect(kept == first.body && first.status == 201)
    #expect(try store.channel(AppName("shop"), .online).version == ManifestVersion(5))
  }

  // MARK: - Other requests

  @Test func keyOfAnotherRequestIsRefused() throws {
    let origin = try Self.filled()
    let path = "\(Self.online)/rollback"
    #expect(try Self.ask(origin, "POST", path, Self.back).status == 201)
    let others: [(String, String, JSONValue?)] = [
      ("POST", path, ["allBundles": true, "now": true, "steps": 2]), ("POST", path + "?a=b", Self.back),
      ("POST", "\(Self.online)/thaw", Self.back), ("DELETE", "tokens/ci", nil),
    ]
    for (method, path, body) in others {
      let reply = try Self.ask(origin, method, path, body)
      #expect(reply.status == 422 && reply.json["code"]?.string == "idempotency-key", "\(reply.text)")
      #expect(reply.field("content-type") == "application/problem+json")
    }
    #expect(try Self.version(origin) == "5")
  }

  @Test func keysBelongToTokens() throws {
    let origin = try Self.filled()
    let other = try origin.store.createToken(name: "other", scope: .admin).text
    #expect(try Self.ask(origin, "POST", "\(Self.online)/rollback", Self.back).status == 201)
    let reply = try Self.ask(origin, "POST", "\(Self.online)/rollback", Self.back, token: other)
    #expect(reply.status == 201 && reply.json["version"]?.string == "6")
  }

  @Test func noReplayAfterTheRightWasLost() throws {
    let origin = try Self.filled()
    let ci = try origin.store.createToken(name: "ci", scope: .publish)
    let path = "\(Self.online)/rollback"
    #expect(try Self.ask(origin, "POST", path, Self.back, token: ci.text).status == 201)
    func narrow(_ sql: String) throws {
      try origin.store.connections.writing { (db) throws(StoreError) in try db.script(sql) }
    }
    try narrow("UPDATE token SET bundles = 'main' WHERE name = 'ci'")
    #expect(try Self.ask(origin, "POST", path, Self.back, token: ci.text).status == 422)
    try narrow("UPDATE token SET bundles = NULL, scope = 'read' WHERE name = 'ci'")
    #expect(try Self.ask(origin, "POST", path, Self.back, token: ci.text).status == 403)
    _ = try origin.store.revokeToken("ci")
    #expect(try Self.ask(origin, "POST", path, Self.back, token: ci.text).status == 401)
    #expect(try Self.version(origin) == "5")
  }

  @Test(arguments: [
    "0123456789abcde", String(repeating: "a", count: 129), "0123456789 abcdef", "0123456789abcdéf",
  ])
  func malformedKey(_ key: String) throws {
    let origin = try Self.filled()
    let reply = try Self.ask(origin, "POST", "\(Self.online)/rollback", Self.back, key: key)
    #expect(reply.status == 400 && reply.text.contains("Idempotency-Key"))
    #expect(try Self.version(origin) == "4")
  }

  @Test func requestsWithoutAKeyAreIndependent() throws {
    let origin = try Self.filled()
    #expect(try origin.api("POST", "\(Self.online)/rollback", Self.back).json["version"]?.string == "5")
    #expect(try origin.api("POST", "\(Self.online)/rollback", Self.back).json["version"]?.string == "6")
  }

  // MARK: - Refusals, expiry, secrets

  @Test func refusalIsNotRecorded() throws {
    let origin = try Self.filled()
    let path = "\(Self.online)/policy"
    let remove: JSONValue = ["act": "bypass-remove", "pattern": "https://a.com/*"]
    #expect(try Self.ask(origin, "POST", path, remove).status == 404)
    #expect(try origin.api("POST", path, ["act": "bypass-add", "pattern": "https://a.com/*"]).status == 201)
    #expect(try Self.ask(origin, "POST", path, remove).status == 201)
    var push: JSONValue = ["document": [], "ifVersion": "0"]
    #expect(try origin.api("POST", "\(Self.online)/prefetch", push).status == 201)
    push = ["document": [["interfaces": [], "url": "https://m.example.com/"]], "ifVersion": "0"]
    for _ in 0..<2 {
      let reply = try Self.ask(origin, "POST", "\(Self.online)/prefetch", push, key: "another-" + Self.key)
      #expect(reply.status == 409 && reply.json["code"]?.string == "if-version", "\(reply.text)")
    }
  }

  @Test func answerIsKeptForADay() throws {
    let now = Locked<Int64>(1_800_000_000_000)
    let origin = try Self.filled(clock: { now.withLock { $0 } })
    let path = "\(Self.online)/rollback"
    #expect(try Self.ask(origin, "POST", path, Self.back).json["version"]?.string == "5")
    now.withLock { $0 += 86_399_999 }
    #expect(try Self.ask(origin, "POST", path, Self.back).json["version"]?.string == "5")
    now.withLock { $0 += 1 }
    #expect(try Self.ask(origin, "POST", path, Self.back).json["version"]?.string == "6")
  }

  @Test func secretMadeByTheOriginIsSentOnce() throws {
    let origin = try TestOrigin()
    let body: JSONValue = ["name": "ci", "scope": "read"]
    let made = try Self.ask(origin, "POST", "tokens", body)
    let text = try #require(made.json["token"]?.string)
    #expect(try origin.store.check(token: text)?.name == "ci")
    let again = try Self.ask(origin, "POST", "tokens", body)
    #expect(again.status == 409 && again.json["code"]?.string == "secret-lost", "\(again.text)")
    #expect(again.text.contains("xcache token revoke \(made.json["id"]?.string ?? "?")"))
    #expect(!again.text.contains(text.suffix(43)))
  }

  @Test func secretMadeByTheClientWorks() throws {
    let origin = try TestOrigin()
    let secret = TokenSecret()
    let made = try Self.ask(
      origin, "POST", "tokens", ["name": "ci", "scope": "read", "secretHash": .string(secret.hash.hex)])
    #expect(made.status == 201 && made.json["token"] == nil)
    let id = try #require(made.json["id"]?.string)
    #expect(try origin.store.check(token: secret.text(id: id))?.id == id)
    for wrong in ["", "ab", String(repeating: "G", count: 64)] {
      let reply = try origin.api(
        "POST", "tokens", ["name": "x", "scope": "read", "secretHash": .string(wrong)])
      #expect(reply.status == 400)
    }
  }

  /// Two keys, even equal ones, are ambiguous.
  @Test(arguments: [key, String(key.reversed())]) func twoKeys(_ second: String) throws {
    let origin = try Self.filled()
    let lines = [
      "Authorization: Bearer \(origin.token)", "Idempotency-Key: \(Self.key)", "idempotency-key: \(second)",
    ]
    let reply = try origin.ask("POST", "/api/v1/\(Self.online)/rollback", lines, body: Self.back.canonical)
    #expect(reply.status == 400 && reply.text.contains("Idempotency-Key"), "\(reply.text)")
    #expect(try Self.version(origin) == "4")
  }

  // MARK: - Concurrent and staged requests

  @Test func secondAttemptWaitsForTheFirst() throws {
    let gate = Monitor((entered: 0, isOpen: false))
    let origin = try Self.filled { options in
      let names: @Sendable (PreparedRelease) -> Set<String> = { $0.version.number < 5 ? [] : ["file"] }
      options.push = ReleasePush(names: { names($0) }) { _ in
        gate.broadcasting { $0.entered += 1 }
        gate.waiting { $0.isOpen ? () : nil }
      }
    }
    let path = "\(Self.online)/rollback"
    nonisolated(unsafe) let shared = origin
    let first = Locked<String>("")
    let thread = try OSThread(name: "first") {
      let reply = try? Self.ask(shared, "POST", path, Self.back)
      first.withLock { $0 = reply?.text ?? "" }
    }
    gate.waiting { $0.entered == 1 ? () : nil }
    let second = try Self.ask(origin, "POST", path, Self.back)
    #expect(second.status == 503 && second.json["code"]?.string == "still-running", "\(second.text)")
    #expect(second.field("retry-after") == "1")
    gate.broadcasting { $0.isOpen = true }
    thread.join()
    let third = try Self.ask(origin, "POST", path, Self.back)
    #expect(third.status == 201 && third.text == first.withLock { $0 })
    #expect(try Self.version(origin) == "5")
  }

  @Test func stagedReleaseKeepsItsKey() throws {
    let fails = Locked(true)
    let origin = try Self.filled { options in
      options.push = ReleasePush(names: { $0.version.number < 5 ? [] : ["file"] }) {
        (_) throws(StoreError) in
        if fails.withLock({ $0 }) { throw .pushFailed(place: "the CDN", reason: "a test") }
      }
    }
    let path = "\(Self.online)/releases"
    let body: JSONValue = [
      "bundles": [["bundle": "main", "unpublish": true]], "ifVersion": "4", "now": true,
    ]
    let staged = try Self.ask(origin, "POST", path, body)
    #expect(staged.status == 503 && staged.json["code"]?.string == "push-failed")
    fails.withLock { $0 = false }
    // The origin retries by itself.
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while try Self.version(origin) != "5", Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(5))
    }
    let acts = try Self.acts(origin)
    let retry = try Self.ask(origin, "POST", path, body)
    #expect(retry.status == 201 && retry.json["version"]?.string == "5", "\(retry.text)")
    #expect(try Self.version(origin) == "5")
    #expect(try Self.acts(origin) == acts)
  }

  /// During the retry, the origin makes the release that the first attempt staged; the retry then has nothing to change.
  @Test func retryDuringItsStagedReleaseGetsThatAnswer() throws {
    let gate = Monitor((calls: 0, isOpen: false))
    let origin = try Self.filled { options in
      options.push = ReleasePush(names: { $0.version.number < 5 ? [] : ["file"] }) {
        (_) throws(StoreError) in
        let call = gate.broadcasting { state in
          state.calls += 1
          return state.calls
        }
        if call == 1 { throw .pushFailed(place: "the CDN", reason: "a test") }
        if call == 2 { gate.waiting { $0.isOpen ? () : nil } }
      }
    }
    let body: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]], "now": true]
    let path = "\(Self.online)/releases"
    #expect(try Self.ask(origin, "POST", path, body).json["code"]?.string == "push-failed")
    nonisolated(unsafe) let shared = try origin.onAnotherLoop()
    let second = Locked<TestOrigin.Reply?>(nil)
    let thread = try OSThread(name: "retry") {
      let reply = try? Self.ask(shared, "POST", path, body)
      second.withLock { $0 = reply }
    }
    gate.waiting { $0.calls == 2 ? () : nil }
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while try Self.version(origin) != "5", Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(5))
    }
    let acts = try Self.acts(origin)
    gate.broadcasting { $0.isOpen = true }
    thread.join()
    let reply = try #require(second.withLock { $0 })
    #expect(reply.status == 201 && reply.json["version"]?.string == "5", "\(reply.text)")
    #expect(reply.text == (try Self.ask(origin, "POST", path, body)).text)
    #expect(try Self.acts(origin) == acts && Self.version(origin) == "5")
  }
}

/// Releases with tokens that end before they are visible.
@Suite struct EndedTokenTests {
  private static let online = "apps/shop/channels/online"

  @Test(arguments: ["revoked", "expired"], ["releases", "rollback"])
  func stagedReleaseOfAnEndedTokenIsDropped(_ end: String, _ act: String) throws {
    let fails = Locked(true)
    let words = Monitor<[String]>([])
    let time = Locked(Clock.unixMilliseconds())
    let origin = try TestOrigin(
      { options in
        options.log = { line in words.broadcasting { $0.append(line) } }
        options.push = ReleasePush(names: { $0.version.number < 3 ? [] : ["file"] }) {
          (_) throws(StoreError) in
          if fails.withLock({ $0 }) { throw .pushFailed(place: "the CDN", reason: "a test") }
        }
      }, clock: { time.withLock { $0 } })
    for text in ["1", "2"] { #expect(try origin.publish(["a.js": text]).status == 201) }
    let token = try origin.newToken(["expiresIn": 3600, "name": "ci", "scope": "publish"])
    let body: JSONValue =
      act == "rollback"
      ? ["allBundles": true, "now": true, "steps": 1]
      : ["bundles": [["bundle": "main", "unpublish": true]], "now": true]
    let staged = try origin.api("POST", "\(Self.online)/\(act)", body, token: token)
    #expect(staged.json["code"]?.string == "push-failed", "\(staged.text)")
    if end == "revoked" {
      _ = try origin.store.revokeToken("ci")
    } else {
      time.withLock { $0 += 7_200_000 }
    }
    fails.withLock { $0 = false }
    let line = words.waiting { $0.first { $0.contains("given up") || $0.contains("is visible") } }
    #expect(line.contains("given up") && line.contains("the token \"ci\" was revoked"), "\(line)")
    #expect(try origin.api("GET", Self.online).json["version"]?.string == "2")
  }

  /// Pushing takes long as well.
  @Test func tokenRevokedDuringThePush() throws {
    let store = Locked<Store?>(nil)
    let origin = try TestOrigin { options in
      options.push = ReleasePush(names: { $0.version.number < 2 ? [] : ["file"] }) { (_) throws(StoreError) in
        _ = try store.withLock { $0 }?.revokeToken("ci")
      }
    }
    store.withLock { [kept = origin.store] in $0 = kept }
    #expect(try origin.publish(["a.js": "1"]).status == 201)
    let token = try origin.newToken(["name": "ci", "scope": "publish"])
    let body: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]], "now": true]
    let reply = try origin.api("POST", "\(Self.online)/releases", body, token: token)
    #expect(reply.status == 401 && reply.json["code"]?.string == "token", "\(reply.text)")
    #expect(try origin.api("GET", Self.online).json["version"]?.string == "1")
  }
}

extension Scratch {
  /// Copies an origin's folder.
  static func copy(_ folder: String, to target: String) throws {
    try Kernel.makeFolder(target, mode: 0o750)
    for name in try Folder.textNames(folder) {
      let (from, to) = ("\(folder)/\(name)", "\(target)/\(name)")
      if try Kernel.status(from)?.kind == .folder {
        try copy(from, to: to)
      } else if name != "lock" {
        try DurableFile.write(try DurableFile.read(from) ?? [], to: to)
      }
    }
  }
}
