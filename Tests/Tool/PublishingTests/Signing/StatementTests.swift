import Manifests
import System
import TestSupport
import Testing
import Trust
import Values

@testable import Publishing

/// Statements for what an app's channels hold.
@Suite struct StatementTests {
  private let keys = RootDraftTests.Keys()
  private static let now: Int64 = 1_790_000_000_000

  private static func entry(_ text: String) -> JSONValue {
    let bytes = Array(text.utf8)
    return [
      "ctype": "text/plain", "md5": .string(MD5.of(bytes).hex), "sha256": .string(SHA256.of(bytes).hex),
      "size": .integer(bytes.count),
    ]
  }

  private static func live(_ bundle: String, _ files: [String: String]) throws -> LiveBundle {
    try LiveBundle(
      BundleName(bundle),
      entries: .object(
        JSONObject(
          files.map { .init(key: "https://m.example.com/\(bundle)/\($0.key)", value: entry($0.value)) })))
  }

  private func holding(
    _ channel: String, _ live: LiveBundle, _ statement: Signed<ReleaseStatement>? = nil
  ) throws -> Holdings.Bundle {
    Holdings.Bundle(channel: try ChannelName(channel), live: live, statement: statement)
  }

  private func root(_ change: (inout RootDraft) throws -> Void = { _ in }) throws -> Signed<TrustRoot> {
    var draft = try keys.first()
    try change(&draft)
    return try keys.signed(draft.root(), keys.root)
  }

  @Test func `the content is the one that docs/protocol.md says`() throws {
    let live = try Self.live("home", ["a.js": "one", "b.js": "two"])
    let resources = live.items.map { item in
      #""\#(item.url)":{"ctype":"text/plain","sha256":"\#(item.entry.sha256)","size":3}"#
    }.joined(separator: ",")
    #expect(live.content == SHA256.of(Array("{\"resources\":{\(resources)}}".utf8)))
  }

  @Test func `one statement is for all channels that hold a content, and devices take it`() throws {
    let root = try root()
    let judge = RootJudge(root)
    let (home, other) = (try Self.live("home", ["a.js": "1"]), try Self.live("home", ["a.js": "2"]))
    let holdings = Holdings(
      bundles: [
        try holding("online", home), try holding("test", home), try holding("dev", other),
        try holding("online", Self.live("cart", ["c.js": "3"])),
      ],
      prefetch: [.init(channel: .online, content: SHA256.of([1]), statement: nil)])
    #expect(holdings.refused(by: judge).bundles.count == 4)
    #expect(judge.failure(of: home, nil, in: .online) == .releaseMissing)
    let made = try NewStatements(
      for: holdings, among: holdings, under: root.document, by: [keys.release], now: Self.now)
    #expect(made.releases.count == 3 && made.prefetch.count == 1)
    let whole = holdings.taking(made)
    #expect(whole.refused(by: judge).isEmpty)
    #expect(made.releases.contains { $0.document.channels.map(\.text) == ["online", "test"] })
    #expect(made.releases.allSatisfy { $0.document.serial.number == Self.now })
    // Signed again, what was signed before stays as old as it was, or an origin could have old files made new.
    let again = try NewStatements(
      for: whole, among: whole, under: root.document, by: [keys.release], now: Self.now + 10)
    #expect(again.releases.allSatisfy { $0.document.serial.number == Self.now })
  }

  @Test func `an earlier serial is believed only of keys that may sign now`() throws {
    let thief = KeyFile(P256PrivateKey())
    let home = try Self.live("home", ["a.js": "1"])
    let root = try root { $0.setFloor(Serial(Self.now + 500), of: try BundleName("home")) }
    let high = try Signed(
      ReleaseStatement(
        app: root.document.app, bundle: home.bundle, channels: [.online], content: home.content,
        serial: .highest,
        floor: .highest)
    ).signed(by: thief)
    let holdings = Holdings(bundles: [try holding("online", home, high)])
    #expect(RootJudge(root).failure(of: home, high, in: .online) == .releaseKey)
    let made = try NewStatements(
      for: holdings, among: holdings, under: root.document, by: [keys.release], now: Self.now)
    // The root's floor counts, the thief's doesn't.
    #expect(made.releases.map(\.document.serial.number) == [Self.now + 500])
    #expect(made.releases.map(\.document.floor) == [.zero])
  }

