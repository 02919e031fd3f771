import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct CommitTests {
  let scratch = Scratch()

  @Test func firstPublishCreatesAppChannelAndVersionOne() throws {
    let store = try scratch.open()
    let outcome = try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("bb")])
    #expect(outcome.changed && outcome.createdApp && outcome.createdChannel)
    #expect(outcome.version == ManifestVersion(1) && outcome.previous == .none)
    #expect(outcome.counts == ChangeCounts(added: 2) && outcome.newBytes == 3)
    #expect(outcome.resources == 2 && outcome.bytes == 3)
    let shop = try store.shop()
    #expect(shop == outcome.channel)
    let manifest = try store.manifest(shop, at: shop.version)
    #expect(manifest.map(\.url) == [try url("a.js"), try url("b.js")])
    #expect(manifest.map { EntryChange(url: $0.url, entry: $0.entry, old: nil) } == outcome.changes)
    let entry = try #require(manifest.first?.entry)
    let path =
      "https://cdn.example.com/x/xcache/1/1/1/\(ResourceUUID(.of([97])))/https%253A%252F%252Fm.example.com%252Fa.js"
    #expect(entry.download == path && entry.version == 1 && entry.size == 1)
    #expect(try store.defaultApp() == AppName("shop"))
    #expect(try store.digestByQuery(shop, at: shop.version) == shop.digest)
  }

  @Test func unchangedPublishMakesNoVersion() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    let again = try store.publish(base: 1, set: ["a.js": Sample("a")], remove: ["never.js"])
    #expect(!again.changed && again.version == ManifestVersion(1) && again.resources == 1)
    let fromNothing = try store.publish(base: 0, set: ["a.js": Sample("a")])
    #expect(!fromNothing.changed)
  }

  @Test func restoredBytesGetTheirFormerDownload() throws {
    let store = try scratch.open()
    let first = try store.publish(base: 0, set: ["a.js": Sample("one")])
    let second = try store.publish(base: 1, set: ["a.js": Sample("two")])
    let third = try store.publish(base: 2, set: ["a.js": Sample("one")])
    let fourth = try store.publish(base: 3, set: ["a.js": Sample("one", type: "text/css")])
    #expect(second.changes.first?.entry?.version == 2)
    #expect(third.changes.map(\.entry) == first.changes.map(\.entry))
    #expect(fourth.changes.first?.entry?.version == 3)
    #expect(third.counts == ChangeCounts(changed: 1))
  }

  @Test func staleBaseReplacesAndNamesTheRelease() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("b")])
    try store.publish(base: 1, set: ["a.js": Sample("other"), "new.js": Sample("n")], remove: ["b.js"])
    let late = try store.publish(base: 1, set: ["c.js": Sample("c")])
    #expect(late.bundles.first?.replaced?.version == ManifestVersion(2))
    #expect(late.bundles.first?.replaced?.author == "ci")
    let names = try store.manifest(try store.shop(), at: late.version).map(\.url)
    #expect(names == [try url("a.js"), try url("b.js"), try url("c.js")])
    #expect(late.counts == ChangeCounts(added: 2, changed: 1, removed: 1))
  }

  @Test func ifVersionRefusesLaterChanges() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    try store.publish("other", base: 0, set: ["o.js": Sample("o")])
    #expect(throws: Never.self) { try store.publish(base: 1, set: ["a.js": Sample("a2")], ifVersion: 1) }
    #expect {
      try store.publish(base: 1, set: ["a.js": Sample("a3")], ifVersion: 1)
    } throws: { error in
      guard case StoreError.changedSince(let bundle, let limit, let release) = error else { return false }
      return bundle.text == "main" && limit == ManifestVersion(1) && release.version == ManifestVersion(3)
    }
  }

  @Test func twoBundlesMayShareAURLOnlyWithEqualContent() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["s.js": Sample("s"), "t.js": Sample("t")])
    let sharing = try store.publish("two", base: 0, set: ["s.js": Sample("s")])
    #expect(sharing.changed && sharing.counts.isEmpty && sharing.changes.isEmpty)
    #expect(sharing.bundles.first?.counts == ChangeCounts(added: 1))
    #expect(sharing.channel?.digest == (try store.digest(try store.shop(), at: ManifestVersion(1))))
    #expect {
      try store.publish("two", base: 2, set: ["s.js": Sample("s2"), "t.js": Sample("t", type: "text/css")])
    } throws: { error in
      guard case StoreError.urlConflicts(let conflicts) = error else { return false }
      return conflicts.map(\.url.text) == ["https://m.example.com/s.js", "https://m.example.com/t.js"]
        && conflicts.allSatisfy { $0.bundle.text == "one" }
    }
    // In one release, both may change.
    try store.send([Sample("s2")])
    let both = try store.commit(
      try store.request([
        try store.change("one", base: 1, set: ["s.js": Sample("s2")]),
        try store.change("two", base: 2, set: ["s.js": Sample("s2")]),
      ]))
    #expect(both.counts == ChangeCounts(changed: 1))
    #expect(both.bundles.map(\.counts) == [ChangeCounts(changed: 1), ChangeCounts(changed: 1)])
  }

  @Test func bundlesOfOneReleaseMayNotConflict() throws {
    let store = try scratch.open()
    try store.send([Sample("1"), Sample("2")])
    #expect {
      _ = try store.commit(
        try store.request([
          try store.change("one", base: 0, set: ["s.js": Sample("1")]),
          try store.change("two", base: 0, set: ["s.js": Sample("2")]),
        ]))
    } throws: {
      if case StoreError.urlConflicts(let conflicts) = $0 { conflicts.count == 1 } else { false }
    }
    #expect(try store.channels().isEmpty)
  }

  @Test func equivalentURLsAreDuplicates() throws {
    let store = try scratch.open()
    let within = ["a%62.js": Sample("1"), "ab.js": Sample("1")]
    #expect {
      try store.publish(base: 0, set: within)
    } throws: { if case StoreError.duplicateURLs(let pairs) = $0 { pairs.count == 1 } else { false } }
    try store.publish("one", base: 0, set: ["ab.js": Sample("1")])
    #expect {
      try store.publish("two", base: 0, set: ["a%62.js": Sample("1")])
    } throws: { if case StoreError.duplicateURLs(let pairs) = $0 { pairs.count == 1 } else { false } }
    // One spelling may replace the other in one release.
    let renamed = try store.publish("one", base: 1, set: ["a%62.js": Sample("1")], remove: ["ab.js"])
    #expect(renamed.counts == ChangeCounts(added: 1, removed: 1))
    #expect {
      try store.publish("two", base: 0, set: ["%61b.js": Sample("1")])
    } throws: { if case StoreError.duplicateURLs = $0 { true } else { false } }
  }

  @Test func unpublishRemovesOneBundle() throws {
    let store = try scratch.open()
    try store.publish("one", base: 0, set: ["a.js": Sample("a"), "s.js": Sample("s")])
    try store.publish("two", base: 0, set: ["b.js": Sample("b"), "s.js": Sample("s")])
    let gone = try store.commit(try store.request([BundleChange(try BundleName("one"), .unpublish)]))
    #expect(gone.counts == ChangeCounts(removed: 1))
    #expect(gone.changes.map(\.url) == [try url("a.js")])
    #expect(try store.log(try store.shop()).first?.kind == .unpublish)
    let again = try store.commit(try store.request([BundleChange(try BundleName("one"), .unpublish)]))
    #expect(!again.changed)
    #expect {
      _ = try store.commit(try store.request([BundleChange(try BundleName("never"), .unpublish)]))
    } throws: { if case StoreError.unknownBundle = $0 { true } else { false } }
  }

  @Test func missingBytesAndWrongDigestsAreRefused() throws {
    let store = try scratch.open()
    try store.send([Sample("here")])
    #expect {
      try store.publish(base: 0, set: ["a": Sample("here"), "b": Sample("not here")], sends: false)
    } throws: {
      if case StoreError.missingBlobs(let digests) = $0 {
        digests == [.of(Array("not here".utf8))]
      } else {
        false
      }
    }
    let wrongContent = ResourceContent(
      md5: .of([1]), sha256: .of(Array("here".utf8)), size: 4, ctype: try Sample("x").content.ctype)
    let change = BundleChange(
      try BundleName("main"), .update(base: .none, set: [try url("a"): wrongContent], remove: []))
    #expect {
      _ = try store.commit(try store.request([change]))
    } throws: { if case StoreError.contentMismatch = $0 { true } else { false } }
    #expect(try store.channels().isEmpty)
  }

  @Test func dryRunChangesNothing() throws {
    let store = try scratch.open()
    let dry = try store.publish(base: 0, set: ["a.js": Sample("a")], dryRun: true, sends: false)
    #expect(dry.changed && dry.version == ManifestVersion(1) && dry.counts == ChangeCounts(added: 1))
    #expect(dry.missing == [.of([97])])
    #expect(try store.channels().isEmpty)
  }

  @Test func callbacksAreCalledInOrder() throws {
    let store = try scratch.open()
    try store.send([Sample("a")])
    var calls: [String] = []
    let outcome = try store.commit(
      try store.request([try store.change("main", base: 0, set: ["a.js": Sample("a")])]),
      digest: { prepared in
        calls.append("digest of \(prepared.version), \(prepared.changes.count) change")
        return .of([7])
      },
      committed: { calls.append("committed \($0.version)") })
    #expect(calls == ["digest of 1, 1 change", "committed 1"])
    #expect(outcome.channel?.digest == .of([7]))
    #expect(try store.digest(try store.shop(), at: ManifestVersion(1)) == .of([7]))
  }

  /// The digest of a large release is computed while its rows are written.
  @Test func digestOfALargeReleaseIsComputedConcurrently() throws {
    let store = try scratch.open()
    let set = Dictionary(uniqueKeysWithValues: (0..<1100).map { ("f\($0).js", Sample("file \($0)")) })
    try store.send(set.values)
    let request = try store.request([try store.change("main", base: 0, set: set)])
    let calls = Locked<[Int]>([])
    // A refused release leaves nothing behind, whatever was written meanwhile.
    #expect {
      _ = try store.commit(
        request,
        digest: { (prepared) throws(StoreError) in
          calls.withLock { $0.append(prepared.changes.count) }
          throw .unknownApp(request.app)
        }, committed: { _ in Issue.record("nothing was committed") })
    } throws: { if case StoreError.unknownApp = $0 { true } else { false } }
    #expect(try store.channels().isEmpty)
    #expect(
      try store.connections.reading { (db) throws(StoreError) in
        try db.value(Int.self, "SELECT count(*) FROM url")
      } == 0)
    var shown: ManifestVersion?
    let outcome = try store.commit(
      request,
      digest: { prepared in
        calls.withLock { $0.append(prepared.changes.count) }
        return .of([7])
      }, committed: { shown = $0.version })
    #expect(calls.withLock { $0 } == [1100, 1100] && shown == ManifestVersion(1))
    #expect(outcome.channel?.digest == .of([7]) && outcome.counts.added == 1100)
    #expect(try store.manifest(try store.shop(), at: ManifestVersion(1)).count == 1100)
  }

  @Test func namesThatDifferInCaseAreRefused() throws {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    var request = try store.request([try store.change("main", base: 0, set: ["a.js": Sample("a")])])
    request.app = try AppName("Shop")
    #expect { _ = try store.commit(request) } throws: {
      if case StoreError.appNameTaken = $0 { true } else { false }
    }
    #expect { _ = try store.channel(try AppName("SHOP"), .online) } throws: {
      if case StoreError.appNameTaken = $0 { true } else { false }
    }
    request.app = try AppName("other")
    request.publicURLForNew = nil
    #expect { _ = try store.commit(request) } throws: {
      if case StoreError.unknownApp = $0 { true } else { false }
    }
  }

  @Test func timesNeverDecrease() throws {
    let now = Locked<Int64>(5000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    try store.publish(base: 0, set: ["a.js": Sample("a")])
    now.withLock { $0 = 4000 }
    let second = try store.publish(base: 1, set: ["a.js": Sample("b")])
    #expect(second.at == 5000)
  }
}
