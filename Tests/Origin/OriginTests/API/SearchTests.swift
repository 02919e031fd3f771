import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// The search over all channels, and a channel's timeline.
@Suite struct SearchTests {
  private let now = Locked<Int64>(1_796_000_000_000)
  private let origin: TestOrigin
  private static let online = "apps/shop/channels/online"

  init() throws {
    let now = now
    origin = try TestOrigin(clock: { now.withLock { $0 } })
  }

  private func pass(_ time: Int64 = 1000) { now.withLock { $0 += time } }

  private func publish(
    _ files: [String: String], _ message: String, app: String = "shop", token: String? = nil
  ) throws {
    pass()
    var body = try origin.release(files, app: app).object ?? JSONObject()
    body["message"] = .string(message)
    let reply = try origin.api("POST", "apps/\(app)/channels/online/releases", .object(body), token: token)
    #expect([200, 201].contains(reply.status), "\(reply.text)")
  }

  private func search(_ text: String, _ more: String = "", token: String? = nil) throws -> SearchAnswer {
    let reply = try origin.api("GET", "search?q=\(text)\(more)", token: token)
    #expect(reply.status == 200, "\(reply.text)")
    return try reply.json.decode(SearchAnswer.self)
  }

  private func makeToken(_ body: JSONValue) throws -> String {
    try #require(try origin.api("POST", "tokens", body).json["token"]?.string)
  }

  @Test func findsInMessagesURLsAuthorsAndChanges() throws {
    let ci = try makeToken(["name": "ci-checkout", "scope": "publish"])
    // Channels are made by an admin's publish.
    try publish(["checkout/a.js": "one"], "first")
    try publish(["checkout/a.js": "two", "b.js": "b"], "Fix the CHECKOUT page", token: ci)
    try publish(["b.js": "c"], "Something else")
    pass()
    let bypass: JSONValue = [
      "act": "bypass-add", "message": "Checkout is slow", "pattern": "https://m.example.com/pay/*",
    ]
    #expect(try origin.api("POST", "\(Self.online)/policy", bypass).status == 201)
    let found = try search("cHeCkOuT")
    #expect(found.releases.map(\.version.text) == ["2"] && found.releases.first?.author == "ci-checkout")
    #expect(found.files.map(\.url) == ["https://m.example.com/checkout/a.js"])
    #expect(found.people.map(\.name) == ["ci-checkout"] && found.people.first?.releases == 1)
    #expect(found.changes.map(\.kind) == ["policy"] && found.changes.first?.message == "Checkout is slow")
    #expect(!found.isCut && found.changes.first?.version?.text == "1")
    let nothing = try search("nowhere")
    #expect(nothing.releases.isEmpty && nothing.files.isEmpty && nothing.people.isEmpty && !nothing.isCut)
  }

  /// A file that a release removed is still found, at the last version that has it, after those that are live.
  @Test func filesThatAreGone() throws {
    try publish(["old-1.js": "a", "keep.js": "k"], "one")
    let body = try origin.release(["old-2.js": "b"], remove: ["old-1.js"])
    #expect(try origin.api("POST", "\(Self.online)/releases", body).status == 201)
    let found = try search("old-")
    #expect(found.files.map(\.url).map { $0.suffix(8) } == ["old-2.js", "old-1.js"])
    #expect(found.files.map(\.version.text) == ["2", "1"])
  }

  @Test(arguments: ["%25%25", "__", "%5C%5C", "a%25", "a_", "%25a"])
  func wildcardsAreText(_ text: String) throws {
    try publish(["abc.js": "a"], "abc")
    let found = try search(text)
    #expect(found.releases.isEmpty && found.files.isEmpty && found.people.isEmpty, "\(text)")
  }

  @Test func wildcardsAreFoundAsText() throws {
    try publish(["a.js": "a"], "100% of a_b in c\\d")
    for text in ["0%25", "a_b", "c%5Cd", "100%25+of"] {
      #expect(try search(text).releases.count == 1, "\(text)")
    }
  }

  /// Whoever may read one app learns nothing of another one, not even that there is something.
  @Test func limitedTokensSeeTheirChannelsOnly() throws {
    try publish(["secret-shop.js": "a"], "a secret of the shop")
    try publish(["secret-bank.js": "a"], "a secret of the bank", app: "bank")
    pass()
    for app in ["shop", "bank"] {
      let bypass: JSONValue = [
        "act": "bypass-add", "message": .string("secret \(app)"), "pattern": "https://m.example.com/x/*",
      ]
      #expect(try origin.api("POST", "apps/\(app)/channels/online/policy", bypass).status == 201)
    }
    let bank = try makeToken(["app": "bank", "name": "b", "scope": "read"])
    let found = try search("secret", token: bank)
    #expect(Set(found.releases.map(\.app.text)) == ["bank"] && found.releases.count == 1)
    #expect(found.files.map(\.app.text) == ["bank"] && found.changes.map(\.app.text) == ["bank"])
    #expect(!found.isCut)
    let people = try search("admin", token: bank)
    #expect(people.people.map(\.releases) == [1], "only releases of its own channels are counted")
    let none = try makeToken(["app": "other", "name": "o", "scope": "read"])
    let empty = try search("secret", token: none)
    #expect(empty.releases.isEmpty && empty.files.isEmpty && empty.changes.isEmpty && empty.people.isEmpty)
    // The admin's answer just before must not be another's.
    #expect(try search("secret").releases.count == 2)
    #expect(try search("secret", token: bank).releases.count == 1)
  }

