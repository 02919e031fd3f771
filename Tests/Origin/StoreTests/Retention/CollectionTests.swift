import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Garbage collection over random histories, with crashes between its steps, compared with the model.
@Suite struct CollectionTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func keptVersionsAreExactAndTheRestIsRemoved(seed: UInt64) throws {
    let held = try CrashingStore()
    var random = SplitMix(seed: seed)
    var model = CollectionModel()
    for _ in 0..<70 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0..<12: try release(held.store, &model, &random)
      case 12: try pin(held.store, &model, &random)
      case 13: try register(held.store, &model, &random)
      case 14: try count(held.store, &model, &random)
      case 15: held.advance(hours: 30)
      default:
        let crash = Bool.random(using: &random) ? Int.random(in: 1...12, using: &random) : nil
        try collect(held, &model, keep: Int.random(in: 1...6, using: &random), crashAt: crash)
      }
    }
    try collect(held, &model, keep: 3, crashAt: nil)
    try expectExact(held.store, model)
    // After a day, reservations of unused uploads have expired.
    held.advance(hours: 25)
    try collect(held, &model, keep: 1, crashAt: nil)
    try expectExact(held.store, model)
    #expect(Set(try held.store.blobs.files()) == model.reachable)
    #expect(try held.store.checkup(deep: true).findings.isEmpty)
  }

  // MARK: - Acts

  private func info(_ store: Store, _ name: String) throws -> ChannelInfo? {
    do {
      return try store.channel(AppName("shop"), ChannelName(name))
    } catch StoreError.unknownApp, StoreError.unknownChannel {
      return nil
    }
  }

  private func release(_ store: Store, _ model: inout CollectionModel, _ random: inout SplitMix) throws {
    let name = Bool.random(using: &random) ? "online" : "test"
    let bundle = ["one", "two"][Int.random(in: 0..<2, using: &random)]
    var channel = try #require(model.channels[name])
    var set: [String: Sample] = [:]
    var remove: [String] = []
    for path in (0..<10).map({ "\(bundle)/f\($0).js" }).shuffled(using: &random).prefix(3) {
      if Int.random(in: 0..<4, using: &random) == 0 {
        remove.append(path)
      } else {
        set[path] = Sample("content \(Int.random(in: 0..<40, using: &random))")
      }
    }
    try store.send(set.values)
    var request = try store.request([
      try store.change(bundle, base: channel.bundleVersions[bundle] ?? 0, set: set, remove: remove)
    ])
    request = ReleaseInput(
      app: request.app, channel: try ChannelName(name), author: "ci", bundles: request.bundles,
      publicURLForNew: request.publicURLForNew)
    let outcome = try store.commit(request)
    guard outcome.changed else { return }
    #expect(outcome.version.number > channel.newest, "versions only rise")
    channel.newest = outcome.version.number
    channel.bundleVersions[bundle] = outcome.version.number
    for (path, sample) in set { channel.bundles[bundle, default: [:]][path] = sample }
    for path in remove { channel.bundles[bundle]?[path] = nil }
    let shop = try #require(try info(store, name))
    let manifest = Dictionary(
      uniqueKeysWithValues: try store.manifest(shop, at: outcome.version).map { ($0.url, $0.entry) })
    var wanted: [ResourceURL: SHA256] = [:]
    for (path, sample) in channel.bundles.values.joined() { wanted[try url(path)] = sample.claim.sha256 }
    #expect(manifest.mapValues(\.sha256) == wanted)
    channel.manifests[outcome.version.number] = manifest
    model.channels[name] = channel
  }

  private func pin(_ store: Store, _ model: inout CollectionModel, _ random: inout SplitMix) throws {
    guard let shop = try info(store, "online"),
      let version = model.channels["online"]?.manifests.keys.sorted().randomElement(using: &random)
    else { return }
    if model.channels["online"]?.pins.contains(version) == true {
      try store.unpin(ManifestVersion(version), of: shop, by: .local)
      model.channels["online"]?.pins.remove(version)
    } else {
      _ = try store.pin(ManifestVersion(version), of: shop, reason: "a test", by: .local)
      model.channels["online"]?.pins.insert(version)
    }
  }

  private func register(_ store: Store, _ model: inout CollectionModel, _ random: inout SplitMix) throws {
    guard let shop = try info(store, "test"),
      let version = model.channels["test"]?.manifests.keys.sorted().randomElement(using: &random)
    else { return }
    try store.register(
      mirror: "cdn", [ChannelVersion(app: shop.app, channel: shop.name, version: ManifestVersion(version))])
    model.channels["test"]?.mirrored = [version]
  }

  private func count(_ store: Store, _ model: inout CollectionModel, _ random: inout SplitMix) throws {
    guard let shop = try info(store, "online"),
      let version = model.channels["online"]?.manifests.keys.sorted().randomElement(using: &random)
    else { return }
    // As many as devices send in an hour: a single poll keeps nothing.
    try store.count([PollCount(channel: shop.id, version: version, polls: 100)])
    model.channels["online"]?.reported.insert(version)
  }

  private func collect(_ held: CrashingStore, _ model: inout CollectionModel, keep: Int, crashAt: Int?) throws
  {
    var policy = RetentionPolicy()
    policy.versions = keep
    guard let crashAt else {
      let forecast = try held.store.collect(policy, dryRun: true)
      let report = try held.store.collect(policy)
      model.drop(keeping: keep)
      #expect(report.channels.map { $0.dropped } == forecast.channels.map { $0.dropped })
      #expect(report.entries >= forecast.entries)
      try expectExact(held.store, model)
      return
    }
    held.arm(crashAt)
    _ = try? held.store.collect(policy)
    try held.reopen()
    #expect(try held.store.checkup(deep: true).isClean)
    // Collected versions are removed completely; all others are complete.
    for (name, channel) in model.channels {
      guard let shop = try info(held.store, name) else { continue }
      let versions = Set(try held.store.keptVersions(of: shop).map(\.number))
      #expect(
        versions == channel.kept(keep).intersection(channel.manifests.keys)
          || versions == Set(channel.manifests.keys))
      model.channels[name]?.manifests = channel.manifests.filter { versions.contains($0.key) }
    }
    try expectReachable(held.store, model)
  }

  // MARK: - Comparison

  private func expectReachable(_ store: Store, _ model: CollectionModel) throws {
    for sha256 in model.reachable { #expect(throws: Never.self) { _ = try store.open(sha256) } }
  }

  private func expectExact(_ store: Store, _ model: CollectionModel) throws {
    try expectReachable(store, model)
    for (name, channel) in model.channels {
      guard let shop = try info(store, name) else { continue }
      #expect(Set(try store.keptVersions(of: shop).map(\.number)) == Set(channel.manifests.keys))
      for (version, manifest) in channel.manifests {
        let rows = try store.manifest(shop, at: ManifestVersion(version))
        #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0.url, $0.entry) }) == manifest)
      }
      for (a, old) in channel.manifests {
        for (b, new) in channel.manifests where a < b {
          var patched = old
          let changes = try store.changes(shop, from: ManifestVersion(a), to: ManifestVersion(b))
          for change in changes { patched[change.url] = change.entry }
          #expect(patched == new, "patch \(a)-\(b)")
        }
      }
      for version in 1...max(1, channel.newest) where channel.manifests[version] == nil && channel.newest > 0
      {
        #expect(throws: StoreError.self) { _ = try store.manifest(shop, at: ManifestVersion(version)) }
      }
    }
    let named = try store.connections.reading { (db) throws(StoreError) in
      Set(try db.all("SELECT sha256 FROM blob") { $0.get(0, as: SHA256.self) })
    }
    let reserved = Set(store.blobs.state.withLock { Array($0.reserved.keys) })
    #expect(named.subtracting(reserved) == model.reachable.subtracting(reserved))
  }

  // MARK: - Individual cases

  @Test func leaseKeepsEverything() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    for version in 0..<4 { try store.publish(base: Int64(version), set: ["a.js": Sample("a\(version)")]) }
    var policy = RetentionPolicy()
    policy.versions = 1
    let lease = try store.acquireLease(holder: "mirror to cdn", seconds: 60)
    #expect(throws: StoreError.self) { _ = try store.collect(policy) }
    #expect(try store.keptVersions(of: store.shop()).count == 4)
    try store.endLease(lease.id)
    let report = try store.collect(policy)
    #expect(report.blobs.count == 3 && report.freedBytes == 6)
    #expect(try store.keptVersions(of: store.shop()) == [ManifestVersion(4)])
  }

  @Test func reservedBlobsAreKept() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("old")])
    try store.publish(base: 1, set: ["a.js": Sample("new")])
    #expect(try store.missing(of: [Sample("old").claim.sha256]).isEmpty)
    var policy = RetentionPolicy()
    policy.versions = 1
    #expect(try store.collect(policy).promised == 1)
    try store.publish(base: 2, set: ["a.js": Sample("old")], sends: false)
    try store.publish(base: 3, set: ["a.js": Sample("newer")])
    // The reservation ended with its release.
    #expect(try store.collect(policy).blobs.count == 2)
  }

  @Test func resourceVersionsContinueAfterGC() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("1"), "once.js": Sample("x")])
    try store.publish(base: 1, set: ["a.js": Sample("2")], remove: ["once.js"])
    try store.publish(base: 2, set: ["b.js": Sample("b")], remove: ["a.js"])
    var policy = RetentionPolicy()
    policy.versions = 1
    #expect(try store.collect(policy).urls == 1)
    try store.publish(base: 3, set: ["a.js": Sample("3")])
    let entries = try store.manifest(store.shop(), at: ManifestVersion(4))
    #expect(entries.first?.entry.version == 3)
  }

  @Test func unreferencedAndDerivedFilesAreRemoved() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let (kept, gone) = (Sample("a").claim.sha256, Sample("gone").claim.sha256)
    let derived = scratch.data + "/derived"
    func file(_ path: String) throws {
      try Kernel.makeFolder(DurableFile.parent(of: path))
      try DurableFile.write(Array("12345".utf8), to: path)
    }
    func path(_ sha256: SHA256, _ ending: String) -> String {
      "\(derived)/\(sha256.hex.prefix(2))/\(sha256.hex.dropFirst(2)).\(ending)"
    }
    try file(store.folder.blob(gone))
    for name in [path(gone, "gzip"), path(gone, "\(kept.hex).dcz"), path(kept, "\(gone.hex).dcz")] {
      try file(name)
    }
    for name in [path(kept, "gzip")]
      + ["1.k.t", "0-1.k.t", "0-1.delta.k.t"].map({ "\(derived)/zips/1/\($0).zip" })
    {
      try file(name)
    }
    for name in ["7-1.k.t.zip", "7-1.delta.k.t.zip"] { try file("\(derived)/zips/1/\(name)") }
    let report = try store.collect()
    #expect(report.orphans == .init(count: 1, bytes: 5) && report.derived == .init(count: 5, bytes: 25))
    #expect(try Kernel.status(path(kept, "gzip")) != nil)
    #expect(try Kernel.status("\(derived)/zips/1/0-1.k.t.zip") != nil)
    #expect(try Kernel.status("\(derived)/zips/1/0-1.delta.k.t.zip") != nil)
  }
}
