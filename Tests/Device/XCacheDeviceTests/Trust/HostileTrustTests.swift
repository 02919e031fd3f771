import DeviceTestSupport
import Manifests
import System
import Testing
import Trust
import Values

@testable import XCacheDevice

/// What somebody who answers a device tries, and what the device does: docs/protocol.md §14.
@Suite struct HostileTrustTests {
  let world: TrustBench

  init() throws { world = try TrustBench() }

  @Test func whatWasSignedIsTaken() throws {
    let device = try world.holder()
    #expect(try device.resource(for: TrustBench.page)?.read() == bytes("one"))
    // The statement of the bundle that didn't change is here.
    try world.offer(world.second, statements: [world.statement(world.second)])
    _ = world.origin.takeLog()
    try world.take(device, world.second)
    let log = world.origin.takeLog()
    #expect(log.polls == (1, 0))
    #expect(!log.contains { $0.contains("/root/") || $0.contains("head.json") })
    #expect(try device.resource(for: TrustBench.page)?.read() == bytes("two"))
    #expect(world.reports(device) == [])
  }

  @Test func arbitraryContent() throws {
    let device = try world.holder()
    let honest = try world.statements(world.second)
    let evil = try TrustBench.release(
      2,
      [
        TrustBench.page: ("home", "evil"), TrustBench.script: ("home", "let a"),
        TrustBench.pay: ("pay", "pay one"),
      ],
      at: world.origin)
    // Somebody with the head key.
    try world.offer(evil, statements: honest)
    // A patch that fails is asked for once more, whole.
    #expect(world.refuse(device, .releaseContent).polls == (1, 1))
    // And without it.
    try world.offer(evil, head: world.head(world.second))
    #expect(world.refuse(device, .headManifest).polls == (1, 0))
    try world.offer(evil, statements: world.statements(evil, by: [world.thief]))
    world.refuse(device, .releaseKey)
    try world.offer(evil, trust: nil)
    world.refuse(device, .headManifest)
    #expect(try device.resource(for: TrustBench.page)?.read() == bytes("one"))
    // It is told once.
    #expect(world.reports(device) == ["trust-content 2"])
    try world.offer(world.second)
    try world.take(device, world.second)
  }

  @Test func firstManifest() throws {
    let device = try world.device()
    try world.offer(world.first, trust: nil)
    world.refuse(device, .headMissing)
    try world.offer(world.first, statements: [])
    world.refuse(device, .releaseMissing)
    let bare = try TrustBench.release(1, [TrustBench.page: (nil, "one")], at: world.origin)
    try world.offer(bare)
    world.refuse(device, .entryBundle)
    try world.offer(world.first)
    try world.take(device, world.first)
  }

  /// A patch that lacks a statement costs one more request, as a result with another digest does.
  @Test func wholeManifestHelps() throws {
    let device = try world.holder()
    try world.offer(world.second)
    let (bad, body) = try (
      world.statements(world.first), answer("&version=1&digest=\(world.first.digest.hex)&patch=1")
    )
    let spoilt = try spoil(body, bad)
    world.origin.fail { $0.contains("&version=1&") ? .body(spoilt) : nil }
    try world.take(device, world.second)
    #expect(world.origin.takeLog().polls == (1, 1))
    #expect(world.reports(device) == [])
  }

  private func answer(_ query: String) throws -> [UInt8] {
    var body: [UInt8] = []
    _ = try world.origin.get(
      TransportRequest("\(FakeOrigin.server)/configure.json?app=shop&channel=online\(query)", limit: 1 << 20)
    ) {
      $0.withUnsafeBytes { body.append(contentsOf: $0) }
      return true
    }
    _ = world.origin.takeLog()
    return body
  }