  @Test func isBounded() throws {
    let files = Dictionary(uniqueKeysWithValues: (0..<50).map { ("many/\($0).js", "text \($0)") })
    try publish(files, "many files")
    let found = try search("many", "&limit=5")
    #expect(found.files.count == 5 && found.isCut)
    #expect(try search("many").files.count == 20)
    for bad in ["a", "", String(repeating: "a", count: 101), "a%00b", "%20%20a"] {
      #expect(try origin.api("GET", "search?q=\(bad)").status >= 400, "\(bad)")
    }
    #expect(try origin.api("GET", "search").status == 400)
    #expect(try origin.api("GET", "search?q=abc&limit=21").status == 400)
    // Without any time, it says that it isn't all.
    var input = SearchInput(text: "many", channels: try origin.store.channels(), limit: 20)
    input.time = 0
    let late = try origin.store.search(input)
    #expect(late.isCut && late.files.isEmpty)
  }

  // MARK: - The timeline

  private func timeline(_ more: String = "", token: String? = nil) throws -> ChannelTimeline {
    let reply = try origin.api("GET", "\(Self.online)/timeline\(more)", token: token)
    #expect(reply.status == 200, "\(reply.text)")
    return try reply.json.decode(ChannelTimeline.self)
  }

  @Test func everythingInOneList() throws {
    try publish(["a.js": "one"], "first")
    pass()
    #expect(
      try origin.api("POST", "\(Self.online)/policy", ["act": "kill", "message": "white pages"]).status
        == 201)
    try publish(["a.js": "two"], "second")
    pass()
    #expect(try origin.api("POST", "\(Self.online)/freeze", ["reason": "an incident"]).status == 200)
    pass()
    #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    let items = try timeline().items
    #expect(items.prefix(5).map(\.kind) == ["thaw", "freeze", "release", "policy", "release"])
    #expect(items[1].message == "an incident" && items[1].author == "admin")
    #expect(items[2].version?.text == "2" && items[2].message == "second")
    #expect(items[2].release?.counts == ChangeCounts(added: 0, changed: 1, removed: 0))
    #expect(items[3].detail.contains("kill switch") && items[3].version?.text == "1")
    #expect(items[4].release?.message == "first" && items[0].release == nil)
    #expect(items.allSatisfy { $0.detail.hasSuffix(".") })
  }

  /// Pages have each entry once, also those of one moment.
  @Test func pages() throws {
    try publish(["a.js": "0"], "0")
    for number in 1..<8 {
      // Most of them at one time.
      if number == 5 { pass() }
      let body = try origin.release(["a.js": "\(number)"])
      #expect(try origin.api("POST", "\(Self.online)/releases", body).status == 201)
      #expect(
        try origin.api("POST", "\(Self.online)/freeze", ["reason": .string("freeze \(number)")]).status == 200
      )
      #expect(try origin.api("POST", "\(Self.online)/thaw", [:]).status == 200)
    }
    let all = try timeline("?limit=200")
    #expect(all.next == nil && all.items.count >= 22)
    func text(_ items: [ChannelTimeline.Item]) -> [String] {
      items.map { "\($0.kind) \($0.at.wireText) \($0.version?.text ?? "") \($0.message)" }
    }
    var paged: [ChannelTimeline.Item] = []
    var more = ""
    for _ in 0..<20 {
      let page = try timeline("?limit=3\(more)")
      #expect(page.items.count <= 3)
      paged += page.items
      guard let next = page.next else { break }
      more = "&before=\(next)"
    }
    #expect(text(paged) == text(all.items))
    for bad in ["x", "1", "1-2", "1-2-3-4", "99999999999999999999-1-1"] {
      #expect(try origin.api("GET", "\(Self.online)/timeline?before=\(bad)").status == 400, "\(bad)")
    }
  }

  /// It is made of the audit trail, which only admins may read: no addresses, and nothing of tokens.
  @Test func showsReadersNothingElse() throws {
    try publish(["a.js": "one"], "first")
    _ = try makeToken(["app": "shop", "channel": "online", "name": "hidden", "scope": "read"])
    let reader = try makeToken(["app": "shop", "name": "r", "scope": "read"])
    let items = try timeline(token: reader).items
    #expect(!items.isEmpty && !items.contains { $0.kind.contains("token") || $0.detail.contains("hidden") })
    let bank = try makeToken(["app": "bank", "name": "b", "scope": "read"])
    #expect(try origin.api("GET", "\(Self.online)/timeline", token: bank).status == 403)
  }
}
