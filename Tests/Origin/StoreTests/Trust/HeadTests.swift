import Glibc
import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

@Suite struct HeadTests {
  private func head(_ shop: SignedShop) throws -> TrustHead {
    let bytes = try #require(try shop.store.headDocument(of: try shop.store.shop()))
    return try Signed<TrustHead>(parsing: bytes).document
  }

  @Test func headsFollowTheChannelAndTheirTimesRise() throws {
    let clock = Locked<Int64>(1_790_000_000_000)
    var options = Store.Options()
    options.clock = { clock.withLock { $0 } }
    let shop = try SignedShop(options)
    _ = try shop.begin()
    let channel = try shop.store.shop()
    let first = try head(shop)
    #expect(first.version.number == 3 && first.digest == channel.digest && first.candidate == nil)
    #expect(first.until.milliseconds - first.at.milliseconds == 30 * 86_400_000)
    #expect(try !shop.store.renewHead(of: channel.id))
    #expect(try !shop.store.renewHead(of: channel.id, isDaily: true))
    // A clock that goes back doesn't take the head along.
    clock.withLock { $0 -= 1000 }
    let a2 = ["a.js": Sample("a2")]
    try shop.publish("a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20)])
    let second = try head(shop)
    #expect(second.at.milliseconds == first.at.milliseconds + 1)
    #expect(second.version.number == 3 && second.candidate?.rule.version.number == 4)
    _ = try shop.store.changeRollout(
      RolloutInput(app: shop.app, channel: .online, .pause, by: shop.anna))
    #expect(try head(shop).candidate?.rule.share == 0)
    _ = try shop.store.changeRollout(
      RolloutInput(app: shop.app, channel: .online, .complete, by: shop.anna))
    let completed = try head(shop)
    #expect(completed.version.number == 4 && completed.candidate == nil)
    let request = DocumentRequest(
      app: shop.app, channel: .online, document: .policy, kind: .kill, author: "anna", message: "")
    _ = try shop.store.change(request) { (_, _) throws(StoreError) in Array(#"{"intercept":false}"#.utf8) }
    let killed = try head(shop)
    #expect(killed.policy == 1)
    clock.withLock { $0 += 21 * 3_600_000 }
    #expect(try !shop.store.renewHead(of: channel.id))
    #expect(try shop.store.renewHead(of: channel.id, isDaily: true))
    #expect(try head(shop).at > killed.at)
  }

  @Test func withoutAKeyTheKillSwitchGoesOn() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let before = try head(shop)
    for name in try Folder.textNames(shop.store.folder.keys) {
      try Kernel.remove("\(shop.store.folder.keys)/\(name)")
    }
    let request = DocumentRequest(
      app: shop.app, channel: .online, document: .policy, kind: .kill, author: "anna", message: "")
    _ = try shop.store.change(request) { (_, _) throws(StoreError) in Array(#"{"intercept":false}"#.utf8) }
    #expect(try head(shop) == before)
    let channel = try shop.store.shop()
    #expect { try shop.store.renewHead(of: channel.id) } throws: {
      if case StoreError.noHeadKey = $0 { true } else { false }
    }
    // Whoever releases, or looks, hears of it.
    #expect(try shop.store.headProblem(of: channel) == .noKey)
    let a2 = ["a.js": Sample("a2")]
    let release = try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    #expect(release.headProblem == .noKey)
    #expect(try shop.rollback(to: 3).release.headProblem == .noKey)
    #expect(try !shop.store.checkup(deep: false).isClean)
    // With a key again, it is a matter of time.
    let key = try shop.store.makeHeadKey(another: false, by: shop.anna).key
    let next = try shop.push(try shop.root(2, heads: [key]), releases: [])
    #expect(next.hasHeadKey)
    #expect(try shop.store.headProblem(of: try shop.store.shop()) == nil)
    #expect(try shop.store.checkup(deep: false).isClean)
  }

  @Test func headThatIsDueIsBehind() throws {
    let shop = try SignedShop()
    #expect(try shop.begin().channels.allSatisfy { $0.release?.headProblem == nil })
    let folder = shop.store.folder.keys
    let name = try #require(try Folder.textNames(folder).first)
    let pem = try #require(try DurableFile.read("\(folder)/\(name)"))
    try Kernel.remove("\(folder)/\(name)")
    let a2 = ["a.js": Sample("a2")]
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    try DurableFile.write(pem, to: "\(folder)/\(name)", mode: 0o600, replaces: false)
    let channel = try shop.store.shop()
    #expect(try shop.store.headProblem(of: channel) == .behind)
    #expect(try shop.store.renewHead(of: channel.id))
    #expect(try shop.store.headProblem(of: channel) == nil)
  }

  /// Whatever is wrong with the row, answers go on until there is another head: without one, or with the one that the envelope still has.
  @Test(arguments: ["x", "{}", "other", "time"])
  func damagedHeadIsLeftOutAndReplaced(damage: String) throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let channel = try shop.store.shop()
    let before = try head(shop)
    var text = damage
    if damage == "other" || damage == "time" {
      text = String(decoding: try #require(try shop.store.headDocument(of: channel)), as: UTF8.self)
    }
    let envelope = text
    let at = damage == "time" ? Int64.max : before.at.milliseconds + 1
    try shop.store.connections.transaction { (db) throws(StoreError) in
      try db.run("UPDATE head SET at = ?, envelope = ? WHERE channel_id = ?", at, envelope, channel.id)
    }
    let isLost = damage == "x" || damage == "{}"
    #expect(try (shop.store.headDocument(of: channel) == nil) == isLost)
    #expect(try shop.store.hasDamagedHead(channel.id))
    let bytes = try #require(try shop.store.answerTrust(of: channel, from: nil, to: channel.version))
    var reader = JSONReader(bytes)
    let trust = try AnswerTrust(reading: &reader)
    #expect((trust.head == nil) == isLost && trust.releases.count == 2)
    #expect(try shop.store.checkup(deep: false).findings.map(\.code).contains("head-damaged"))
    #expect(try shop.store.headProblem(of: channel) == .behind)
    #expect(try shop.store.renewHead(of: channel.id))
    // Devices have the one before.
    #expect(try head(shop).at > before.at)
    #expect(try shop.store.headProblem(of: channel) == nil)
    #expect(try shop.store.checkup(deep: false).isClean)
  }

  @Test func headWithoutItsSignatureIsReplaced() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let channel = try shop.store.shop()
    let before = try head(shop)
    let later = try #require(TrustTime(before.at.milliseconds + 1))
    // Says what the channel is, and isn't signed by the key that the row names.
    let forged = try Signed(
      TrustHead(
        app: before.app, environment: before.environment, channel: before.channel, version: before.version,
        digest: before.digest, candidate: nil, policy: before.policy, prefetch: before.prefetch, at: later,
        until: before.until)
    ).signed(by: shop.otherKey)
    let signature = try #require(forged.envelope.signatures.first?.signature)
    let falsified = try Signed(
      forged.document, signatures: [Envelope.Signature(key: shop.headKey.id, signature: signature)])
    let text = String(decoding: falsified.envelope.bytes, as: UTF8.self)
    try shop.store.connections.transaction { (db) throws(StoreError) in
      try db.run(
        "UPDATE head SET at = ?, envelope = ? WHERE channel_id = ?", later.milliseconds, text, channel.id)
    }
    #expect(try shop.store.renewHead(of: channel.id))
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 3).failure == nil)
  }

