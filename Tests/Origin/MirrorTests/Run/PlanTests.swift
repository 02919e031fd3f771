import Manifests
import Store
import System
import Testing
import Values

@testable import Mirror

@Suite("Inputs of a channel's files")
struct PlanTests {
  /// If these bytes change, every document of every copy is written again: that needs a reason and a new `format`.
  @Test func canonicalBytes() throws {
    let state = MirroredChannelState(
      app: try AppName("shop"), appID: 3, channel: .online, publicURL: try BaseURL("https://cdn.test/x"),
      version: ManifestVersion(7), digest: .of([2]), versions: [ManifestVersion(6), ManifestVersion(7)],
      extras: AnswerExtras(interval: 60, policy: nil, prefetch: 4), scripts: [])
    var options = MirrorOptions()
    options.zips = true
    let facts = ChannelPlan.facts(state, "abc", options, [.of([1])])
    #expect(
      String(decoding: facts.canonical, as: UTF8.self) == """
        {"app":"shop","appID":3,"channel":"online",\
        "digest":"dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986","format":2,"interval":60,\
        "origin":"abc","patches":["4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a"],"policy":null,\
        "precompressed":false,"prefetch":4,"publicURL":"https://cdn.test/x","version":"7","versions":["6","7"],\
        "zips":true}
        """)
  }

  @Test("A copy whose inputs were hashed in another way is rendered again once")
  func otherHash() throws {
    let bench = try Bench(versions: 2)
    try bench.mirror()
    let files = try Bench.files(bench.www)
    let old = try bench.index
    let channels = old.channels.map {
      MirrorIndex.Channel(
        app: $0.app, appID: $0.appID, channel: $0.channel, publicURL: $0.publicURL, version: $0.version,
        digest: $0.digest, versions: $0.versions, inputs: .of([9]), files: $0.files)
    }
    let index = MirrorIndex(origin: old.origin, defaultApp: nil, at: old.at, channels: channels, leaving: [:])
    try DurableFile.write(index.document, to: bench.www + "/mirror.json")
    // The documents are rendered with the same bytes, so only mirror.json is written.
    #expect(try bench.mirror().written == 1)
    #expect(try Bench.files(bench.www) == files)
    #expect(try bench.index.channels.map(\.inputs) == old.channels.map(\.inputs))
  }
}
