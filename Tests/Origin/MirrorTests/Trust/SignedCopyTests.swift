import Manifests
import Store
import System
import Testing
import Trust
import Values

@testable import Mirror

@Suite("Copies of apps with a root")
struct SignedCopyTests {
  @Test("A copy has roots, head and statements, and devices take it") func whole() throws {
    let signed = try SignedBench()
    try signed.bench.mirror { $0.precompressed = true }
    #expect(try signed.verify() == [])
    #expect(try signed.bytes("root/1.json") == signed.root.envelope.bytes)
    #expect(try signed.head().document.version == ManifestVersion(4))
    for name in ["configure.json", "patch/3-4.json"] {
      let answer = try ConfigureAnswer.parse(signed.bytes(name))
      var reader = JSONReader(try #require(answer.trust))
      let trust = try AnswerTrust(reading: &reader)
      #expect(answer.extras.root == 1 && trust.head != nil && trust.releases.count == 1, "\(name)")
    }
    // It never changes, and so has no head.
    let fixed = try #require(try ConfigureAnswer.parse(signed.bytes("configure/4.json")).trust)
    var reader = JSONReader(fixed)
    let trust = try AnswerTrust(reading: &reader)
    #expect(trust.head == nil && trust.releases.count == 1)
    #expect(try ConfigureAnswer.parse(signed.bytes("configure/2.json")).trust == nil)
    // No step leads from entries without a bundle to such with one.
    for name in ["patch/1-4.json", "patch/2-4.json"] {
      #expect(try Kernel.status(signed.path(name)) == nil, "\(name)")
    }
    #expect(try Kernel.status(signed.path("head.json.gz")) != nil)
    #expect(try signed.bench.mirror { $0.precompressed = true }.written == 1)
  }

  @Test("A head that was signed anew rewrites head.json alone") func daily() throws {
    let signed = try SignedBench()
    try signed.bench.mirror()
    let before = try Bench.files(signed.bench.www)
    let source = RenewedSource(
      source: DataSource(store: signed.store), key: signed.spareHead, later: 86_400_000)
    try signed.bench.mirror(from: source)
    let after = try Bench.files(signed.bench.www)
    let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
    #expect(changed == ["xcache/shop/head.json"])
    #expect(try signed.verify() == [])
    // Then a release: all of it has the newest head.
    try signed.release(["index.html": "<p>five"], 30)
    try signed.bench.mirror()
    #expect(try signed.verify() == [])
    #expect(try signed.head().document.version == ManifestVersion(5))
  }

  @Test("Statements that take the place of others are written into fixed documents, too") func resigned()
    throws
  {
    let signed = try SignedBench()
    try signed.bench.mirror()
    let before = try Bench.files(signed.bench.www)
    var input = StatementsInput(app: try AppName("shop"), by: .local)
    input.releases = [
      try signed.statement(["index.html": "<p>signed", "app.1.js": "run(1)", "same.css": "p{}"], 40)
    ]
    #expect(try signed.store.keep(input) == 1)
    try signed.bench.mirror()
    let after = try Bench.files(signed.bench.www)
    for name in ["configure/4.json", "configure.json", "patch/3-4.json"] {
      #expect(before["xcache/shop/\(name)"] != after["xcache/shop/\(name)"], "\(name)")
    }
    for name in ["configure/2.json", "configure/3.json", "root/1.json", "release/4.json"] {
      #expect(before["xcache/shop/\(name)"] == after["xcache/shop/\(name)"], "\(name)")
    }
    #expect(try signed.verify() == [])
  }

  @Test("What devices refuse is named, document by document") func refused() throws {
    let signed = try SignedBench()
    try signed.bench.mirror()
    let files = ["head.json", "configure.json", "patch/3-4.json", "root/1.json", "version.json"]
    let good = try Dictionary(uniqueKeysWithValues: files.map { ($0, try signed.bytes($0)) })
    func restore() throws { for (name, bytes) in good { try signed.replace(name, bytes) } }

    let stranger = P256PrivateKey()
    let head = try signed.head().document
    try signed.replace("head.json", try Signed(head).signed(by: stranger).envelope.bytes)
    #expect(try signed.failures("head.json") == [.headKey])
    try restore()
    // A copy that an older xcache wrote.
    try signed.replace("version.json", Documents.nothingNew(ManifestVersion(4)))
    #expect(try signed.verify().map(\.kind) == [.noRoot])
    try restore()
    // A device that has version 3 still has the statement of what the bundle was.
    for (name, failure) in [
      ("configure.json", TrustFailure.releaseMissing), ("patch/3-4.json", .releaseContent),
    ] {
      let answer = try ConfigureAnswer.parse(try #require(good[name]))
      let trust = try MirroredTrust(try #require(answer.trust))
      let text = String(decoding: try #require(good[name]), as: UTF8.self)
      let list = String(decoding: trust.releases, as: UTF8.self)
      try signed.replace(name, Array(text.replacing(list, with: "[]").utf8))
      #expect(Set(try signed.failures(name)) == [failure], "\(name)")
      try restore()
    }
    // Devices of an app that was built with another root.
    let other = try Signed(signed.root.document).signed(by: stranger)
    #expect(try signed.verify([other]) == [], "who signed the first root doesn't matter")
    let another = try TrustRoot(
      app: try AppName("shop"), number: .first, keys: [stranger.trustKey, signed.rootKey.trustKey],
      roots: try #require(KeyGroup([signed.rootKey.trustKey.id], threshold: 1)),
      heads: [stranger.trustKey.id])
    let failures = try signed.verify([Signed(another)]).compactMap {
      if case .trust(let failure, _) = $0.kind { failure } else { nil }
    }
    #expect(Set(failures) == [.headKey])
  }

  @Test("A key that the root lists signs heads without an origin") func signHead() throws {
    let signed = try SignedBench()
    try signed.bench.mirror { $0.precompressed = true }
    let before = try signed.head().document
    let later = before.at.milliseconds + 40 * 86_400_000
    func renew(_ key: P256PrivateKey) throws -> HeadRenewal.Report {
      try HeadRenewal(.folder(signed.bench.www), key: signed.key(key), roots: [signed.root], now: later).run()
    }
    #expect { _ = try renew(P256PrivateKey()) } throws: {
      if case MirrorError.unlistedKey = $0 { true } else { false }
    }
    #expect(try signed.head().document == before)
    let report = try renew(signed.spareHead)
    #expect(report.renewed.map(\.channel.description) == ["shop online"])
    #expect(report.renewed.first?.before == before.at)
    let after = try signed.head()
    #expect(after.document.at.milliseconds == later && after.document.says(before))
    #expect(try signed.verify() == [])
    #expect(try Kernel.status("\(signed.bench.www)/\(RunMark.path)") == nil)
    // Again, at the same time: times rise.
    #expect(try renew(signed.spareHead).renewed.first?.head.at.milliseconds == later + 1)
    // It signs nothing that devices would refuse.
    let name = "configure.json"
    let text = String(decoding: try signed.bytes(name), as: UTF8.self)
    let answer = try ConfigureAnswer.parse(Array(text.utf8))
    let list = try MirroredTrust(try #require(answer.trust)).releases
    try signed.replace(
      name, Array(text.replacing(String(decoding: list, as: UTF8.self), with: "[]").utf8))
    #expect { _ = try renew(signed.spareHead) } throws: {
      if case MirrorError.unsound = $0 { true } else { false }
    }
  }

  @Test("A head that has run out is a warning") func stale() throws {
    let signed = try SignedBench()
    try signed.bench.mirror()
    let head = try signed.head().document
    let old = try TrustHead(
      app: head.app, channel: head.channel, version: head.version, digest: head.digest, policy: head.policy,
      prefetch: head.prefetch, at: try #require(TrustTime(1000)), until: try #require(TrustTime(2000)))
    try signed.replace("head.json", try Signed(old).signed(by: signed.spareHead).envelope.bytes)
    #expect(try signed.verify().map(\.kind) == [.staleHead(until: 2000)])
    #expect(try !Verification(FolderReader(signed.bench.www)).run().hasErrors)
  }
}

@Suite("Parts of signed documents")
struct SignedPartsTests {
  @Test func headIsAddedAndLeftOut() throws {
    let both = Array(#"{"head":{"a":1},"releases":[{"b":2}]}"#.utf8)
    let trust = try MirroredTrust(both)
    #expect(trust.bytes(head: nil) == Array(#"{"releases":[{"b":2}]}"#.utf8))
    #expect(trust.bytes(head: Array(#"{"a":1}"#.utf8)) == both)
    #expect(try MirroredTrust(trust.bytes(head: nil)) == trust)
    #expect(throws: JSONError.self) { try MirroredTrust(Array("[]".utf8)) }
  }

  @Test func noStepCrossesTheRebase() throws {
    var state = MirroredChannelState(
      app: try AppName("shop"), appID: 3, channel: .online, publicURL: try BaseURL("https://cdn.test/x"),
      version: ManifestVersion(5), digest: .of([2]), versions: [2, 3, 4, 5].map { ManifestVersion($0) },
      extras: .none, scripts: [])
    #expect(state.steps.map(\.from.number) == [2, 3, 4])
    state.bundlesSince = ManifestVersion(4)
    #expect(state.steps.map(\.from.number) == [4])
    state.bundlesSince = ManifestVersion(5)
    #expect(state.steps.isEmpty)
  }

  @Test func indexRoundTrips() throws {
    let bench = try Bench(versions: 1)
    try bench.mirror()
    var index = try bench.index
    #expect(index.channels[0].trust == nil)
    let bytes = index.document
    #expect(!String(decoding: bytes, as: UTF8.self).contains("\"trust\""))
    index.channels[0].trust = MirrorIndex.Trust(
      root: 2, head: Array(#"{"payload":"e30="}"#.utf8), statements: [ManifestVersion(1): .of([1])])
    let read = try MirrorIndex(parsing: index.document)
    #expect(read.channels[0].trust == index.channels[0].trust && read.document == index.document)
  }
}
