import Glibc
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Random histories of an origin: publish, unpublish, rollback, promote, gc, pins, reports, removal and re-creation of channels, with
/// crashes between their steps, compared with the model.
///
/// Twelve seeds by default; XCACHE_SEEDS=1000 runs 1000.
@Suite struct LifeTests {
  static let seeds: ClosedRange<UInt64> = {
    1...max(1, getenv("XCACHE_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 12)
  }()

  @Test(arguments: seeds)
  func keptVersionsAreExactAndTheRestIsRemoved(seed: UInt64) throws {
    var life = try Life(seed: seed)
    for act in 1...80 {
      try life.act()
      if act % 16 == 0 { try life.compare() }
    }
    try life.end()
    // In 200 seeds, each has at least seven kinds of acts.
    #expect(life.model.acts.count >= 7, "the history has too few kinds of acts: \(life.model.acts)")
  }
}

/// An origin and its model.
struct Life {
  let held: CrashingStore
  var model = LifeModel()
  var random: SplitMix
  private let shop: AppName
  private static let bundles = ["one", "two", "three"]

  init(seed: UInt64, isReplicated: Bool = false) throws {
    held = try CrashingStore(isReplicated: isReplicated)
    random = SplitMix(seed: seed)
    shop = try AppName("shop")
  }

  private var store: Store { held.store }

  mutating func act() throws {
    guard let name = ["online", "online", "test", "beta"].randomElement(using: &random),
      let channel = model.channels[name]
    else { return }
    if channel.isRemoved, Int.random(in: 0..<3, using: &random) > 0 { return try revive(name) }
    switch Int.random(in: 0..<28, using: &random) {
    case 0..<11: try publish(name, channel)
    case 11: try unpublish(name, channel)
    case 12..<16: try rollBack(name, channel)
    case 16..<19: try promote(to: name, channel)
    case 19: try remove(name, channel)
    case 20: try pin(name, channel)
    case 21: try report(name, channel)
    case 22: held.advance(hours: 30)
    default: try collect(keep: Int.random(in: 1...5, using: &random), crashing: Bool.random(using: &random))
    }
  }

  // MARK: - Releases

  private mutating func publish(_ name: String, _ channel: LifeModel.Channel) throws {
    guard !channel.isRemoved else { return }
    var next = channel.bundles
    var changes: [BundleChange] = []
    var samples: [Sample] = []
    for bundle in Self.bundles.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)) {
      // The base of a plan is the bundle's newest version, which is known even if its release isn't kept, or any kept version.
      var base = channel.bundleVersions[bundle] ?? 0
      var content = next[bundle] ?? [:]
      if Int.random(in: 0..<4, using: &random) == 0,
        let other = channel.versions.randomElement(using: &random)
      {
        (base, content) = (other, channel.releases[other]?.bundles[bundle] ?? [:])
      }
      let (set, remove) = randomDiff()
      changes.append(try store.change(bundle, base: base, set: set, remove: remove))
      for (path, sample) in set { content[try url(path)] = sample }
      for path in remove { content[try url(path)] = nil }
      next[bundle] = content
      samples += Array(set.values)
    }
    var request = try store.request(changes)
    request.channel = try ChannelName(name)
    try release("publish", name, next) { store, digest in
      try store.send(samples)
      _ = try store.commit(request, digest: digest)
    }
  }

  private mutating func randomDiff() -> ([String: Sample], [String]) {
    var (set, remove): ([String: Sample], [String]) = ([:], [])
    for path in (0..<9).map({ "f\($0).js" }).shuffled(using: &random).prefix(3) {
      if Int.random(in: 0..<4, using: &random) == 0 {
        remove.append(path)
      } else {
        set[path] = Sample("content \(Int.random(in: 0..<30, using: &random) / 9)")
      }
    }
    // Names that occur once, as bundlers make them.
    let once = Int.random(in: 0..<1_000_000, using: &random)
    set["chunk-\(once).js"] = Sample("chunk \(once)")
    return (set, remove)
  }

