import HTTP
import Linux
import System
import Testing
import Values

@testable import Origin

/// Which bodies are received, and from which tokens.
@Suite struct BodyTests {
  private static let online = "apps/shop/channels/online"

  /// Every path with a body, and the scope of a token that may not use it.
  static let refused: [(method: String, path: String, scope: String)] = [
    ("POST", "blobs", "read"), ("PUT", "blobs/\(SHA256.of([]).hex)", "read"),
    ("POST", "blobs/missing", "read"),
    ("POST", "default-app", "publish"), ("POST", "gc", "publish"), ("POST", "tokens", "publish"),
    ("POST", "\(online)/releases", "read"),
    ("POST", "\(online)/preparations", "read"), ("POST", "\(online)/pins", "read"),
    ("POST", "\(online)/prefetch", "read"), ("POST", "\(online)/prefetch/rollback", "read"),
    ("POST", "\(online)/policy", "read"), ("POST", "\(online)/settings", "read"),
    ("POST", "\(online)/create", "publish"), ("POST", "\(online)/freeze", "publish"),
    ("POST", "\(online)/promote", "read"), ("POST", "\(online)/remove", "publish"),
    ("POST", "\(online)/rollback", "read"), ("POST", "\(online)/thaw", "publish"),
  ]

  @Test(arguments: refused)
  func noBodyIsReceivedWithoutTheRight(_ request: (method: String, path: String, scope: String)) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let weak = try origin.newToken(["name": "weak", "scope": .string(request.scope)])
    let elsewhere = try origin.newToken(["app": "other", "name": "elsewhere", "scope": "admin"])
    for token in request.path.hasPrefix("blobs") ? [weak] : [weak, elsewhere] {
      let lines = ["Authorization: Bearer \(token)", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="]
      let answer = try origin.answer(request.method, "/api/v1/\(request.path)", lines, length: 9)
      guard case .receive(_, let make) = answer else {
        Issue.record("\(request.path) takes no body")
        continue
      }
      let receiver = make()
      #expect(!receiver.take("{\"a\":true"), "\(request.path) takes bytes")
      let reply = TestOrigin.Reply(receiver.finish())
      #expect(reply.status == 403 && reply.json["code"]?.string == "scope", "\(request.path): \(reply.text)")
    }
  }

  /// The size limits of routes in bytes.
  static let limits: [(path: String, limit: Int)] = [
    ("gc", 65_536), ("leases", 65_536), ("\(online)/pins", 65_536), ("\(online)/rollback", 65_536),
    ("\(online)/prefetch/rollback", 65_536), ("\(online)/prefetch", 2 << 20), ("\(online)/policy", 2 << 20),
    ("mirrors", 2 << 20), ("blobs", 1000), ("\(online)/releases", 256 << 20),
  ]

  @Test(arguments: limits) func tooLargeBodyIsRefusedUnread(_ route: (path: String, limit: Int)) throws {
    let origin = try TestOrigin { $0.largestUpload = 1000 }
    try origin.publish(["a.js": "a"])
    let lines = ["Authorization: Bearer \(origin.token)"]
    let answer = try origin.answer("POST", "/api/v1/\(route.path)", lines, length: route.limit + 1)
    guard case .later(let make) = answer else {
      Issue.record("\(route.path) takes \(route.limit + 1) bytes")
      return
    }
    let reply = TestOrigin.Reply(make())
    #expect(reply.status == 413 && reply.json["code"]?.string == "too-large", "\(reply.text)")
    guard case .receive = try origin.answer("POST", "/api/v1/\(route.path)", lines, length: route.limit)
    else {
      Issue.record("\(route.path) refuses \(route.limit) bytes")
      return
    }
    // Without the right, the limit isn't disclosed.
    let none = [
      "Authorization: Bearer \(try origin.newToken(["app": "other", "name": "none", "scope": "read"]))"
    ]
    guard route.path.hasPrefix("apps"),
      case .later(let refuse) = try origin.answer(
        "POST", "/api/v1/\(route.path)", none, length: route.limit + 1)
    else { return }
    #expect(refuse().status == .forbidden)
  }

