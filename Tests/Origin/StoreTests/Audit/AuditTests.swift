import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

@Suite struct AuditTests {
  let scratch = Scratch()

  /// Acts of every kind, and the audit rows of them.
  private func rows() throws -> [AuditRow] {
    let store = try scratch.open()
    let anna = Actor(name: "anna", address: "10.0.0.7")
    try store.publish(base: 0, set: ["f.js": Sample("a")])
    try store.publish(base: 1, set: ["f.js": Sample("b")])
    let shop = try AppName("shop")
    _ = try store.rollback(
      RollbackInput(app: shop, channel: .online, to: .steps(1), by: anna, message: "it burns"))
    _ = try store.createToken(name: "ci", scope: .publish, expiresAt: 1, by: anna)
    _ = try store.revokeToken("ci", by: anna)
    _ = try store.freezeChannel(shop, .online, reason: "sale", by: anna)
    _ = try store.thawChannel(shop, .online, by: anna)
    _ = try store.createChannel(
      shop, try ChannelName("test"), publicURL: try BaseURL("https://cdn.example.com"), by: anna)
    _ = try store.removeChannel(shop, try ChannelName("test"), by: anna)
    try store.setDefaultApp(shop, by: anna)
    let channel = try store.shop()
    _ = try store.pin(ManifestVersion(1), of: channel, reason: "the app ships it", by: anna)
    try store.unpin(ManifestVersion(1), of: channel, by: anna)
    _ = try store.keepScript([1], for: channel, by: anna)
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    _ = try store.collect(policy, by: anna)
    // A publish without changes leaves no row.
    try store.publish(base: 3, set: ["f.js": Sample("a")])
    _ = try store.thawChannel(shop, .online, by: anna)
    _ = try store.keepScript([1], for: channel, by: anna)
    _ = try store.collect(policy, by: anna)
    #expect(throws: StoreError.self) { try store.revokeToken("nobody", by: anna) }
    #expect(throws: StoreError.self) { try store.unpin(ManifestVersion(3), of: channel, by: anna) }
    #expect(try store.verifyAudit().0 == nil)
    #expect(try store.auditLog(limit: 3).map(\.id) == [16, 15, 14])
    return try store.auditRows(after: 0, limit: 100)
  }

  private func check(_ rows: [AuditRow], receipts: [AuditHead] = []) -> AuditChain.Break? {
    var chain = AuditChain(receipts: receipts)
    for row in rows { chain.append(row) }
    return chain.finish()
  }