  private mutating func unpublish(_ name: String, _ channel: LifeModel.Channel) throws {
    guard let bundle = channel.bundleVersions.keys.sorted().randomElement(using: &random),
      !channel.isRemoved
    else { return }
    var next = channel.bundles
    next[bundle] = [:]
    var request = try store.request([BundleChange(try BundleName(bundle), .unpublish)])
    request.channel = try ChannelName(name)
    try release("unpublish", name, next) { store, digest in _ = try store.commit(request, digest: digest) }
  }

  private mutating func rollBack(_ name: String, _ channel: LifeModel.Channel) throws {
    guard let target = channel.versions.randomElement(using: &random), !channel.isRemoved else { return }
    let bundle = channel.bundleVersions.keys.sorted().randomElement(using: &random)
    let isWhole = Bool.random(using: &random)
    let old = channel.releases[target]?.bundles ?? [:]
    var next = channel.bundles
    for known in channel.bundleVersions.keys where isWhole || known == bundle {
      next[known] = old[known] ?? [:]
    }
    let request = RollbackInput(
      app: shop, channel: try ChannelName(name),
      bundle: try isWhole ? nil : bundle.map { try BundleName($0) },
      to: .version(.number(ManifestVersion(target))), by: .local)
    try release("rollback", name, next) { store, digest in _ = try store.rollback(request, digest: digest) }
  }

  private mutating func promote(to name: String, _ channel: LifeModel.Channel) throws {
    let sources = model.channels.filter { $0.key != name && !$0.value.isRemoved && $0.value.newest > 0 }
    guard let from = sources.keys.sorted().randomElement(using: &random),
      let version = sources[from]?.versions.randomElement(using: &random), !channel.isRemoved
    else { return }
    let source = try store.channel(shop, try ChannelName(from))
    let contents = try store.contents(of: source, at: ManifestVersion(version))
    guard !contents.isEmpty else { return }
    var request = try store.request(
      contents.map { BundleChange($0.key, .update(base: .none, set: $0.value, remove: [])) })
    request.channel = try ChannelName(name)
    request.source = ReleaseSource(channel: source, version: ManifestVersion(version), bundle: nil)
    var next = channel.bundles
    for (bundle, content) in sources[from]?.releases[version]?.bundles ?? [:] where !content.isEmpty {
      next[bundle] = content
    }
    try release("promote", name, next) { store, digest in _ = try store.commit(request, digest: digest) }
  }

  private typealias Digest = (PreparedRelease) throws(StoreError) -> SHA256

  /// Carries out an act, possibly with a crash: then either all of it is stored or nothing.
  private mutating func release(
    _ act: String, _ name: String, _ next: LifeModel.Bundles, _ body: (Store, @escaping Digest) throws -> Void
  ) throws {
    guard let channel = model.channels[name] else { return }
    let changed = channel.changed(to: next)
    if Int.random(in: 0..<4, using: &random) == 0 { held.arm(Int.random(in: 1...14, using: &random)) }
    var isDone = true
    do {
      let store = held.store
      try body(store) { (prepared) throws(StoreError) in
        // Between the plan and the rows.
        try store.step("digest")
        return try store.connections.reading { (db) throws(StoreError) in try db.digest(of: prepared) }
      }
      held.arm(nil)
    } catch StoreError.urlConflicts {
      held.arm(nil)
      #expect(!LifeModel.isConsistent(next), "a conflict was reported without one")
      model.acts["\(act) refused", default: 0] += 1
      return
    } catch StoreError.system(let error) where error.code == CrashingStore.code {
      isDone = false
      model.acts["\(act) crashed", default: 0] += 1
      try held.reopen()
    }
    let newest = try info(name)?.version.number ?? 0
    let after = channel.newest + (changed.isEmpty ? 0 : 1)
    #expect(newest == after || (!isDone && newest == channel.newest), "\(act) of \(name)")
    guard newest > channel.newest else { return }
    #expect(LifeModel.isConsistent(next), "a conflict was not detected")
    model.acts[act, default: 0] += 1
    try record(name, newest, next, changed)
  }

