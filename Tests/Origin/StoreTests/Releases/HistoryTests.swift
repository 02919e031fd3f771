import Manifests
import Testing
import TestSupport
import Values

@testable import Store

/// Random histories compared with a simple model that copies every manifest.
@Suite struct HistoryTests {
  let scratch = Scratch()

  /// The expected state: bundles as dictionaries, all of them kept for every version.
  struct Model {
    var bundles: [String: [ResourceURL: Sample]] = [:]
    /// Bundle contents after each version; [0] is the beginning.
    var history: [[String: [ResourceURL: Sample]]] = [[:]]
    var bundleVersions: [String: Int64] = [:]
    /// Each URL's contents in the order of their first release: the index is the resource version.
    var versions: [ResourceURL: [Sample]] = [:]
    /// The manifest version in which each of them was first released.
    var broughtIn: [ResourceURL: [Int]] = [:]

    static func union(_ bundles: [String: [ResourceURL: Sample]]) -> [ResourceURL: Sample] {
      bundles.values.reduce(into: [:]) { $0.merge($1) { a, _ in a } }
    }

    /// Whether bundles that share a URL have equal content for it.
    static func isConsistent(_ bundles: [String: [ResourceURL: Sample]]) -> Bool {
      var union: [ResourceURL: Sample] = [:]
      for (url, sample) in bundles.values.joined() {
        if let other = union.updateValue(sample, forKey: url), other != sample { return false }
      }
      return true
    }

    mutating func release(_ next: [String: [ResourceURL: Sample]], changed: [String]) {
      bundles = next
      history.append(next)
      let version = history.count - 1
      for name in changed { bundleVersions[name] = Int64(version) }
      for (url, sample) in Self.union(next) where versions[url]?.contains(sample) != true {
        versions[url, default: []].append(sample)
        broughtIn[url, default: []].append(version)
      }
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func everyManifestAndEveryPatchIsExact(seed: UInt64) throws {
    let store = try scratch.open()
    var random = SplitMix(seed: seed)
    var model = Model()
    var refused = 0
    try store.send([Sample("content 0"), Sample("content 1")])
    for _ in 0..<60 { refused += try step(store, &model, &random) ? 0 : 1 }
    #expect(model.history.count > 20 && refused > 0, "the history has too few acts")
    try compare(store, model)
  }

  /// Requests a random release of store and model; false if both refuse it.
  private func step(_ store: Store, _ model: inout Model, _ random: inout SplitMix) throws -> Bool {
    var next = model.bundles
    var changes: [BundleChange] = []
    for name in ["one", "two", "three"].shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random))
    {
      if model.bundleVersions[name] != nil, Int.random(in: 0..<8, using: &random) == 0 {
        changes.append(BundleChange(try BundleName(name), .unpublish))
        next[name] = [:]
      } else {
        // The base of a plan is any version with a release; mostly the bundle's newest.
        let newest = model.bundleVersions[name] ?? 0
        let base =
          Int.random(in: 0..<4, using: &random) > 0
          ? newest : Int64.random(in: 0..<Int64(model.history.count), using: &random)
        let (set, remove) = try randomDiff(&random)
        changes.append(try store.change(name, base: base, set: set, remove: remove))
        var content = model.history[Int(base)][name] ?? [:]
        for (path, sample) in set { content[try url(path)] = sample }
        for path in remove { content[try url(path)] = nil }
        next[name] = content
      }
    }
    let changed = next.keys.filter { next[$0] ?? [:] != model.bundles[$0] ?? [:] }
    do {
      let outcome = try store.commit(try store.request(changes))
      #expect(Model.isConsistent(next), "a conflict was not detected")
      #expect(outcome.changed == !changed.isEmpty)
      let before = Model.union(model.bundles)
      if outcome.changed { model.release(next, changed: changed) }
      #expect(outcome.version.number == Int64(model.history.count - 1))
      check(outcome, from: before, to: Model.union(next))
      return true
    } catch StoreError.urlConflicts {
      #expect(!Model.isConsistent(next), "a conflict was reported without one")
      return false
    }
  }