  /// A body without a length is refused as soon as it exceeds the limit.
  @Test func bodyWithoutALengthHasTheSameLimit() throws {
    let origin = try TestOrigin()
    let lines = ["Authorization: Bearer \(origin.token)", "Transfer-Encoding: chunked"]
    guard case .receive(_, let make) = try origin.answer("POST", "/api/v1/gc", lines) else {
      Issue.record("gc accepts no body")
      return
    }
    let receiver = make()
    let half = String(repeating: " ", count: 32_768)
    let taken = [receiver.take(half), receiver.take(half), receiver.take(" ")]
    #expect(taken == [true, true, false])
    #expect(receiver.finish().status == .contentTooLarge)
  }

  // MARK: - Streaming parser

  /// The receiver of a release by an admin or by the given token.
  private static func receiver(
    _ origin: TestOrigin, length: Int? = nil, token: String? = nil, path: String = "releases"
  ) throws -> any BodyReceiver {
    let lines =
      ["Authorization: Bearer \(token ?? origin.token)"]
      + (length == nil ? ["Transfer-Encoding: chunked"] : [])
    let target = "/api/v1/\(online)/\(path)"
    guard case .receive(_, let make) = try origin.answer("POST", target, lines, length: length) else {
      throw TestOrigin.BadRequest(text: target)
    }
    return make()
  }