  /// Compares what devices get with the model, and records it.
  private mutating func record(
    _ name: String, _ version: Int64, _ next: LifeModel.Bundles, _ changed: [String]
  ) throws {
    guard var channel = model.channels[name], let info = try info(name) else { return }
    let manifest = try manifest(info, version)
    let union = LifeModel.union(next)
    #expect(manifest.mapValues(\.sha256) == union.mapValues(\.claim.sha256))
    for (url, entry) in manifest {
      // Bytes in a kept version have their former entry, including the download URL.
      let held = channel.releases.values.compactMap { $0.manifest[url] }.filter { $0.sha256 == entry.sha256 }
      #expect(held.allSatisfy { $0 == entry }, "\(url)")
      let others = channel.releases.values.compactMap { $0.manifest[url] }.filter {
        $0.sha256 != entry.sha256
      }
      #expect(!others.contains { $0.version == entry.version }, "\(url)")
      let bytes = model.downloads.updateValue(entry.sha256, forKey: entry.download)
      #expect(bytes == nil || bytes == entry.sha256, "a download URL got other bytes")
    }
    channel.releases[version] = .init(bundles: next, manifest: manifest)
    channel.newest = version
    for bundle in changed { channel.bundleVersions[bundle] = version }
    model.channels[name] = channel
  }

  // MARK: - Other acts

  private mutating func remove(_ name: String, _ channel: LifeModel.Channel) throws {
    guard channel.newest > 0, name != "online", !channel.isRemoved else { return }
    for bundle in channel.bundleVersions.keys.sorted() where channel.bundles[bundle]?.isEmpty == false {
      var request = try store.request([BundleChange(try BundleName(bundle), .unpublish)])
      request.channel = try ChannelName(name)
      var next = model.channels[name]?.bundles ?? [:]
      next[bundle] = [:]
      try release("unpublish", name, next) { store, digest in _ = try store.commit(request, digest: digest) }
    }
    guard LifeModel.union(model.channels[name]?.bundles ?? [:]).isEmpty else { return }
    _ = try store.removeChannel(shop, try ChannelName(name), by: .local)
    model.channels[name]?.isRemoved = true
    model.acts["remove", default: 0] += 1
  }

  private mutating func revive(_ name: String) throws {
    let info = try store.createChannel(
      shop, try ChannelName(name), publicURL: try BaseURL("https://cdn.example.com/x"), by: .local)
    #expect(info.version.number == model.channels[name]?.newest, "the version numbers of a channel continue")
    model.channels[name]?.isRemoved = false
    // Bundles removed by gc begin again; those that are kept have their newest version.
    let known = Set(try store.bundles(of: info).map(\.name.text))
    let versions = model.channels[name]?.bundleVersions ?? [:]
    model.channels[name]?.bundleVersions = versions.filter { known.contains($0.key) }
    model.acts["create again", default: 0] += 1
  }

  private mutating func pin(_ name: String, _ channel: LifeModel.Channel) throws {
    guard let info = try info(name), let version = channel.versions.randomElement(using: &random) else {
      return
    }
    if channel.pins.contains(version) {
      try store.unpin(ManifestVersion(version), of: info, by: .local)
      model.channels[name]?.pins.remove(version)
    } else {
      _ = try store.pin(ManifestVersion(version), of: info, reason: "a test", by: .local)
      model.channels[name]?.pins.insert(version)
    }
  }

  private mutating func report(_ name: String, _ channel: LifeModel.Channel) throws {
    guard let info = try info(name), let version = channel.versions.randomElement(using: &random) else {
      return
    }
    try store.count([PollCount(channel: info.id, version: version, polls: 100)])
    model.channels[name]?.reported.insert(version)
  }

  private mutating func collect(keep: Int, crashing: Bool) throws {
    var policy = RetentionPolicy()
    policy.versions = keep
    if crashing {
      held.arm(Int.random(in: 1...20, using: &random))
      let report = try? store.collect(policy)
      model.acts[report == nil ? "gc crashed" : "gc", default: 0] += 1
      try held.reopen()
      // A channel's releases are removed together; rows and files may be left, but none may be missing.
      for (name, channel) in model.channels {
        let versions = try versions(name)
        let kept = channel.kept(keep)
        #expect(versions == kept || versions == Set(channel.releases.keys), "\(name)")
        if versions == kept { model.channels[name]?.drop(keeping: kept) }
      }
      try expectReachable()
    } else {
      _ = try store.collect(policy)
      model.acts["gc", default: 0] += 1
      for (name, channel) in model.channels { model.channels[name]?.drop(keeping: channel.kept(keep)) }
      try expectGone()
    }
  }

