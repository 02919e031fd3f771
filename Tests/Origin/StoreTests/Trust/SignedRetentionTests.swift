import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

/// Statements go with the last version that has what they are for.
@Suite struct SignedRetentionTests {
  private func count(_ table: StaticString, _ shop: SignedShop) throws -> Int64? {
    try shop.store.connections.reading { (db) throws(StoreError) in
      switch "\(table)" {
      case "prefetch_statement": try db.value(Int64.self, "SELECT count(*) FROM prefetch_statement")
      default: try db.value(Int64.self, "SELECT count(*) FROM release_statement")
      }
    }
  }

  @Test func statementsOfPrefetchConfigsAreCollected() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    for number in 1...6 as ClosedRange<Int64> {
      let content = Array(#"[{"url":"https://m.example.com/\#(number)"}]"#.utf8)
      var request = DocumentRequest(
        app: shop.app, channel: .online, document: .prefetch, kind: .push, author: "anna", message: "")
      let statement = try PrefetchStatement(
        app: shop.app, channels: [.online], content: SHA256.of(content),
        serial: try #require(Serial(number)), floor: .zero)
      request.statement = try Signed(statement).signed(by: shop.releaseKey)
      _ = try shop.store.change(request) { (_, _) throws(StoreError) in content }
    }
    #expect(try count("prefetch_statement", shop) == 6)
    var policy = RetentionPolicy()
    policy.versions = 2
    policy.days = 0
    _ = try shop.store.collect(policy)
    // The two newest, and the oldest, which tells since when there is a config.
    #expect(try count("prefetch_statement", shop) == 3)
    let channel = try shop.store.shop()
    for version in [1, 5, 6] as [Int64] {
      #expect(try shop.store.prefetchStatement(of: channel, at: version)?.document.serial.number == version)
    }
    #expect(try shop.store.extras(of: channel).prefetchTrust != nil)
  }

  @Test func statementsOfBundlesAreCollected() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    for number in 1...6 as ClosedRange<Int64> {
      let content = ["a.js": Sample("next \(number)")]
      try shop.publish(
        "a", base: number == 1 ? 1 : number + 2, set: content,
        with: [try shop.statement("a", content, serial: 10 + number)])
    }
    #expect(try count("release_statement", shop) == 8)
    var policy = RetentionPolicy()
    policy.versions = 2
    policy.days = 0
    _ = try shop.store.collect(policy)
    #expect(try count("release_statement", shop) == 3)
    let channel = try shop.store.shop()
    #expect(try shop.store.bundleTrust(of: channel, at: channel.version).allSatisfy { $0.problem == nil })
  }

  @Test func damagedStatementIsLeftOut() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    try shop.store.connections.transaction { (db) throws(StoreError) in
      try db.run("DROP TRIGGER release_statement_is_immutable")
      try db.run("UPDATE release_statement SET envelope = 'x' WHERE bundle = 'a'")
    }
    let channel = try shop.store.shop()
    let signed = try shop.store.bundleTrust(of: channel, at: channel.version)
    #expect(signed.map(\.problem) == [.releaseMissing, nil])
    #expect(try shop.store.answerTrust(of: channel, from: nil, to: channel.version) != nil)
    #expect(try shop.store.checkup(deep: false).findings.map(\.code).contains("statement-damaged"))
    var input = StatementsInput(app: shop.app, by: shop.anna)
    input.releases = [try shop.statement("a", ["a.js": Sample("a1")], serial: 11)]
    #expect(try shop.store.keep(input) == 1)
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 3).failure == nil)
  }
}