  /// Signed while the clock was ahead, a head promises devices no more than it has to.
  @Test(arguments: [3_600_000, 40 * 86_400_000] as [Int64])
  func clockThatWasAheadIsFollowed(ahead: Int64) throws {
    let start: Int64 = 1_790_000_000_000
    let clock = Locked<Int64>(start + ahead)
    var options = Store.Options()
    options.clock = { clock.withLock { $0 } }
    let shop = try SignedShop(options)
    _ = try shop.begin()
    let channel = try shop.store.shop()
    let month: Int64 = 30 * 86_400_000
    clock.withLock { $0 = start }
    #expect(try shop.store.checkup(deep: false).findings.map(\.code).contains("head-ahead"))
    #expect(try shop.store.renewHead(of: channel.id, isDaily: true))
    let first = try head(shop)
    #expect(first.at.milliseconds == start + ahead + 1)
    #expect(first.until.milliseconds == max(first.at.milliseconds, start + month))
    #expect(try !shop.store.renewHead(of: channel.id, isDaily: true))
    // A day before devices would miss one, at the latest, there is another one.
    var renewed = 0
    for day in 1...60 as ClosedRange<Int64> {
      clock.withLock { $0 = start + day * 86_400_000 }
      if try shop.store.renewHead(of: channel.id, isDaily: true) { renewed += 1 }
      #expect(try head(shop).until.milliseconds >= start + day * 86_400_000 + month - 86_400_000)
    }
    #expect(renewed >= 40)
  }