  // MARK: - Comparison

  /// After a day, no reservations are left, and only what kept versions name remains.
  mutating func end() throws {
    try compare()
    held.advance(hours: 25)
    try collect(keep: 2, crashing: false)
    try compare()
    #expect(Set(try store.blobs.files()) == model.reachable)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  mutating func compare() throws {
    try expectReachable()
    for (name, channel) in model.channels {
      #expect(try versions(name) == Set(channel.releases.keys))
      guard let info = try info(name) else { continue }
      #expect(info.version.number == channel.newest)
      for (version, release) in channel.releases {
        #expect(try manifest(info, version) == release.manifest, "\(name) \(version)")
        let number = ManifestVersion(version)
        #expect(try store.digest(info, at: number) == store.digestByQuery(info, at: number))
      }
      try comparePatches(info, channel)
    }
    #expect(try store.verifyAudit().0 == nil)
  }

  private func comparePatches(_ info: ChannelInfo, _ channel: LifeModel.Channel) throws {
    for (a, old) in channel.releases {
      for (b, new) in channel.releases where a != b {
        let changes = try store.changes(info, from: ManifestVersion(a), to: ManifestVersion(b))
        var patched = old.manifest
        for change in changes { patched[change.url] = change.entry }
        #expect(patched == new.manifest, "patch \(a)-\(b)")
        let touched = Set(old.manifest.keys).union(new.manifest.keys).filter {
          old.manifest[$0] != new.manifest[$0]
        }
        #expect(changes.map(\.url) == touched.sorted(), "a patch has exactly the differences")
      }
    }
  }

  private func expectReachable() throws {
    for sha256 in model.reachable { #expect(throws: Never.self) { _ = try store.open(sha256) } }
  }

  /// After a complete round, rows and files are those of kept versions and of reservations.
  private func expectGone() throws {
    let reserved = Set(store.blobs.state.withLock { Array($0.reserved.keys) })
    let named = try store.connections.reading { (db) throws(StoreError) in
      Set(try db.all("SELECT sha256 FROM blob") { $0.get(0, as: SHA256.self) })
    }
    #expect(named.subtracting(reserved) == model.reachable.subtracting(reserved))
    #expect(Set(try store.blobs.files()).subtracting(reserved) == named.subtracting(reserved))
    // Rows of history: one per URL of a bundle while its bytes stay the same, so never more than whole copies would have.
    let rows = try store.connections.reading { (db) throws(StoreError) in
      try db.value(Int.self, "SELECT count(*) FROM entry") ?? 0
    }
    let copies = model.channels.values.flatMap {
      $0.releases.values.map { $0.bundles.values.reduce(0) { $0 + $1.count } }
    }
    #expect(rows <= copies.reduce(0, +))
  }

  private func info(_ name: String) throws -> ChannelInfo? {
    do {
      return try store.channel(shop, ChannelName(name))
    } catch StoreError.unknownApp, StoreError.unknownChannel {
      return nil
    }
  }

  /// The kept versions of a channel, removed or not.
  private func versions(_ name: String) throws -> Set<Int64> {
    try store.connections.reading { (db) throws(StoreError) in
      Set(
        try db.all(
          "SELECT r.version FROM release AS r JOIN channel AS c ON c.id = r.channel_id WHERE c.name = ?", name
        ) { $0.get(0, as: Int64.self) })
    }
  }

  private func manifest(_ info: ChannelInfo, _ version: Int64) throws -> [ResourceURL: Entry] {
    Dictionary(
      uniqueKeysWithValues: try store.manifest(info, at: ManifestVersion(version)).map { ($0.url, $0.entry) })
  }
}