  @Test func `a floor that a key raised which is lost stays, unless the new root names a lower one`() throws {
    let first = try root()
    let (new, floor) = (KeyFile(P256PrivateKey()), try #require(Serial(Self.now - 100)))
    let home = try Self.live("home", ["a.js": "1"])
    let old = try Signed(
      ReleaseStatement(
        app: first.document.app, bundle: home.bundle, channels: [.online], content: home.content,
        serial: floor, floor: floor)
    ).signed(by: keys.release)
    let content = SHA256.of([1])
    let config = try Signed(
      PrefetchStatement(
        app: first.document.app, channels: [.online], content: content, serial: floor, floor: floor)
    ).signed(by: keys.release)
    let holdings = Holdings(
      bundles: [try holding("online", home, old)],
      prefetch: [.init(channel: .online, content: content, statement: config)])
    func floors(naming named: Int64?, before: [Signed<TrustRoot>]? = nil) throws -> [Int64] {
      var draft = try #require(RootDraft(after: (before ?? [first]).last?.document ?? first.document))
      if before == nil {
        try draft.addKey(new.key, grant: nil, signsPrefetch: true)
        try draft.removeKey(keys.release.key.id)
      }
      if let named {
        draft.setFloor(Serial(named), of: home.bundle)
        draft.setPrefetchFloor(Serial(named))
      }
      let made = try NewStatements(
        for: holdings, among: holdings, under: draft.root(), after: before ?? [first], by: [new],
        now: Self.now)
      return made.releases.map(\.document.floor.number) + made.prefetch.map(\.document.floor.number)
    }
    #expect(try floors(naming: nil) == [floor.number, floor.number])
    #expect(try floors(naming: floor.number) == [floor.number, floor.number])
    #expect(try floors(naming: floor.number - 1) == [0, 0])
    // What a root in between took back stays so.
    var second = try #require(RootDraft(after: first.document))
    try second.addKey(new.key, grant: nil, signsPrefetch: true)
    try second.removeKey(keys.release.key.id)
    #expect(
      try floors(naming: nil, before: [first, keys.signed(second.root(), keys.root)])
        == [floor.number, floor.number])
    second.setFloor(.zero, of: home.bundle)
    #expect(
      try floors(naming: nil, before: [first, keys.signed(second.root(), keys.root)]) == [0, floor.number])
  }

  /// What devices take under the new root would raise its floor again.
  @Test func `a root that lowers a floor has what is live signed anew with a lower one, as old as it was`()
    throws
  {
    let first = try root()
    let home = try Self.live("home", ["a.js": "1"])
    let (serial, floor) = (try #require(Serial(Self.now - 5)), try #require(Serial(Self.now - 10)))
    let old = try Signed(
      ReleaseStatement(
        app: first.document.app, bundle: home.bundle, channels: [.online], content: home.content,
        serial: serial, floor: floor)
    ).signed(by: keys.release)
    let content = SHA256.of([1])
    let config = try Signed(
      PrefetchStatement(
        app: first.document.app, channels: [.online], content: content, serial: serial, floor: floor)
    ).signed(by: keys.release)
    let holdings = Holdings(
      bundles: [try holding("online", home, old)],
      prefetch: [.init(channel: .online, content: content, statement: config)])
    func raising(_ named: Int64?) throws -> (Holdings, TrustRoot) {
      var draft = try #require(RootDraft(after: first.document))
      draft.setFloor(named.flatMap { Serial($0) }, of: home.bundle)
      draft.setPrefetchFloor(named.flatMap { Serial($0) })
      let next = try keys.signed(draft.root(), keys.root)
      return (holdings.raisingFloors(of: next), next.document)
    }
    #expect(try raising(nil).0.isEmpty && raising(floor.number).0.isEmpty)
    // What devices refuse under it has to be signed anyway.
    #expect(try raising(serial.number + 1).0.isEmpty)
    let (left, next) = try raising(3)
    #expect(left.bundles.count == 1 && left.prefetch.count == 1)
    let made = try NewStatements(
      for: left, among: holdings, under: next, lowering: true, by: [keys.release], now: Self.now)
    #expect(
      made.releases.map(\.document.serial) == [serial] && made.releases.map(\.document.floor) == [.zero])
    #expect(
      made.prefetch.map(\.document.serial) == [serial] && made.prefetch.map(\.document.floor) == [.zero])
    let signed = try keys.signed(next, keys.root)
    #expect(left.taking(made).raisingFloors(of: signed).isEmpty)
    // A floor that was raised once the root was in force stays.
    let later = try NewStatements(
      for: holdings, among: holdings, under: next, by: [keys.release], now: Self.now)
    #expect(
      later.releases.map(\.document.floor) == [floor] && later.prefetch.map(\.document.floor) == [floor])
  }

  /// Of two statements that say the same, devices get the one that was given last, unless it was given before.
  @Test func `a key that signs what another has signed adds its signature`() throws {
    let second = KeyFile(P256PrivateKey())
    let root = try root { try $0.addKey(second.key, grant: nil, signsPrefetch: true) }
    let home = try Self.live("home", ["a.js": "1"])
    let config = Holdings.Prefetch(channel: .online, content: SHA256.of([1]), statement: nil)
    var holdings = Holdings(bundles: [try holding("online", home)], prefetch: [config])
    for (key, now) in [(keys.release, Self.now), (second, Self.now + 7), (keys.release, Self.now + 9)] {
      let made = try NewStatements(
        for: holdings, among: holdings, under: root.document, by: [key], now: now)
      #expect(made.releases.map(\.document.serial.number) == [Self.now])
      #expect(made.prefetch.map(\.document.serial.number) == [Self.now])
      #expect(made.releases[0].envelope.signatures.contains { $0.key == key.key.id })
      holdings = holdings.taking(made)
    }
    let signers = holdings.bundles.compactMap(\.statement).map { Set($0.envelope.signatures.map(\.key)) }
    #expect(signers == [[keys.release.key.id, second.key.id]])
    // One that the root doesn't name any more is left out.
    let without = try self.root {
      try $0.addKey(second.key, grant: nil, signsPrefetch: true)
      try $0.removeKey(keys.release.key.id)
    }
    let made = try NewStatements(
      for: holdings, among: holdings, under: without.document, after: [root], by: [second], now: Self.now + 20
    )
    #expect(made.releases.map { $0.envelope.signatures.map(\.key) } == [[second.key.id]])
    #expect(made.releases.map(\.document.serial.number) == [Self.now])
  }

  @Test func `keys that the root doesn't name, or not for this, sign nothing`() throws {
    let home = try Self.live("home", ["a.js": "1"])
    let holdings = Holdings(bundles: [try holding("online", home)])
    let stranger = KeyFile(P256PrivateKey())
    let plain = try root()
    #expect(throws: SigningError.notListed(stranger.key.id)) {
      try NewStatements(for: holdings, among: holdings, under: plain.document, by: [stranger], now: Self.now)
    }
    let prefix = try #require(ReleaseGrant.URLPrefix("https://other.example.com/"))
    let narrow = try root {
      try $0.setScope(RootDraft.Grant(keys: [keys.release.key.id], prefixes: .some([prefix])))
    }
    let made = try NewStatements(
      for: holdings, among: holdings, under: narrow.document, by: [keys.release], now: Self.now)
    let judge = RootJudge(narrow)
    #expect(judge.failure(of: home, made.releases.first, in: .online) == .releaseScope)
  }

  @Test func `a threshold of two needs both`() throws {
    let second = KeyFile(P256PrivateKey())
    let root = try root {
      try $0.addKey(second.key, grant: nil, signsPrefetch: false)
      $0.setReleaseThreshold(2)
    }
    let home = try Self.live("home", ["a.js": "1"])
    let holdings = Holdings(bundles: [try holding("online", home)])
    let judge = RootJudge(root)
    for signers in [[keys.release], [second]] {
      let made = try NewStatements(
        for: holdings, among: holdings, under: root.document, by: signers, now: Self.now)
      #expect(judge.failure(of: home, made.releases.first, in: .online) == .releaseKey)
    }
    let both = try NewStatements(
      for: holdings, among: holdings, under: root.document, by: [keys.release, second], now: Self.now)
    #expect(judge.failure(of: home, both.releases.first, in: .online) == nil)
  }

  @Test func `a URL in two bundles is found, and nothing is signed with a root that is off`() throws {
    let url = "https://m.example.com/a.js"
    let entries: JSONValue = .object(JSONObject([.init(key: url, value: Self.entry("x"))]))
    let bundles = try ["home", "cart"].map { name in
      try holding("online", LiveBundle(BundleName(name), entries: entries))
    }
    let shared = Holdings(bundles: bundles).sharedURLs
    #expect(shared == ["\(url) in online: home and cart"])
    let off = try root { $0.isOff = true }
    #expect(Holdings(bundles: bundles).refused(by: RootJudge(off)).isEmpty)
  }
}