  @Test func keysAreFilesForTheOwner() throws {
    let shop = try SignedShop()
    let (same, isNew) = try shop.store.makeHeadKey(another: false, by: shop.anna)
    #expect(same == shop.headKey && !isNew)
    let other = try shop.store.makeHeadKey(another: true, by: shop.anna)
    #expect(other.isNew && other.key != shop.headKey)
    #expect(Set(try shop.store.headKeys()) == [shop.headKey, other.key])
    let folder = shop.store.folder.keys
    #expect(try Kernel.status(folder)?.mode == 0o700)
    for name in try Folder.textNames(folder) {
      #expect(try Kernel.status("\(folder)/\(name)")?.mode == 0o600)
    }
    #expect(try shop.store.auditLog(limit: 1)[0].act == "trust.head-key")
  }

  @Test func anotherHeadKeyTakesOver() throws {
    let shop = try SignedShop()
    _ = try shop.begin()
    let other = try shop.store.makeHeadKey(another: true, by: shop.anna).key
    try shop.push(try shop.root(2, heads: [other]), releases: [])
    let bytes = try #require(try shop.store.headDocument(of: try shop.store.shop()))
    let signed = try Signed<TrustHead>(parsing: bytes)
    #expect(signed.envelope.signatures.map(\.key) == [other.id])
    #expect(try shop.verdict(try shop.device(try shop.root(2, heads: [other])), to: 3).failure == nil)
  }

  /// All of a root is there, or nothing of it.
  @Test(arguments: 1...6)
  func killedPushLeavesAConsistentState(fatal: Int) async throws {
    let scratch = Scratch()
    let data = scratch.data
    try await #require(processExitsWith: .signal(SIGKILL)) { [data = data as String, fatal = fatal as Int] in
      let trap = CrashTests.Trap()
      var options = Store.Options()
      options.disk = Disk { _, _ in trap.step() }
      let shop = try SignedShop(options, at: data)
      try shop.publishTwo()
      let input = try shop.input(try shop.root())
      trap.arm(fatal)
      _ = try shop.store.push(input, committed: { _ in trap.step() })
      kill(getpid(), SIGKILL)
    }
    let store = try scratch.open()
    let channel = try store.shop()
    let roots = try store.trust(of: channel.app)?.roots.count ?? 0
    // Four steps are within the transaction; the fifth is after it.
    #expect(roots == (fatal > 4 ? 1 : 0))
    #expect(channel.version.number == (roots == 1 ? 3 : 2))
    #expect(channel.bundlesSince?.number == (roots == 1 ? 3 : nil))
    #expect(try store.headDocument(of: channel) != nil || roots == 0)
    #expect(try store.bundleTrust(of: channel, at: channel.version).count == 2 * roots)
  }
}
