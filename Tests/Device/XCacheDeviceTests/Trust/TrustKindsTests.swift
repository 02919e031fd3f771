import Archive
import DeviceTestSupport
import Manifests
import System
import Testing
import Trust
import Values

@testable import XCacheDevice

/// What else a device with a root is given: documents, scripts, presets, candidates, packs.
@Suite struct TrustKindsTests {
  let world: TrustBench

  init() throws { world = try TrustBench() }

  // MARK: Documents

  private func servePolicy(_ version: Int64) {
    world.origin.serve(
      bytes(#"{"code":200,"data":{"intercept":false,"version":"\#(version)"}}"#),
      at: "\(FakeOrigin.server)/policy.json?app=shop&channel=online")
  }

  /// Nothing keeps a kill switch from a device but a head that names a newer policy.
  @Test func killSwitch() throws {
    let device = try world.holder()
    servePolicy(1)
    try world.offer(
      world.second, root: 9, head: world.head(world.second, by: [world.thief]), statements: [],
      #","policy":"1""#)
    world.refuse(device, .rootMissing)
    #expect(device.isKilled)
    try world.offer(world.second, head: world.head(world.second, policy: 7))
    try world.take(device, world.second)
    servePolicy(6)
    try world.offer(world.second, trust: nil, #","policy":"6""#)
    _ = world.origin.takeLog()
    let report = try device.update(force: true)
    #expect(report.documents.failures.count == 1 && device.runtimePolicy.version == "1")
    #expect(!world.origin.takeLog().contains { $0.contains("policy.json") })
    // Once for each version.
    #expect(world.reports(device) == ["trust-root 2"])
    servePolicy(7)
    try world.offer(world.second, trust: nil, #","policy":"7""#)
    _ = try device.update(force: true)
    #expect(device.runtimePolicy.version == "7")
  }

  private func serveConfig(
    _ version: Int64, _ api: String = "https://m.test/info", channel: String = "online", serial: Int64? = nil,
    floor: Int64 = 0, by keys: [P256PrivateKey]? = nil, isSigned: Bool = true
  ) throws {
    let config: JSONValue = [
      ["interfaces": [["api": .string(api), "method": "GET"]], "url": .string(TrustBench.page)]
    ]
    let signedAPI: JSONValue = [
      ["interfaces": [["api": "https://m.test/info", "method": "GET"]], "url": .string(TrustBench.page)]
    ]
    let statement = try PrefetchStatement(
      app: AppName("shop"), channels: [ChannelName(channel)], content: SHA256.of(signedAPI.canonical),
      serial: #require(Serial(serial ?? world.start)), floor: #require(Serial(floor)))
    let trust = isSigned ? try world.signed(statement, by: keys ?? [world.publisher]).envelope.bytes : nil
    world.origin.serve(
      Documents.prefetchConfig(version, config: config.canonical, trust: trust),
      at: "\(FakeOrigin.server)/prefetchConfig?app=shop&channel=online")
    try world.offer(world.first, trust: nil, #","prefetch":"\#(version)""#)
  }

  @Test func prefetchConfigs() throws {
    let device = try world.holder()
    func refused(_ check: String) throws {
      let failures = try device.update(force: true).documents.failures
      #expect(failures.count == 1)
      guard case .untrusted(_, _, check)? = failures.first else {
        Issue.record("\(failures)")
        return
      }
    }
    try serveConfig(4, isSigned: false)
    try refused("prefetch-missing")
    try serveConfig(4, by: [world.headKey])
    try refused("prefetch-key")
    try serveConfig(4, channel: "test")
    try refused("prefetch-place")
    try serveConfig(4, "https://m.test/other")
    try refused("prefetch-content")
    #expect(device.prefetch.version == "0")
    try serveConfig(4, floor: world.start)
    #expect(try device.update(force: true).documents.prefetch?.to == "4")
    try serveConfig(5, serial: world.start - 1)
    try refused("prefetch-floor")
    #expect(device.prefetch.version == "4")
    #expect(world.reports(device) == ["trust-prefetch 1"])
    // A root that can't be had keeps it away, too.
    try serveConfig(5)
    try world.offer(world.first, root: 2, trust: nil, #","prefetch":"5""#)
    try refused("root-missing")
  }

  @Test func scriptKeys() throws {
    let own = [UInt8](repeating: 7, count: Ed25519.keyCount)
    let other = [UInt8](repeating: 9, count: Ed25519.keyCount)
    let device = try world.device(root: world.root(scriptKey: own), change: { $0.scriptKey = other })
    #expect(device.scriptKey == own)
    world.serve(try world.root(2))
    try world.offer(world.first, root: 2)
    try world.take(device, world.first)
    #expect(device.scriptKey == other)
  }

  // MARK: Presets

  private func zip(_ name: String, _ release: TrustBench.Release, trust: JSONValue?) throws -> String {
    let map = JSONObject(
      release.manifest.items.map { JSONObject.Member(key: $0.url.text, value: $0.entry.json) })
    var data: JSONObject = JSONObject()
    data["digest"] = .string(release.digest.hex)
    data["resourcemap"] = .object(map)
    data["root"] = "1"
    data["trust"] = trust
    data["update"] = true
    data["version"] = .string("\(release.version)")
    let body: JSONValue = ["code": 200, "data": .object(data)]
    var inputs: [ArchiveInput] = []
    for item in release.manifest.items {
      var file: [UInt8] = []
      _ = try world.origin.get(TransportRequest(item.entry.download, limit: 1 << 20)) {
        $0.withUnsafeBytes { file.append(contentsOf: $0) }
        return true
      }
      inputs.append(ArchiveInput(BundleZip.path(ofFile: ResourceFileName(item.url).text), bytes: file))
    }
    inputs.append(ArchiveInput(BundleZip.manifestName, bytes: body.canonical))
    let path = "\(world.bench.scratch.path)/\(name)"
    let sink = ArchiveFileSink(try Kernel.open(path, [.write, .create, .truncate]), path: path)
    try Archive.write(inputs, threads: 1, to: sink)
    _ = try sink.finish()
    _ = world.origin.takeLog()
    return path
  }

  private func trust(_ release: TrustBench.Release, by keys: [P256PrivateKey]? = nil) throws -> JSONValue {
    [
      "head": try world.head(release).envelope.json,
      "releases": .array(try world.statements(release, by: keys).map(\.envelope.json)),
    ]
  }

  @Test func presets() throws {
    let device = try world.device()
    for (name, trust) in [("none", nil), ("thief", try trust(world.first, by: [world.thief]))] {
      let path = try zip("\(name).zip", world.first, trust: trust)
      #expect { try device.install(preset: path) } throws: {
        if case .preset? = $0 as? DeviceError { true } else { false }
      }
      #expect(device.version == "0")
    }
    let path = try zip("good.zip", world.first, trust: trust(world.first))
    #expect(try device.install(preset: path).isTaken)
    // Its statements are here.
    try world.offer(world.second, statements: [world.statement(world.second)])
    try world.take(device, world.second)
    #expect(world.origin.takeLog().polls == (1, 0))
  }

  // MARK: Candidates

  private func candidate(share: Int, at: Int64) throws -> Signed<TrustHead> {
    let rule = try RolloutRule(
      reading: ["seed": "seed", "share": .integer(share), "version": "2"])
    return try world.head(
      world.first, candidate: TrustHead.Candidate(digest: world.second.digest, rule: rule),
      at: world.start + at)
  }

  /// Opens a rollout of the second version, of which the answers say that everybody is in.
  private func rollOut(_ head: Signed<TrustHead>) throws {
    try world.offer(world.second, head: head)
    world.origin.rollOut(2, full: 1)
  }

  @Test func headBeforeACandidate() throws {
    let device = try world.holder()
    try rollOut(candidate(share: 10_000, at: 5_000))
    // It can't be had, and then says that this device isn't in.
    #expect(throws: DeviceError.self) { try device.update(force: true) }
    #expect(device.version == "1" && world.origin.takeLog().count { $0 == world.headURL } == 1)
    #expect(device.policy.withLock { $0.failures } == 0)
    world.origin.serve(try candidate(share: 0, at: 6_000).envelope.bytes, at: world.headURL)
    #expect(try device.update(force: true).kind == .nothing)
    #expect(device.version == "1")
    world.origin.serve(try candidate(share: 10_000, at: 7_000).envelope.bytes, at: world.headURL)
    _ = world.origin.takeLog()
    try world.take(device, world.second)
    let log = world.origin.takeLog()
    let head = try #require(log.firstIndex(of: world.headURL))
    #expect(try #require(log.firstIndex { $0.hasPrefix("https://cdn.test/") }) > head)
    #expect(device.index.candidate == "seed")
    #expect(try device.update(force: true).kind == .nothing)
  }

  /// A candidate that an answer presents as everybody's.
  @Test func candidateInDisguise() throws {
    let device = try world.holder()
    let head = try candidate(share: 0, at: 5_000)
    world.origin.serve(head.envelope.bytes, at: world.headURL)
    try world.offer(world.second, head: head)
    #expect(try device.update(force: true).kind == .nothing)
    #expect(device.version == "1")
    #expect(!world.origin.takeLog().contains { $0.hasPrefix("https://cdn.test/") })
  }

  /// What a copy keeps of a candidate has no head, which is asked for before the first check, once.
  @Test func candidateWithoutAHead() throws {
    let device = try world.holder()
    let statements = try world.statements(world.second)
    try world.offer(world.second, trust: ["releases": .array(statements.map(\.envelope.json))])
    world.origin.rollOut(2, full: 1)
    #expect(world.refuse(device, .headManifest).count { $0 == world.headURL } == 1)
    world.origin.serve(try candidate(share: 10_000, at: 5_000).envelope.bytes, at: world.headURL)
    try world.take(device, world.second)
    #expect(world.origin.takeLog().count { $0 == world.headURL } == 1)
  }

  // MARK: Packs

  /// Has the origin answer with a pack from the first version to the second.
  private func offerPack(_ head: Signed<TrustHead>, _ statements: [Signed<ReleaseStatement>]) throws {
    try world.offer(world.second)
    try world.origin.offerPack(from: 1)
    let body = try #require(world.origin.answerWithPack(from: 1))
    guard case .pack(let answer) = try ConfigureAnswer.parse(body) else {
      Issue.record("it is no pack")
      return
    }
    let trust: JSONValue = ["head": head.envelope.json, "releases": .array(statements.map(\.envelope.json))]
    let own = Documents.pack(
      PackAnswer(
        base: answer.base, version: answer.version, digest: answer.digest, pack: answer.pack,
        extras: AnswerExtras(root: 1), trust: trust.canonical))
    world.origin.fail { $0.contains("&pack=1") ? .body(own) : nil }
  }

  @Test func packs() throws {
    let device = try world.holder()
    // A thief's head: nothing is fetched.
    try offerPack(world.head(world.second, by: [world.thief]), [world.statement(world.second)])
    #expect(world.refuse(device, .headKey).polls == (1, 0))
    try offerPack(world.head(world.second), [world.statement(world.second)])
    #expect(try device.update(force: true).kind == .pack)
    #expect(device.digest == world.second.digest.hex)
    #expect(try device.resource(for: TrustBench.page)?.read() == bytes("two"))
  }

  /// Whose manifest fails, when all of it is here: the whole one is asked for, and not the patch.
  @Test func packThatFails() throws {
    let device = try world.holder()
    try offerPack(world.head(world.second), [world.statement(world.second, by: [world.thief])])
    let report = try device.update(force: true)
    #expect(report.kind == .whole && report.to == "2" && report.pack != nil)
    #expect(world.origin.takeLog().polls == (1, 1))
    #expect(world.reports(device) == [])
  }
}