  /// Puts other statements into an answer.
  private func spoil(_ body: [UInt8], _ statements: [Signed<ReleaseStatement>]) throws -> [UInt8] {
    var document = try #require(try JSONValue.parse(body).object)
    var data = try #require(document["data"]?.object)
    var trust = try #require(data["trust"]?.object)
    trust["releases"] = .array(statements.map(\.envelope.json))
    data["trust"] = .object(trust)
    document["data"] = .object(data)
    return JSONValue.object(document).canonical
  }

  @Test func bundleBelowTheFloor() throws {
    let device = try world.holder()
    let floor = world.start + 50
    try world.offer(
      world.second,
      statements: [
        world.statement(world.second, serial: floor, floor: floor), world.statement(world.first, "pay"),
      ])
    try world.take(device, world.second)
    // Older content under a newer head, by who has the head key: it hasn't proved itself yet.
    try world.offer(world.third)
    device.pageCameUp(from: "1")
    #expect(device.recordProof(of: "2"))
    #expect(!device.recordProof(of: "2"))
    world.refuse(device, .releaseFloor)
    #expect(world.reports(device) == ["trust-floor 3"])
    // Also in the next process.
    device.saveProof()
    device.close()
    let next = try world.device()
    world.refuse(next, .releaseFloor)
    try world.offer(
      world.third,
      statements: [world.statement(world.third, serial: floor), world.statement(world.third, "pay")])
    try world.take(next, world.third)
  }

