import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Which answers of a channel with a root are kept, and under what.
@Suite struct TrustEditionTests {
  /// A channel's state whose app has this root.
  private static func state(_ origin: TestOrigin, root: Int64?) throws -> ChannelCatalog {
    let channel = try origin.store.channel(AppName("shop"), .online)
    var extras = try origin.store.extras(of: channel)
    extras.root = root
    return ChannelCatalog(
      channel: channel, map: try ManifestMap(origin.store, channel, at: channel.version),
      documents: ChannelDocuments(extras))
  }

  @Test func statesAreToldApart() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let (first, second) = (try Self.state(origin, root: 1), try Self.state(origin, root: 1))
    #expect(first.extras == second.extras && !first.answers(as: second) && first.answers(as: first))
    #expect(first.trustEdition > 0 && second.trustEdition > first.trustEdition)
    let (third, fourth) = (try Self.state(origin, root: nil), try Self.state(origin, root: nil))
    #expect(third.trustEdition == 0 && third.answers(as: fourth))
    // The number of the root is in the answer to a device that has the newest version.
    #expect(
      String(decoding: Documents.nothingNew(first.version, extras: first.extras), as: UTF8.self).contains(
        "\"root\":\"1\""))
  }

  @Test func patchOfAnEarlierStateIsNotGiven() throws {
    let origin = try TestOrigin()
    for text in ["one", "two"] { try origin.publish(["a.js": text]) }
    let (old, new) = (try Self.state(origin, root: 1), try Self.state(origin, root: 1))
    let patch = RenderedPatch(CodedDocument.json(Array("{}".utf8)), extras: old.extras)
    var patches = PatchCache()
    patches.insert(patch, from: 1, to: old, renewal: 0)
    #expect(patches.answer(from: 1, to: old) != nil && patches.answer(from: 1, to: new) == nil)
    patches.insert(patch, from: 1, to: new, renewal: 0)
    // One that took longer doesn't take its place.
    patches.insert(patch, from: 1, to: old, renewal: 0)
    #expect(patches.answer(from: 1, to: new) != nil && patches.count == 1)
  }

  @Test func wholeManifestIsMadeAgainOfItsCodedMap() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let old = try Self.state(origin, root: 1)
    let map = try #require(old.held.map)
    let whole = WholeManifest(old.channel, map, old.extras, trust: Array("{\"head\":1}".utf8))
    old.held.keep(whole: whole)
    let next = old.with(old.documents)
    #expect(next.held.whole == nil && next.held.rendered === whole.map && next.held.isInMemory)
    let made = WholeManifest(
      next.channel, rendered: whole.map, next.extras, trust: Array("{\"head\":2}".utf8))
    next.held.keep(whole: made)
    #expect(next.held.rendered == nil && next.with(next.documents).held.rendered === whole.map)
    next.held.retire()
    #expect(!next.held.isInMemory)
  }

  @Test func entityTagsDifferWhereBytesDo() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    var tags: Set<String> = []
    for root in [nil, 1, 2] as [Int64?] {
      for trust in [nil, "{}", "{\"head\":{}}"] as [String?] {
        let state = try Self.state(origin, root: root)
        let map = try #require(state.held.map)
        state.held.keep(
          whole: WholeManifest(state.channel, map, state.extras, trust: trust.map { Array($0.utf8) }))
        origin.origin.catalog.update { $0.put(state) }
        let reply = try origin.ask("GET", "/configure.json?app=shop")
        let wanted = try trust.map { try JSONValue.parse(Array($0.utf8)) }
        #expect(reply.json["data"]?["trust"] == wanted)
        tags.insert(try #require(reply.field("ETag")))
      }
    }
    #expect(tags.count == 9)
  }

  @Test func patchAndPackCarryWhatTheyAreGiven() throws {
    let origin = try TestOrigin()
    for text in ["one", "two"] { try origin.publish(["a.js": text]) }
    let state = try Self.state(origin, root: 1)
    let map = try #require(state.held.map)
    let digest = try #require(try origin.store.digest(state.channel, at: ManifestVersion(1)))
    let trust = Array("{\"head\":{},\"releases\":[]}".utf8)
    let made = RenderedPatch(
      state, from: ManifestVersion(1), digest: digest, [], deltas: Array("{}".utf8), trust: trust
    ) { WholeManifest(state.channel, map, state.extras, trust: trust) }
    let patch = try #require(made).offering(
      OfferedPack(offer: PackOffer(download: "https://cdn.example.com/x", size: 1), format: .whole), state,
      from: ManifestVersion(1))
    origin.origin.catalog.update { $0.put(state) }
    origin.origin.builder.patches.update {
      $0.insert(patch, from: 1, to: state, renewal: $0.renewal(of: state.channel.id))
    }
    for query in ["", "pack=1"] {
      let reply = try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1&\(query)")
      let data = reply.json["data"]
      #expect(data?["trust"]?["releases"]?.array?.isEmpty == true, "\(query)")
      #expect(data?["root"]?.string == "1" && (data?["pack"] != nil) == (query == "pack=1"), "\(query)")
    }
  }
}