  @Test func everyActHasARow() throws {
    let rows = try rows()
    #expect(
      rows.map(\.act) == [
        "token.create", "publish", "publish", "rollback", "token.create", "token.revoke", "channel.freeze",
        "channel.thaw", "channel.create", "channel.remove", "app.default", "pin", "unpin", "policy.store",
        "gc",
        "gc.files",
      ])
    #expect(rows[0].author == "local" && rows[0].parameters.contains("admin"))
    #expect(
      rows[3].author == "anna" && rows[3].address == "10.0.0.7" && rows[3].parameters.contains("it burns"))
    #expect(rows[1].author == "ci" && rows[1].app == "shop" && rows[1].channel == "online")
    #expect(rows[14].result == #"{"dropped":"1-2","kept":1}"# && rows[14].author == "anna")
    #expect(check(rows) == nil)
    for row in rows { #expect(try AuditRow(json: row.json) == row) }
  }

  @Test func firstChangedRowIsNamed() throws {
    let rows = try rows()
    for place in rows.indices {
      let number = Int64(place + 1)
      var dropped = rows
      dropped.remove(at: place)
      if place < rows.count - 1 { #expect(check(dropped) == .missing(number)) }
      // The chain doesn't show that the end was truncated; a receipt does.
      let receipt = AuditHead(row: number, hash: rows[place].hash)
      #expect(check(Array(rows[..<place]), receipts: [receipt]) == .missing(number))
      #expect(check(rows, receipts: [receipt]) == nil)
      if place > 0 {
        var swapped = rows
        swapped.swapAt(place, place - 1)
        #expect(check(swapped)?.row == number - 1)
      }
      for altered in alterations(of: rows[place]) {
        var changed = rows
        changed[place] = altered
        #expect(check(changed) == .altered(number))
        // If all later hashes are recomputed, the chain is intact, but the receipts don't match.
        let forged = rechained(changed, from: place)
        #expect(check(forged) == nil)
        #expect(check(forged, receipts: [receipt]) == .rewritten(number))
      }
    }
  }

  private func alterations(of row: AuditRow) -> [AuditRow] {
    func with(
      at: Int64? = nil, author: String? = nil, address: String? = nil, act: String? = nil, app: String? = nil,
      parameters: String? = nil, result: String? = nil
    ) -> AuditRow {
      AuditRow(
        id: row.id, at: at ?? row.at, author: author ?? row.author, address: address ?? row.address,
        act: act ?? row.act, app: app ?? row.app, channel: row.channel,
        parameters: parameters ?? row.parameters,
        result: result ?? row.result, hash: row.hash)
    }
    return [
      with(at: row.at + 1), with(author: "bob"), with(address: "10.0.0.8"), with(act: "undo"),
      with(app: "shoq"),
      with(parameters: "{\"x\":1}"), with(result: "{\"x\":1}"),
    ]
  }

  private func rechained(_ rows: [AuditRow], from place: Int) -> [AuditRow] {
    var rows = rows
    var hash = place > 0 ? rows[place - 1].hash : AuditHead.none.hash
    for index in place..<rows.count {
      let row = rows[index]
      hash = row.hash(after: hash)
      rows[index] = AuditRow(
        id: row.id, at: row.at, author: row.author, address: row.address, act: row.act, app: row.app,
        channel: row.channel, parameters: row.parameters, result: row.result, hash: hash)
    }
    return rows
  }

  /// Triggers of the database prevent changes of the audit table.
  @Test(arguments: [
    "UPDATE audit SET author = 'bob' WHERE id = 1", "DELETE FROM audit WHERE id = 3",
    "INSERT INTO audit SELECT 99, at, author, address, act, app, channel, parameters, result, hash FROM audit LIMIT 1",
  ])
  func tableRefusesChanges(sql: String) throws {
    _ = try rows()
    let db = try Database(path: "\(scratch.data)/xcache.db", .writing)
    #expect(throws: StoreError.self) { try db.script(sql) }
  }

  @Test(arguments: [
    ("*", "anything", true), ("activity-*", "activity-618", true), ("activity-*", "activity", false),
    ("a*b*c", "aXbYbZc", true), ("a*b*c", "aXbYbZ", false), ("a?c", "abc", true), ("a?c", "ac", false),
    ("main", "main", true), ("main", "mainly", false), ("**", "x", true), ("*-eu", "shop-eu-eu", true),
  ])
  func bundleGlobs(glob: String, name: String, matches: Bool) throws {
    #expect(try #require(BundleGlob(glob)).matches(try BundleName(name)) == matches)
  }

  @Test(arguments: ["", "a/b", "a b", "ä*", "[ab]", String(repeating: "x", count: 129)])
  func invalidGlobs(text: String) { #expect(BundleGlob(text) == nil) }

  @Test func expiredTokenIsRefused() throws {
    let now = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    let (token, text) = try store.createToken(
      name: "ci", scope: .publish, bundles: BundleGlob("activity-*"), expiresAt: 1_060_000)
    #expect(try store.check(token: text)?.expiresAt == 1_060_000)
    let names = [try BundleName("activity-618"), try BundleName("main")]
    #expect(names.map { token.allows(bundle: $0) } == [true, false] && !token.isUnlimited)
    #expect(try store.tokens().first { $0.name == "ci" }?.bundles?.text == "activity-*")
    now.withLock { $0 = 1_060_000 }
    #expect(try store.check(token: text) == nil)
  }
}

/// The changes in an audit row: what was added and removed, and values before and after.
@Suite struct AuditChangesTests {
  private let scratch = Scratch()

  private func result(_ store: Store) throws -> JSONValue {
    let row = try #require(try store.auditLog(limit: 1).first)
    return try JSONValue.parse(Array(row.result.utf8))
  }

  private func change(
    _ store: Store, _ document: ChannelDocument, _ kind: DocumentRecord.Kind, _ text: String
  ) throws {
    let request = DocumentRequest(
      app: try AppName("shop"), channel: .online, document: document, kind: kind, author: "ci", message: "")
    _ = try store.change(request, change: { _, _ in Array(text.utf8) })
  }

  private func json(_ text: String) throws -> JSONValue { try JSONValue.parse(Array(text.utf8)) }

  @Test func policyChanges() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    try change(
      store, .policy, .bypass, #"{"bypass":["https://a.example/*","https://b.example/*"],"intercept":true}"#)
    #expect(
      try result(store)["changes"]
        == json(#"{"bypass":{"added":["https://a.example/*","https://b.example/*"],"removed":[]}}"#))
    try change(
      store, .policy, .kill,
      #"{"bypass":["https://b.example/*"],"bypassUntil":{"https://b.example/*":null},"intercept":false,"until":"2030-01-01T00:00:00Z"}"#
    )
    #expect(
      try result(store)["changes"]
        == json(
          #"{"bypass":{"added":[],"removed":["https://a.example/*"]},"intercept":{"from":true,"to":false},"until":{"from":null,"to":"2030-01-01T00:00:00Z"}}"#
        ))
    try change(
      store, .policy, .bypass,
      #"{"bypass":["https://b.example/*"],"httpdns":false,"intercept":true,"until":"2031-01-01T00:00:00Z"}"#)
    #expect(
      try result(store)["changes"]
        == json(
          #"{"bypass":{"added":["https://b.example/* until 2031-01-01T00:00:00Z"],"removed":["https://b.example/*"]},"httpdns":{"from":true,"to":false},"intercept":{"from":false,"to":true},"until":{"from":"2030-01-01T00:00:00Z","to":null}}"#
        ))
  }

  @Test func prefetchConfigChanges() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a": Sample("a")])
    try change(
      store, .prefetch, .push,
      #"[{"interfaces":[],"url":"https://m/a"},{"interfaces":[],"url":"https://m/b"}]"#)
    try change(
      store, .prefetch, .push,
      #"[{"interfaces":[{"api":"https://m/i"}],"url":"https://m/b"},{"interfaces":[],"url":"https://m/c"}]"#)
    #expect(
      try result(store)["changes"]
        == json(#"{"changed":["https://m/b"],"pages":{"added":["https://m/c"],"removed":["https://m/a"]}}"#))
  }

  @Test func settingsFreezesTokensAndReleases() throws {
    let store = try scratch.open()
    let shop = try AppName("shop")
    try store.publish(base: 0, set: ["a": Sample("a")])
    try store.publish(base: 1, set: ["a": Sample("b"), "c": Sample("c")])
    #expect(try result(store)["previous"]?.string == "1")
    _ = try store.rollback(RollbackInput(app: shop, channel: .online, to: .steps(1), by: .local, message: ""))
    let back = try result(store)
    #expect(back["previous"]?.string == "2" && back["changed"]?.integer == 1 && back["removed"]?.integer == 1)
    _ = try store.set(SettingsChange(interval: 60), of: shop, .online)
    #expect(try result(store)["changes"] == json(#"{"interval":{"from":null,"to":60}}"#))
    var change = SettingsChange(interval: nil)
    change.reports = .some(500)
    change.hosts = .some(try HostList(["m.example.com"]))
    _ = try store.set(change, of: shop, .online)
    #expect(
      try result(store)["changes"]
        == json(
          #"{"hosts":{"from":null,"to":["m.example.com"]},"interval":{"from":60,"to":null},"reports":{"from":null,"to":500}}"#
        ))
    _ = try store.freezeChannel(shop, .online, reason: "sale", by: .local)
    _ = try store.freezeChannel(shop, .online, reason: "longer", by: .local)
    #expect(try result(store)["was"]?.string == "local: sale")
    _ = try store.createToken(name: "ci", scope: .publish, app: shop, expiresAt: nil, by: .local)
    _ = try store.revokeToken("ci", by: .local)
    let row = try #require(try store.auditLog(limit: 1).first)
    #expect(row.app == "shop" && row.result.contains(#""scope":"publish""#))
  }
}