  @Test func floorOfAVersionWithoutProof() throws {
    let device = try world.holder()
    let floor = world.start + 50
    try world.offer(
      world.second,
      statements: [
        world.statement(world.second, serial: floor, floor: floor), world.statement(world.first, "pay"),
      ])
    try world.take(device, world.second)
    #expect(try #require(device.trust).allowsReturn(to: HeldManifest(ManifestVersion(1), world.first.digest)))
    device.pageCameUp(from: "2")
    #expect(
      !(try #require(device.trust)).allowsReturn(to: HeldManifest(ManifestVersion(1), world.first.digest)))
    #expect(
      try #require(device.trust).allowsReturn(to: HeldManifest(ManifestVersion(2), world.second.digest)))
    #expect(
      !(try #require(device.trust)).allowsReturn(to: HeldManifest(ManifestVersion(3), world.third.digest)))
  }

  @Test func replays() throws {
    let device = try world.holder()
    try world.offer(world.third)
    try world.take(device, world.third)
    try world.offer(world.second)
    #expect(world.refuse(device, .headOld).polls == (1, 0))
    // An old head with a new release.
    let fourth = try TrustBench.release(4, [TrustBench.page: ("home", "four")], at: world.origin)
    try world.offer(fourth, head: world.head(world.second))
    world.refuse(device, .headOld)
    try world.offer(fourth, head: world.head(world.second, at: world.start + 9_000))
    world.refuse(device, .headFell)
    #expect(world.reports(device) == ["trust-head 2", "trust-head 4"])
  }

  @Test func mixedBundles() throws {
    let device = try world.holder()
    let mix = try TrustBench.release(
      3,
      [
        TrustBench.page: ("home", "two"), TrustBench.script: ("home", "let a"),
        TrustBench.pay: ("pay", "pay three"),
      ],
      at: world.origin)
    let statements = [try world.statement(world.second), try world.statement(world.third, "pay")]
    try world.offer(mix, head: world.head(world.third), statements: statements)
    world.refuse(device, .headManifest)
  }

  /// A head from the year 2035 stops updates until a root without its key; a floor of 2^53 until a root with another one.
  @Test func fastForward() throws {
    let device = try world.holder()
    try world.offer(world.second, head: world.head(world.second, at: 2_050_000_000_000))
    try world.take(device, world.second)
    try world.offer(world.third)
    world.refuse(device, .headOld)
    world.serve(try world.root(2, heads: [world.newKey]))
    try world.offer(world.third, root: 2, head: world.head(world.third, by: [world.newKey]))
    try world.take(device, world.third)

    let fourth = try TrustBench.release(4, [TrustBench.page: ("home", "four")], at: world.origin)
    try world.offer(
      fourth, root: 2, head: world.head(fourth, by: [world.newKey]),
      statements: [world.statement(fourth, serial: Serial.highest.number, floor: Serial.highest.number)])
    try world.take(device, fourth)
    device.pageCameUp(from: "4")
    let fifth = try TrustBench.release(5, [TrustBench.page: ("home", "five")], at: world.origin)
    try world.offer(fifth, root: 2, head: world.head(fifth, by: [world.newKey]))
    world.refuse(device, .releaseFloor)
    world.serve(try world.root(3, heads: [world.newKey], floors: ["home": world.start]))
    try world.offer(fifth, root: 3, head: world.head(fifth, by: [world.newKey]))
    try world.take(device, fifth)
  }

  /// Whoever answers "nothing new" for ever is noticed by the age of the head, and changes nothing.
  @Test func freeze() throws {
    let device = try world.holder()
    for _ in 0..<3 {
      _ = try device.update(force: true)
    }
    #expect(!world.origin.takeLog().contains(world.headURL))
    #expect(world.reports(device) == [])
    world.bench.clock.advance(seconds: 86_500)
    for _ in 0..<3 { _ = try device.update(force: true) }
    #expect(world.origin.takeLog().count { $0 == world.headURL } == 1)
    world.bench.clock.advance(seconds: 40 * 86_400)
    for _ in 0..<3 { _ = try device.update(force: true) }
    #expect(world.reports(device) == ["trust-stale 1"])
    world.bench.clock.advance(seconds: 86_500)
    // The next process knows what was asked and told.
    device.close()
    let next = try world.device()
    for _ in 0..<3 { _ = try next.update(force: true) }
    #expect(world.reports(next) == ["trust-stale 1"])
    #expect(world.origin.takeLog().count { $0 == world.headURL } == 2)
    // A stale head keeps nothing away.
    try world.offer(world.second)
    try world.take(next, world.second)
  }

  @Test func headsThatAreAskedFor() throws {
    let device = try world.holder()
    world.bench.clock.advance(seconds: 86_500)
    let newest = try world.head(world.second, at: world.start + 90_000_000)
    world.origin.serve(newest.envelope.bytes, at: world.headURL)
    _ = try device.update(force: true)
    // The version before isn't taken any more.
    try world.offer(world.third, head: world.head(world.third))
    world.refuse(device, .headOld)
    world.bench.clock.advance(seconds: 2 * 86_400)
    try world.offer(world.first)
    world.origin.serve(try world.head(world.third, by: [world.thief]).envelope.bytes, at: world.headURL)
    _ = try device.update(force: true)
    #expect(world.reports(device).contains("trust-head 1"))
  }

  @Test(arguments: ["app", "channel", "environment"])
  func documentsOfOthers(_ what: String) throws {
    let device = try world.holder()
    let app = what == "app" ? "other" : "shop"
    let channel = what == "channel" ? "test" : "online"
    let environment = what == "environment" ? "staging" : nil
    try world.offer(
      world.second, head: world.head(world.second, app: app, environment: environment, channel: channel))
    world.refuse(device, .headPlace)
    let statement = try world.statement(
      world.second, app: app, environment: environment, channels: [channel])
    try world.offer(world.second, statements: [statement])
    world.refuse(device, .releasePlace)
    if what == "channel" { return }
    world.serve(try world.root(2, app: app, environment: environment))
    try world.offer(world.second, root: 2)
    world.refuse(device, .rootApp)
  }

  @Test func scope() throws {
    let root = try world.root(
      prefixes: .some([#require(ReleaseGrant.URLPrefix("https://m.test/"))]))
    let device = try world.holder(root: root)
    let outside = try TrustBench.release(
      2, [TrustBench.page: ("home", "two"), "https://bank.test/a.js": ("home", "steal")], at: world.origin)
    try world.offer(outside)
    world.refuse(device, .releaseScope)
    #expect(world.reports(device) == ["trust-scope 2"])
  }

  @Test func furtherSignatures() throws {
    let device = try world.holder()
    let many = [world.thief, world.publisher, world.headKey, world.newKey]
    try world.offer(
      world.second,
      statements: [world.statement(world.second, by: many), world.statement(world.second, "pay")])
    try world.take(device, world.second)
    // One key twice is no envelope.
    var twice = try #require(try world.statement(world.third).envelope.json.object)
    let signatures = try #require(twice["signatures"]?.array)
    twice["signatures"] = .array(signatures + signatures)
    let releases = JSONValue.array([.object(twice), try world.statement(world.third, "pay").envelope.json])
    try world.offer(
      world.third, trust: ["head": try world.head(world.third).envelope.json, "releases": releases])
    world.refuse(device, .releaseForm)
    let statement = try world.statement(world.third)
    try world.offer(world.third, statements: [statement, statement, world.statement(world.third, "pay")])
    world.refuse(device, .releaseTwice)
  }

  /// A member that is no list of statements is one that section 1 refuses.
  @Test(arguments: ["7", "[]", #"{"releases":7}"#])
  func noStatements(_ text: String) throws {
    let device = try world.holder()
    try world.offer(world.second, trust: JSONValue.parse(bytes(text)))
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(device.version == "1")
  }

  @Test func failedChecksAreNoFailedPolls() throws {
    let device = try world.device(change: { $0.fallback = FakeOrigin.mirror })
    try world.offer(world.first)
    try world.take(device, world.first)
    try world.offer(world.second, statements: [])
    for _ in 0..<7 { world.refuse(device, .releaseContent) }
    #expect(!world.origin.takeLog().contains { $0.hasPrefix(FakeOrigin.mirror) })
    #expect(device.policy.withLock { $0.failures } == 0)
  }

  /// The same from a copy: roots are asked of it, and what fails there is no better than at the origin.
  @Test func hostileCopy() throws {
    let device = try world.device(change: { $0.fallback = FakeOrigin.mirror })
    try world.offer(world.first)
    try world.take(device, world.first)
    world.origin.fail { $0.hasPrefix(FakeOrigin.server) ? .status(500) : nil }
    for _ in 0..<5 { #expect(throws: DeviceError.self) { try device.update(force: true) } }
    try world.offer(world.second, head: world.head(world.second, by: [world.thief]))
    world.refuse(device, .headKey)
    try world.offer(world.second, root: 2)
    let copy = "\(FakeOrigin.mirror)/xcache/shop/root/2.json"
    #expect(world.refuse(device, .rootMissing).contains(copy))
    world.origin.serve(try world.root(2).envelope.bytes, at: copy)
    try world.take(device, world.second)
  }

  /// An app without a root does nothing of this.
  @Test func noRoot() throws {
    let device = try world.bench.device()
    try world.offer(world.first, root: 9, trust: ["head": 7, "releases": "none"])
    try world.take(device, world.first)
    try world.offer(world.second, root: 9, trust: nil)
    try world.take(device, world.second)
    device.pageCameUp(from: "2")
    world.bench.clock.advance(seconds: 40 * 86_400)
    _ = try device.update(force: true)
    #expect(!world.origin.takeLog().contains { $0.contains("/root/") || $0.contains("head.json") })
    #expect(try !Folder.textNames("\(world.bench.scratch.path)/device").contains("trust.json"))
    #expect(world.reports(device) == [])
  }

  @Test func badRoots() throws {
    for root in [
      bytes("{}"), bytes("root"), try world.root(app: "other").envelope.bytes,
      try world.head(world.first).envelope.bytes,
    ] {
      #expect { try world.bench.device(change: { $0.root = root }) } throws: {
        if case .badSetting? = $0 as? DeviceError { true } else { false }
      }
    }
  }
}