  private func randomDiff(_ random: inout SplitMix) throws -> ([String: Sample], [String]) {
    var set: [String: Sample] = [:]
    var remove: [String] = []
    for path in (0..<12).map({ "f\($0).js" }).shuffled(using: &random).prefix(4) {
      if Int.random(in: 0..<3, using: &random) == 0 {
        remove.append(path)
      } else {
        set[path] = Sample("content \(Int.random(in: 0..<2, using: &random))")
      }
    }
    return (set, remove)
  }

  private func check(_ outcome: ReleaseOutcome, from: [ResourceURL: Sample], to: [ResourceURL: Sample]) {
    let touched = Set(from.keys).union(to.keys).filter { from[$0] != to[$0] }.sorted()
    #expect(outcome.changes.map(\.url) == touched)
    for change in outcome.changes { #expect(change.entry?.sha256 == to[change.url]?.claim.sha256) }
    #expect(outcome.resources == to.count)
    #expect(outcome.bytes == to.values.reduce(0) { $0 + Int64($1.bytes.count) })
  }

  private func compare(_ store: Store, _ model: Model) throws {
    let shop = try store.shop()
    var manifests: [[ResourceURL: Entry]] = []
    for version in model.history.indices {
      let version64 = ManifestVersion(Int64(version))
      let rows = try store.manifest(shop, at: version64)
      #expect(rows.map(\.url) == rows.map(\.url).sorted())
      let manifest = Dictionary(uniqueKeysWithValues: rows.map { ($0.url, $0.entry) })
      #expect(manifest == (try entries(model, at: version)), "version \(version)")
      if version > 0 {
        #expect(try store.digest(shop, at: version64) == store.digestByQuery(shop, at: version64))
      }
      for name in model.bundleVersions.keys { try compareBundle(store, shop, name, model, since: version64) }
      manifests.append(manifest)
    }
    for (a, old) in manifests.enumerated() {
      for (b, new) in manifests.enumerated().dropFirst(a + 1) {
        var patched = old
        let (from, to) = (ManifestVersion(Int64(a)), ManifestVersion(Int64(b)))
        for change in try store.changes(shop, from: from, to: to) { patched[change.url] = change.entry }
        #expect(patched == new, "patch \(a)-\(b)")
      }
    }
  }

  /// The manifest according to the model, including downloads.
  private func entries(_ model: Model, at version: Int) throws -> [ResourceURL: Entry] {
    var entries: [ResourceURL: Entry] = [:]
    for (url, sample) in Model.union(model.history[version]) {
      let place = try #require(model.versions[url]?.firstIndex(of: sample))
      let broughtIn = try #require(model.broughtIn[url]?[place])
      let path = DownloadPath(
        channel: .online, appID: 1, manifestVersion: ManifestVersion(Int64(broughtIn)),
        resourceVersion: Int64(place + 1), sha256: sample.claim.sha256, url: url)
      entries[url] = Entry(
        try sample.content, download: "https://cdn.example.com/x/\(path)", version: Int64(place + 1))
    }
    return entries
  }

  private func compareBundle(
    _ store: Store, _ shop: ChannelInfo, _ name: String, _ model: Model, since: ManifestVersion
  ) throws {
    let entries = try store.entries(of: try BundleName(name), in: shop, since: since)
    var content: [ResourceURL: ResourceContent] = [:]
    if let base = entries.base {
      #expect(base == since)
      content = try (model.history[Int(since.number)][name] ?? [:]).mapValues { try $0.content }
    }
    for (url, new) in entries.entries { content[url] = new }
    #expect(content == (try (model.bundles[name] ?? [:]).mapValues { try $0.content }))
    #expect(entries.version.number == model.bundleVersions[name])
  }
}
