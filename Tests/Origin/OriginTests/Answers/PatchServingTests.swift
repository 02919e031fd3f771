import Compression
import HTTP
import Manifests
import Synchronization
import System
import Testing

@testable import Origin

@Suite struct PatchServingTests {
  /// An app with this many versions, each of which changes one file.
  private static func origin(versions: Int) throws -> TestOrigin {
    let origin = try TestOrigin()
    for version in 1...versions { try origin.publish(["a.js": "\(version)", "b.js": "b"]) }
    return origin
  }

  private static func target(_ base: Int) -> String { "/configure.json?app=shop&version=\(base)&patch=1" }

  /// Whether a poll is answered without waiting.
  private static func isReady(_ base: Int, _ origin: TestOrigin) throws -> Bool {
    if case .now = try origin.answer("GET", target(base), [], length: 0) { true } else { false }
  }

  @Test func patchesAreCachedAfterTheFirstRound() throws {
    let origin = try Self.origin(versions: 81)
    for base in 1...80 { #expect(try origin.ask("GET", Self.target(base)).json["data"]?["base"] != nil) }
    let made = try (1...80).filter { try !Self.isReady($0, origin) }
    #expect(made == [], "patches from these were made again")
  }

  /// One client polls from fifteen bases, twice: the second round makes nothing.
  @Test func patchesAreMadeOnce() throws {
    let origin = try Self.origin(versions: 16)
    let builder = origin.origin.builder
    let before = builder.patchesMade.load(ordering: .relaxed)
    for base in 1...15 { _ = try origin.ask("GET", Self.target(base)) }
    // The patch from the previous version was made with the release.
    #expect(builder.patchesMade.load(ordering: .relaxed) == before + 14)
    for base in 1...15 { _ = try origin.ask("GET", Self.target(base)) }
    #expect(builder.patchesMade.load(ordering: .relaxed) == before + 14)
  }

  /// Requests that wait for a patch occupy no worker, and the patch is made once.
  @Test func manyRequestsForOneBase() throws {
    let origin = try Self.origin(versions: 12)
    let answers = Monitor<[Int]>([])
    for _ in 0..<500 {
      guard case .deferred(let begin) = try origin.answer("GET", Self.target(1), [], length: 0) else {
        // It was made meanwhile.
        answers.broadcasting { $0.append(200) }
        continue
      }
      begin { response in answers.broadcasting { $0.append(Int(response.status.code)) } }
    }
    let all = answers.waiting { $0.count == 500 ? $0 : nil }
    #expect(all == [Int](repeating: 200, count: 500))
    #expect(origin.origin.builder.patchesMade.load(ordering: .relaxed) == 1)
  }

  /// The absence of a version is cached, too.
  @Test func unknownBasesAreCached() throws {
    let origin = try Self.origin(versions: 3)
    #expect(try origin.api("POST", "gc", ["keepDays": 0, "keepVersions": 1]).status == 200)
    for _ in 0..<5 {
      #expect(try origin.ask("GET", Self.target(1)).json["data"]?["resourcemap"] != nil)
    }
    #expect(origin.origin.builder.patchesMade.load(ordering: .relaxed) == 1)
  }

  /// Patches from the fleet's versions are pinned, whatever else is requested.
  @Test func patchesOfTheFleetAreNotEvicted() throws {
    let origin = try Self.origin(versions: 40)
    let renderer = origin.origin.background.renderer
    let channel = try #require(origin.origin.catalog.current.channels.first)
    renderer.render(channel.channel.id)
    let pinned = Array(35...39)
    #expect(try pinned.filter { try !Self.isReady($0, origin) } == [])
    // Requests from one client, for more than the space of unpinned patches.
    let document = CodedDocument.json(.bytes(SharedBytes([UInt8](repeating: 0, count: 9 << 20))), tag: "x")
    for base in 1...30 {
      let patch = RenderedPatch(document, extras: channel.extras)
      origin.origin.builder.patches.update {
        $0.insert(patch, from: Int64(base), to: channel, renewal: $0.renewal(of: channel.channel.id))
      }
    }
    let patches = origin.origin.builder.patches.current
    #expect(patches.byteCount < 140 << 20)
    #expect(patches.answer(from: 1, to: channel) == nil && patches.answer(from: 30, to: channel) != nil)
    #expect(try pinned.filter { try !Self.isReady($0, origin) } == [])
  }

  @Test func leastRecentlyUsedPatchesAreEvicted() throws {
    let origin = try Self.origin(versions: 40)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    let document = CodedDocument.json(.bytes(SharedBytes([UInt8](repeating: 0, count: 15 << 20))), tag: "x")
    var patches = PatchCache()
    for base in 1...20 as ClosedRange<Int64> {
      patches.insert(RenderedPatch(document, extras: channel.extras), from: base, to: channel, renewal: 0)
      // Patch 1 is used all the time.
      #expect(patches.answer(from: 1, to: channel) != nil)
    }
    #expect((1...20).filter { patches.answer(from: $0, to: channel) != nil } == [1, 18, 19, 20])
    try origin.publish(["a.js": "next", "b.js": "b"])
    patches.forget(try #require(origin.origin.catalog.current.channels.first))
    #expect(patches.count == 0 && patches.byteCount == 0)
  }

  /// Entries without bytes are bounded as well, and an answer larger than the whole space is kept while it is the only one.
  @Test func numberOfPatchesIsBounded() throws {
    let origin = try Self.origin(versions: 2)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    var patches = PatchCache()
    for base in 1...3000 as ClosedRange<Int64> { patches.insert(nil, from: base, to: channel, renewal: 0) }
    #expect(patches.count == PatchCache.maxUnpinned)
    patches.pin((1...200).map { ManifestVersion($0) }, of: channel.channel.id)
    #expect(patches.pins(of: channel.channel.id).count == PatchCache.maxPins)
  }

  /// An answer begun before new deltas existed doesn't replace one with them.
  @Test func staleAnswerDoesNotReplaceARenewedOne() throws {
    let origin = try Self.origin(versions: 3)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    var patches = PatchCache()
    let before = patches.renewal(of: channel.channel.id)
    patches.renew(channel.channel.id)
    patches.insert(nil, from: 1, to: channel, renewal: before)
    #expect(patches.answer(from: 1, to: channel) == nil)
  }

  /// An answer begun before a release, and done after it, doesn't replace one to the new version.
  @Test func patchToANewerVersionIsKept() throws {
    let origin = try Self.origin(versions: 2)
    let old = try #require(origin.origin.catalog.current.channels.first)
    try origin.publish(["a.js": "3", "b.js": "b"])
    let new = try #require(origin.origin.catalog.current.channels.first)
    let document = CodedDocument.json(.bytes(SharedBytes([1])), tag: "x")
    for isPinned in [false, true] {
      var patches = PatchCache()
      if isPinned { patches.pin(ManifestVersion(1), of: new.channel.id) }
      patches.insert(RenderedPatch(document, extras: old.extras), from: 1, to: old, renewal: 0)
      patches.insert(RenderedPatch(document, extras: new.extras), from: 1, to: new, renewal: 0)
      #expect(patches.answer(from: 1, to: new) != nil)
      patches.insert(RenderedPatch(document, extras: old.extras), from: 1, to: old, renewal: 0)
      #expect(patches.answer(from: 1, to: new) != nil && patches.count == 1)
    }
  }

  /// When sixteen others wait, the whole manifest is sent, except from the fleet's versions.
  @Test func wholeManifestIsSentUnderLoad() throws {
    let origin = try Self.origin(versions: 20)
    let builder = try AnswerBuilder(
      store: origin.store, catalog: origin.origin.catalog, threads: 0)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    func asks(_ base: Int64) -> Bool { builder.patch(to: channel, from: ManifestVersion(base)) { _ in } }
    for base in 1...16 as ClosedRange<Int64> { #expect(asks(base)) }
    #expect(!asks(17) && builder.answeredWhole.load(ordering: .relaxed) == 1)
    #expect(asks(16), "it is already waiting")
    builder.patches.update { $0.pin(ManifestVersion(18), of: channel.channel.id) }
    #expect(asks(18))
    let whole = Locked<WholeManifest?>(nil)
    builder.whole(of: channel) { made in whole.withLock { $0 = try? made.get() } }
    #expect(whole.withLock { $0 } != nil)
  }

  /// A map that many answers contain is in memory once, and each answer is right in every coding.
  @Test func wholeMapIsShared() throws {
    let origin = try TestOrigin()
    let names = (0..<300).map { "\($0 * 7919).js" }
    try origin.publish(Dictionary(uniqueKeysWithValues: names.map { ($0, $0) }))
    // All URLs are others: the patch, which names removed ones, too, is larger than the whole.
    try origin.publish(Dictionary(uniqueKeysWithValues: names.map { ("n\($0)", $0) }), remove: names)
    try origin.publish(["one.js": "1"])
    try origin.publish(["one.js": "2"])
    for base in 1...3 {
      let isWhole = base == 1
      let plain = try origin.ask("GET", Self.target(base))
      #expect(plain.json["data"]?["base"]?.string == "\(base)")
      #expect((plain.json["data"]?["resourcemap"] != nil) == isWhole)
      let gzip = try origin.ask("GET", Self.target(base), ["Accept-Encoding: gzip"])
      let zstd = try origin.ask("GET", Self.target(base), ["Accept-Encoding: zstd"])
      if gzip.field("Content-Encoding") == "gzip" {
        #expect(try Gzip.decode(gzip.body, limit: 1 << 20) == plain.body)
      }
      if zstd.field("Content-Encoding") == "zstd" {
        #expect(try Zstd.decode(zstd.body, limit: 1 << 20) == plain.body)
      }
    }
    let whole = try #require(origin.origin.catalog.current.channels.first?.held.whole)
    #expect(whole.with(AnswerExtras(interval: 60)).map === whole.map)
  }
}