  /// Members in any order, in pieces of any size.
  @Test(arguments: [1, 7, 64, 1000]) func releaseInPieces(_ size: Int) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a", "b.js": "b"])
    let content = try #require(
      try origin.api("GET", "\(Self.online)/bundles/main/entries").json["entries"]?[
        "https://m.example.com/a.js"])
    let entry = String(decoding: content.canonical, as: UTF8.self)
    let text = """
      { "now" : true, "bundles": [ {"set": {"https://m.example.com/c.js": \(entry)},
      "remove": ["https://m.example.com/b.js"], "bundle": "main", "base": "1" } ], "message": "pieces ]}" }
      """
    let receiver = try Self.receiver(origin)
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(bytes.count, start + size)])
      let isTaken = receiver.receive(piece.span.bytes)
      #expect(isTaken)
    }
    let reply = TestOrigin.Reply(receiver.finish())
    #expect(reply.status == 201 && reply.json["version"]?.string == "2", "\(reply.text)")
    let held = try origin.api("GET", "\(Self.online)/bundles/main/entries").json["entries"]?.object
    #expect(held?.members.map(\.key) == ["https://m.example.com/a.js", "https://m.example.com/c.js"])
    #expect(
      try origin.api("GET", "\(Self.online)/log").json["releases"]?.array?.first?["message"]?.string
        == "pieces ]}")
  }

  /// Invalid bodies of `releases` and `preparations`.
  @Test(arguments: [
    "", "[]", "7", "{", "{}", "{\"bundles\":null}", "{\"bundles\":{}}", "{\"bundles\":[7]}",
    "{\"bundles\":[{}]}",
    "{\"bundles\":[{\"bundle\":7}]}", "{\"bundles\":[{\"bundle\":\"main\",\"set\":[]}]}",
    "{\"bundles\":[{\"bundle\":\"main\",\"remove\":{}}]}",
    "{\"bundles\":[{\"bundle\":\"main\",\"remove\":[7]}]}",
    "{\"bundles\":[{\"bundle\":\"main\",\"set\":{\"https://m.example.com/\":7}}]}",
    "{\"bundles\":[{\"bundle\":\"main\",\"set\":{},\"set\":{}}]}", "{\"bundles\":[],\"bundles\":[]}",
    "{\"bundles\":[{\"bundle\":\"main\",\"bundle\":\"main\"}]}", "{\"bundles\":[]}}",
  ]) func invalidReleases(_ text: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    for path in ["releases", "preparations"] {
      let receiver = try Self.receiver(origin, path: path)
      _ = receiver.take(text)
      let reply = TestOrigin.Reply(receiver.finish())
      #expect(reply.status == 400, "\(path) \(text): \(reply.text)")
    }
  }

  @Test func receivingStopsAtABundleThatTheTokenMayNotChange() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let token = try origin.newToken(["bundles": "activity-*", "name": "ci", "scope": "publish"])
    let receiver = try Self.receiver(origin, token: token)
    let taken = [
      receiver.take("{\"bundles\":[{\"base\":\"0\","), receiver.take("\"bundle\":\"main\","),
      receiver.take("\"set\":{"),
    ]
    #expect(taken == [true, false, false])
    #expect(receiver.finish().status == .forbidden)
  }

  /// In two bundles together, however short the text is.
  @Test func releaseOfMoreThan250000URLs() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let receiver = try Self.receiver(origin)
    let url = #""https://m.example.com/a.js""#
    let (head, next) = (
      #"{"base":"1","bundle":"main","remove":["#, #"]},{"base":"0","bundle":"b","remove":["#
    )
    let urls = { (count: Int) in Array(repeating: url, count: count).joined(separator: ",") }
    var taken = [receiver.take(#"{"now":true,"bundles":["# + head + urls(200_000) + next)]
    taken += [receiver.take(urls(50_000)), receiver.take("," + url + "]}]}")]
    #expect(taken == [true, true, false])
    let reply = TestOrigin.Reply(receiver.finish())
    #expect(reply.status == 413 && reply.json["code"]?.string == "too-large", "\(reply.text)")
    #expect(reply.text.contains("250000"))
    #expect(try origin.api("GET", Self.online).json["version"]?.string == "1")
  }

  @Test func missingDigests() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let (held, other) = (SHA256.of(Array("a".utf8)).hex, SHA256.of(Array("z".utf8)).hex)
    let reply = try origin.api(
      "POST", "blobs/missing", ["sha256": [.string(held), .string(other)], "x": [1]])
    #expect(reply.json["missing"]?.array == [.string(other)], "\(reply.text)")
    let bad: [JSONValue] = [[:], ["sha256": 7], ["sha256": [7]], ["sha256": ["A"]]]
    let tooMany = JSONValue.strings((0...200).map { SHA256.of([UInt8($0)]).hex })
    #expect(try origin.api("POST", "blobs/missing", ["check": true, "sha256": tooMany]).status == 400)
    #expect(try origin.api("POST", "blobs/missing", ["sha256": tooMany]).status == 200)
    for body in bad { #expect(try origin.api("POST", "blobs/missing", body).status == 400) }
    let many = JSONValue.array(Array(repeating: .string(other), count: 100_001))
    #expect(try origin.api("POST", "blobs/missing", ["sha256": many]).status == 400)
  }

  // MARK: - The budget

  private static let quarter = 250_000

  @Test func documentHoldsItsShareUntilItIsDone() throws {
    let budget = BodyBudget(limit: 4 * Self.quarter)
    // Five tokens: four quarters use up the budget, and one document more is granted beyond it.
    let shares = ["a", "b", "c", "d"].map { budget.share(of: $0) }
    for share in shares { #expect(share.hold(Self.quarter) == .granted) }
    let (large, late) = (budget.share(of: "e"), budget.share(of: "f"))
    #expect(large.hold(100_000) == .granted && late.hold(100_000) == .full)
    // Small documents never compete with large ones.
    #expect(late.hold(BodyBudget.free) == .granted && late.hold(BodyBudget.free + 1) == .full)
  }

  @Test func releasedShareIsAvailable() throws {
    let budget = BodyBudget(limit: 4 * Self.quarter)
    let other = budget.share(of: "b")
    for _ in 0..<3 {
      let shares = (0..<3).map { _ in budget.share(of: "a") }
      // Without others, a document may exceed the budget.
      #expect(shares[0].hold(200_000) == .granted && shares[0].hold(2_000_000) == .granted)
      #expect(shares[1].hold(Self.quarter) == .granted && shares[2].hold(BodyBudget.free + 1) == .full)
    }
    #expect(other.hold(4 * Self.quarter) == .granted)
  }

  @Test func noTokenTakesTheWholeBudget() throws {
    let budget = BodyBudget(limit: 4 * Self.quarter)
    let greedy = (0..<10).map { _ in budget.share(of: "a") }
    // As they arrive, in turns.
    var verdicts: [BodyBudget.Verdict] = []
    for count in stride(from: 10_000, through: 2_000_000, by: 10_000) {
      verdicts = greedy.map { $0.hold(count) }
    }
    #expect(verdicts.filter { $0 == .granted }.count == 1)
    let other = budget.share(of: "b")
    #expect(other.hold(3 * Self.quarter) == .granted, "a document of another token, larger than a quarter")
    #expect(budget.share(of: "b").hold(BodyBudget.free + 1) == .full)
  }

  /// Besides a token's large document there is room for a smaller one of the same token; a third one waits.
  @Test func tokenMayHaveASecondSmallerDocument() throws {
    let budget = BodyBudget(limit: 4 * Self.quarter)
    let shares = (0..<3).map { _ in budget.share(of: "a") }
    #expect(shares[0].hold(5 * Self.quarter) == .granted)
    #expect(shares[1].hold(2 * Self.quarter) == .granted && shares[1].hold(2 * Self.quarter + 1) == .full)
    #expect(shares[2].hold(BodyBudget.free + 1) == .full)
    #expect(budget.share(of: "b").hold(2 * Self.quarter) == .granted, "the other half is for other tokens")
  }

  @Test func slowSenderLosesItsShare() throws {
    let time = Locked<UInt64>(7)
    let budget = BodyBudget(limit: 1_000_000) { time.withLock { $0 } }
    let shares = [100_000, 2_000_000].map { (size: $0, share: budget.share(of: "\($0)")) }
    for (size, share) in shares { #expect(share.hold(size) == .granted) }
    time.withLock { $0 += BodyBudget.longest }
    for (size, share) in shares { #expect(share.hold(size + 1) == .granted) }
    time.withLock { $0 += 1 }
    for (size, share) in shares { #expect(share.hold(size + 2) == .late) }
    // A document without a share has no deadline; the connection has one.
    #expect(budget.share(of: "c").hold(2) == .granted)
  }

  /// The beginning of a release document, and text that makes it a megabyte longer: URLs with as much white space between them as is
  /// allowed.
  private static let begin = #"{"bundles":[{"remove":["#
  private static let megabyte = String(
    repeating: #""https://m.example.com/a","# + String(repeating: " ", count: 61_650), count: 17)

  @Test func announcedLengthReservesNothing() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let ci = try origin.newToken(["name": "ci", "scope": "publish"])
    let idle = try (0..<40).map { _ in try Self.receiver(origin, length: 256 << 20, token: ci) }
    for receiver in idle { #expect(receiver.take("{")) }
    let other = try Self.receiver(origin, length: 40 << 20)
    #expect(other.take(Self.begin))
    for _ in 0..<39 { #expect(other.take(Self.megabyte)) }
    withExtendedLifetime(idle) {}
  }

  @Test func exhaustedBudgetIsA503() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    func fill(_ count: Int) throws -> any BodyReceiver {
      let receiver = try Self.receiver(origin, length: 200 << 20)
      #expect(receiver.take(Self.begin))
      for _ in 0..<count { #expect(receiver.take(Self.megabyte)) }
      return receiver
    }
    var first: (any BodyReceiver)? = try fill(17)
    let second = try fill(16)
    let third = try Self.receiver(origin, length: 1 << 20)
    #expect(!third.take(Self.begin + Self.megabyte))
    let reply = TestOrigin.Reply(third.finish())
    #expect(reply.status == 503 && reply.field("Retry-After") == "2" && reply.json["code"]?.string == "busy")
    // Small calls, other tokens, and large documents after the first one ended are accepted.
    #expect(try origin.api("POST", "\(Self.online)/releases", ["bundles": []]).status == 400)
    let ci = try origin.newToken(["name": "ci", "scope": "publish"])
    #expect(try Self.receiver(origin, length: 1 << 20, token: ci).take(Self.begin + Self.megabyte))
    first?.abort()
    first = nil
    #expect(second.take(Self.megabyte))
  }
}

extension TestOrigin {
  func newToken(_ request: JSONValue) throws -> String {
    try #require(try api("POST", "tokens", request).json["token"]?.string)
  }
}

extension BodyReceiver {
  func take(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return receive(bytes.span.bytes)
  }
}
