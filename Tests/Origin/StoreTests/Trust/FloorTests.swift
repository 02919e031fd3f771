import Manifests
import System
import Testing
import TestSupport
import Trust
import Values

@testable import Store

/// Floors rise wherever devices get them, and never between what devices have to go from and to.
@Suite struct FloorTests {
  private let a1 = ["a.js": Sample("a1")]
  private let a2 = ["a.js": Sample("a2")]
  private let a3 = ["a.js": Sample("a3")]

  private func begun() throws -> SignedShop {
    let shop = try SignedShop()
    _ = try shop.begin()
    return shop
  }

  /// The candidate that a refused floor names.
  private func candidate(_ body: () throws -> Void) -> Int64? {
    do {
      try body()
    } catch StoreError.floorBesideRollout(_, _, let candidate, _) {
      return candidate.number
    } catch {
      Issue.record(error)
    }
    return nil
  }

  private func complete(_ shop: SignedShop) throws {
    _ = try shop.store.changeRollout(
      RolloutInput(app: shop.app, channel: .online, .complete, by: shop.anna))
  }

  @Test func candidateCanBeTakenBack() throws {
    let shop = try begun()
    func publish(floor: Int64) throws {
      try shop.publish(
        "a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20, floor: floor)])
    }
    // The full version's statement has the serial 10.
    #expect(candidate { try publish(floor: 11) } == 4)
    #expect(try shop.store.shop().rollout == nil)
    #expect(candidate { try publish(floor: 10) } == nil)
    _ = try shop.store.haltRollout(shop.app, .online, nil, by: shop.anna, reason: "broken")
    #expect(try shop.verdict(try shop.device(try shop.root()), to: 5).failure == nil)
    // Devices that were in have the floor.
    #expect(
      SignedShop.problems {
        try shop.publish("a", base: 5, set: a3, with: [try shop.statement("a", a3, serial: 9)])
      } == ["online a release-floor"])
  }

  @Test func noFloorRisesAboveACandidate() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20)])
    func keep(_ content: [String: Sample], _ serial: Int64, floor: Int64, dryRun: Bool = false) throws {
      var input = StatementsInput(app: shop.app, by: shop.anna)
      input.releases = [try shop.statement("a", content, serial: serial, floor: floor)]
      input.dryRun = dryRun
      _ = try shop.store.keep(input)
    }
    #expect(candidate { try keep(a1, 40, floor: 40) } == 4)
    #expect(candidate { try keep(a1, 40, floor: 40, dryRun: true) } == 4)
    // Nor does the candidate's above the full version.
    #expect(candidate { try keep(a2, 50, floor: 50) } == 4)
    // Nor beneath a release that makes the candidate again.
    let b2 = ["b.js": Sample("b2")]
    func publish(floor: Int64) throws {
      let signed = try shop.statement("b", b2, serial: 20)
      try shop.publish(
        "b", base: 2, set: b2, with: [signed, try shop.statement("a", a1, serial: 41, floor: floor)])
    }
    #expect(candidate { try publish(floor: 21) } == 4)
    #expect(try shop.store.shop().full.version.number == 3)
    #expect(candidate { try publish(floor: 20) } == nil)
    let device = try shop.device(try shop.root())
    #expect(try shop.verdict(device, to: 5).failure == nil)
    #expect(try shop.verdict(device, to: 6).isCandidate)
    #expect(candidate { try keep(a2, 50, floor: 41) } == nil)
    try complete(shop)
    #expect(try shop.verdict(device, to: 6).failure == nil)
  }

  @Test func completedIsWhatDevicesTake() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, share: 500, with: [try shop.statement("a", a2, serial: 20)])
    let id = try shop.store.shop().id
    let floor = try #require(Serial(30))
    try shop.store.connections.transaction { (db) throws(StoreError) in
      try db.raiseFloor(of: "a", in: id, to: floor)
    }
    #expect(SignedShop.problems { try complete(shop) } == ["online a release-floor"])
    #expect(try shop.store.shop().rollout?.candidate.number == 4)
    // Signed anew, it is completed, and whoever has it gets the statement.
    let again = try shop.statement("a", a2, serial: 40, floor: 35)
    let outcome = try shop.publish("a", base: 1, set: a2, with: [again])
    #expect(outcome.rollout?.ended?.state == .completed)
    let channel = try shop.store.shop()
    #expect(channel.rollout == nil && channel.version.number == 4)
    let bytes = try #require(
      try shop.store.answerTrust(of: channel, from: channel.version, to: channel.version))
    var reader = JSONReader(bytes)
    #expect(try AnswerTrust(reading: &reader).releases.compactMap { try? $0.get() } == [again])
    #expect(
      SignedShop.problems {
        try shop.publish("a", base: 4, set: a3, with: [try shop.statement("a", a3, serial: 34)])
      } == ["online a release-floor"])
  }

  @Test func floorOfAnotherChannelCounts() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20)])
    try shop.store.send(a2.values)
    var request = try shop.store.request([try shop.store.change("a", base: 0, set: a2)])
    request.channel = try ChannelName("beta")
    request.statements = [
      try shop.statement("a", a2, serial: 30, floor: 30, channels: ["beta", "online"])
    ]
    _ = try shop.store.commit(request)
    #expect(SignedShop.problems { _ = try shop.rollback(to: 3) } == ["online a release-floor"])
  }

  @Test func floorOfAnUnchangedBundleCounts() throws {
    let shop = try begun()
    let b2 = ["b.js": Sample("b2")]
    try shop.publish(
      "b", base: 2, set: b2,
      with: [
        try shop.statement("b", b2, serial: 20), try shop.statement("a", a1, serial: 40, floor: 40),
      ])
    #expect(
      SignedShop.problems {
        try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 39)])
      } == ["online a release-floor"])
  }

  /// A device with the root in force, which has just been installed, gets a statement that leaves its floor low.
  @Test func loweredFloorStaysLow() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, floor: 20)])
    let root = try shop.root(2, floors: [try BundleName("a"): try #require(Serial(5))])
    // Signed anew, with the same serial.
    let low = try shop.statement("a", a2, serial: 20, floor: 5)
    try shop.push(root, releases: [low])
    func handedOut() throws -> Signed<ReleaseStatement>? {
      let channel = try shop.store.shop()
      return try shop.store.bundleTrust(of: channel, at: channel.version).first { $0.bundle.text == "a" }?
        .statement
    }
    #expect(try handedOut() == low)
    #expect(try shop.verdict(try shop.device(root), to: 4).failure == nil)
    #expect(try shop.store.raisedFloors(of: try shop.store.shop()).isEmpty)
    // Whoever has the version before gets it, too.
    let bytes = try #require(
      try shop.store.answerTrust(of: try shop.store.shop(), from: ManifestVersion(4), to: ManifestVersion(4)))
    var reader = JSONReader(bytes)
    #expect(try AnswerTrust(reading: &reader).releases.compactMap { try? $0.get() } == [low])
    // Raised once more for the same files, it is raised.
    var input = StatementsInput(app: shop.app, by: shop.anna)
    let high = try shop.statement("a", a2, serial: 30, floor: 25)
    input.releases = [high]
    #expect(try shop.store.keep(input) == 1)
    #expect(try handedOut() == high)
    #expect(SignedShop.problems { _ = try shop.rollback(to: 3) } == ["online a release-floor"])
  }

  /// So does one with a lower serial that was signed before.
  @Test func statementThatRaisesALoweredFloorComesLast() throws {
    let shop = try begun()
    let low = try shop.statement("a", a1, serial: 10)
    var input = StatementsInput(app: shop.app, by: shop.anna)
    input.releases = [try shop.statement("a", a1, serial: 20, floor: 20)]
    #expect(try shop.store.keep(input) == 1)
    try shop.push(try shop.root(2, floors: [try BundleName("a"): .zero]), releases: [])
    let channel = try shop.store.shop()
    #expect(
      try shop.store.bundleTrust(of: channel, at: channel.version)[0].statement?.document == low.document)
  }

  /// What raises a floor does so in each channel that it comes to: only a root says otherwise.
  @Test func raisedFloorGoesAlongWithThePromotion() throws {
    let shop = try begun()
    let beta = try ChannelName("beta")
    let both = ["beta", "online"]
    try shop.store.send(a2.values)
    var request = try shop.store.request([try shop.store.change("a", base: 0, set: a2)])
    request.channel = beta
    request.statements = [try shop.statement("a", a2, serial: 20, channels: both)]
    _ = try shop.store.commit(request)
    let high = try shop.statement("a", a2, serial: 30, floor: 30, channels: both)
    var input = StatementsInput(app: shop.app, by: shop.anna)
    input.releases = [high]
    _ = try shop.store.keep(input)
    #expect(try shop.publish("a", base: 1, set: a2).trust.map(\.statement) == [high])
    #expect(SignedShop.problems { _ = try shop.rollback(to: 3) } == ["online a release-floor"])
  }

  /// As in the drill in which the thief's files aren't signed anew.
  @Test func loweredFloorIsLowWithoutANewStatement() throws {
    let shop = try begun()
    try shop.publish("a", base: 1, set: a2, with: [try shop.statement("a", a2, serial: 20, floor: 20)])
    try shop.push(try shop.root(2, floors: [try BundleName("a"): .zero]), releases: [])
    let channel = try shop.store.shop()
    #expect(
      try shop.store.raisedFloors(of: channel) == [
        RaisedFloor(bundle: try BundleName("a"), floor: try #require(Serial(20)), named: .zero)
      ])
    let checkup = try shop.store.checkup(deep: false)
    #expect(checkup.isClean && checkup.findings.map(\.code).contains("floor-raised"))
    // Nor does a root that follows raise it.
    try shop.push(try shop.root(3), releases: [])
    #expect(try shop.rollback(to: 3).release.version.number == 5)
  }

  @Test func removedChannelHasTheFloorsOfRoots() throws {
    let shop = try begun()
    let beta = try ChannelName("beta")
    try shop.store.send(a2.values)
    var request = try shop.store.request([try shop.store.change("a", base: 0, set: a2)])
    request.channel = beta
    request.statements = [try shop.statement("a", a2, serial: 30, floor: 30, channels: ["beta"])]
    _ = try shop.store.commit(request)
    let id = try shop.store.channel(shop.app, beta).id
    var last = try shop.store.request([BundleChange(try BundleName("a"), .unpublish)])
    last.channel = beta
    _ = try shop.store.commit(last)
    _ = try shop.store.removeChannel(shop.app, beta, by: shop.anna)
    try shop.push(try shop.root(2, floors: [try BundleName("a"): try #require(Serial(5))]), releases: [])
    let floor = try shop.store.connections.reading { (db) throws(StoreError) in
      try db.value(
        Int64.self, "SELECT floor FROM trust_floor WHERE channel_id = ? AND bundle = 'a'", id)
    }
    #expect(floor == 5)
  }

  @Test func versionHasAsManyBundlesAsAnswersHaveStatements() throws {
    let shop = try begun()
    let sample = Sample("x")
    let changes = try (0..<AnswerTrust.releaseLimit - 1).map {
      try shop.store.change("n\($0)", base: 0, set: ["n\($0).js": sample])
    }
    #expect {
      try shop.publish(changes, sending: [sample])
    } throws: {
      if case StoreError.tooManyBundles(_, _, AnswerTrust.releaseLimit) = $0 { true } else { false }
    }
    #expect(try shop.store.shop().version.number == 3)
  }

  @Test func prefetchConfigOfACandidateCanBeTakenBack() throws {
    let shop = try begun()
    func content(_ name: String) -> [UInt8] { Array(#"[{"url":"https://m.example.com/\#(name)"}]"#.utf8) }
    func request(_ content: [UInt8], _ serial: Int64, floor: Int64) throws -> DocumentRequest {
      var request = DocumentRequest(
        app: shop.app, channel: .online, document: .prefetch, kind: .push, author: "anna", message: "")
      let statement = try PrefetchStatement(
        app: shop.app, channels: [.online], content: SHA256.of(content),
        serial: try #require(Serial(serial)), floor: try #require(Serial(floor)))
      request.statement = try Signed(statement).signed(by: shop.releaseKey)
      return request
    }
    func push(_ name: String, _ serial: Int64) throws {
      let content = content(name)
      _ = try shop.store.change(try request(content, serial, floor: 0)) { (_, _) throws(StoreError) in content
      }
    }
    func pushCandidate(floor: Int64) throws {
      _ = try shop.store.pushCandidatePrefetch(
        try request(content("two"), 30, floor: floor), to: RolloutAudience(share: 500), content("two"))
    }
    try push("one", 20)
    #expect(candidate { try pushCandidate(floor: 21) } == 4)
    #expect(candidate { try pushCandidate(floor: 20) } == nil)
    try complete(shop)
    #expect {
      try push("three", 19)
    } throws: {
      guard case StoreError.unsignedPrefetch(_, _, .prefetchFloor) = $0 else { return false }
      return true
    }
  }
}
