import Manifests
import Store
import System
import Testing
import Values

@testable import Mirror

@Suite("Restoring an origin from a mirror")
struct RestoreTests {
  private func restore(_ bench: Bench, _ reader: any MirrorReader) throws -> Store {
    let store = try Store(path: bench.folder + "/new-\(Clock.monotonicNanoseconds())")
    _ = try Restoration(from: reader).restore(into: store)
    return store
  }

  @Test("Manifests, bundles and bytes are restored, and version numbers continue a thousand higher")
  func all() throws {
    let bench = try Bench()
    try bench.release("help", ["help.html": "<p>help"])
    try bench.release("main", ["index.html": "<p>four"])
    try bench.mirror()
    let server = bench.serve()
    for reader in [FolderReader(bench.www), WebReader(try BaseURL(server.url))] as [any MirrorReader] {
      let store = try restore(bench, reader)
      let (old, new) = try (bench.shop(bench.store), bench.shop(store))
      #expect(new.version == ManifestVersion(5) && new.digest == old.digest && new.appID == old.appID)
      for version in 1...5 {
        #expect(
          try store.digestByQuery(new, at: ManifestVersion(Int64(version)))
            == bench.store.digest(
              old, at: ManifestVersion(Int64(version))))
      }
      #expect(
        try store.bundles(of: new).map { "\($0.name) \($0.version) \($0.resources) \($0.bytes)" }
          == bench.store.bundles(of: old).map { "\($0.name) \($0.version) \($0.resources) \($0.bytes)" })
      #expect(
        try store.mirrorDocument(.whole(new.version), of: new)
          == bench.store.mirrorDocument(
            .whole(old.version), of: old))
      #expect(store.madeAdminToken)
    }
  }

  @Test("Devices learn from the copy that no error samples are wanted, and a restored origin wants none")
  func samples() throws {
    let bench = try Bench()
    var change = SettingsChange()
    change.samples = false
    _ = try bench.store.set(change, of: AppName("shop"), .online)
    try bench.mirror()
    for name in ["version.json", "configure.json"] {
      let bytes = try DurableFile.read("\(bench.www)/xcache/shop/\(name)") ?? []
      #expect(try ConfigureAnswer.parse(bytes).extras.samples == 0, "\(name)")
    }
    #expect(try bench.verify().isEmpty)
    let store = try restore(bench, FolderReader(bench.www))
    #expect(try !store.extras(of: bench.shop(store)).takesSamples)
    change.samples = true
    _ = try bench.store.set(change, of: AppName("shop"), .online)
    #expect(try bench.mirror().written > 0)
    let bytes = try DurableFile.read("\(bench.www)/xcache/shop/version.json") ?? []
    #expect(try ConfigureAnswer.parse(bytes).extras.samples == nil)
    let again = try restore(bench, FolderReader(bench.www))
    #expect(try again.extras(of: bench.shop(again)).takesSamples)
  }

  @Test("Headers are restored, and an unknown member of a later xcache is reported")
  func members() throws {
    let bench = try Bench(versions: 2)
    try bench.mirror()
    let name = "xcache/shop/configure/1.json"
    /// The same copy with an additional member in the first entry of version 1.
    func write(_ key: String, _ value: JSONValue) throws {
      var document = try #require(JSONValue.parse(DurableFile.read("\(bench.www)/\(name)") ?? []).object)
      var data = try #require(document["data"]?.object)
      var map = try #require(data["resourcemap"]?.object)
      let url = try #require(map.members.first?.key)
      var entry = try #require(map[url]?.object)
      entry[key] = value
      map[url] = .object(entry)
      data["resourcemap"] = .object(map)
      data["digest"] = .string(SHA256.of(JSONValue.object(map).canonical).hex)
      document["data"] = .object(data)
      let bytes = JSONValue.object(document).canonical
      try DurableFile.write(bytes, to: "\(bench.www)/\(name)")
      let old = try bench.index
      let channels = old.channels.map { channel in
        MirrorIndex.Channel(
          app: channel.app, appID: channel.appID, channel: channel.channel, publicURL: channel.publicURL,
          version: channel.version, digest: channel.digest, versions: channel.versions,
          inputs: channel.inputs,
          files: channel.files.map { file in
            file.path == name
              ? (name, MirrorIndex.File(sha256: .of(bytes), size: Int64(bytes.count)))
              : (file.path, file.file)
          })
      }
      let index = MirrorIndex(
        origin: old.origin, defaultApp: nil, at: old.at, channels: channels, leaving: [:])
      try DurableFile.write(index.document, to: bench.www + "/mirror.json")
    }
    try write("headers", ["X-Frame-Options": "DENY"])
    let store = try restore(bench, FolderReader(bench.www))
    let first = try store.manifest(bench.shop(store), at: ManifestVersion(1)).first?.entry
    #expect(first?.headers.json == ["X-Frame-Options": "DENY"])
    for (key, value) in [("later", 1), ("headers", ["X-Frame-Options": "DENY", "X-Later": "1"])]
      as [(String, JSONValue)]
    {
      try write(key, value)
      let other = try Store(path: bench.folder + "/other-\(key)")
      let report = try Restoration(from: FolderReader(bench.www)).restore(into: other)
      #expect(report.damaged.map(\.version) == [ManifestVersion(1)], "\(key)")
    }
  }

  @Test("Fallbacks are restored with their resource versions") func fallbacks() throws {
    let bench = try Bench(versions: 1)
    let fallbacks = try ["/", "/app/"].map { try PageFallbacks([.init(prefix: $0, except: ["/api/*"])]) }
    for each in [fallbacks[0], fallbacks[1], PageFallbacks(), fallbacks[0]] {
      try bench.release("pages", ["p.html": "page"], fallbacks: each)
    }
    try bench.mirror()
    let store = try restore(bench, FolderReader(bench.www))
    let (old, new) = try (bench.shop(bench.store), bench.shop(store))
    #expect(
      try store.manifest(new, at: new.version).map(\.entry)
        == bench.store.manifest(old, at: old.version).map(\.entry))
    func page() throws -> Entry? {
      let shop = try bench.shop(store)
      return try store.manifest(shop, at: shop.version).first { $0.url.text.hasSuffix("p.html") }?.entry
    }
    #expect(try page()?.fallbacks == fallbacks[0] && page()?.version == 1)
    // Those of an older version come back under their number.
    try bench.release("pages", ["p.html": "page"], into: store, fallbacks: fallbacks[1])
    #expect(try page()?.fallbacks == fallbacks[1] && page()?.version == 2)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test("Lazy files are restored with their resource versions") func lazyFiles() throws {
    let bench = try Bench(versions: 1)
    for isLazy in [true, false, true] {
      try bench.release("charts", ["a.css": "chart"], isLazy: isLazy)
    }
    try bench.mirror()
    #expect(try bench.verify().isEmpty)
    let store = try restore(bench, FolderReader(bench.www))
    let (old, new) = try (bench.shop(bench.store), bench.shop(store))
    #expect(
      try store.manifest(new, at: new.version).map(\.entry)
        == bench.store.manifest(old, at: old.version).map(\.entry))
    func chart() throws -> Entry? {
      let shop = try bench.shop(store)
      return try store.manifest(shop, at: shop.version).first { $0.url.text.hasSuffix("a.css") }?.entry
    }
    #expect(try chart()?.isLazy == true && chart()?.version == 1)
    try bench.release("charts", ["a.css": "chart"], into: store)
    #expect(try chart()?.isLazy == false && chart()?.version == 2)
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }

  @Test("Bytes purged by the origin are refused by the restored one, too") func purged() throws {
    let bench = try Bench(versions: 2)
    let sha256 = SHA256.of(Array("a secret".utf8))
    try bench.release("main", ["key.txt": "a secret"])
    try bench.mirror()
    try bench.release("main", ["key.txt": "nothing", "index.html": "<p>three"])
    let actor = Actor(name: "lead", address: "")
    try bench.store.forbid(sha256, reason: "a key of ours", by: actor)
    _ = try bench.store.erase(bench.store.purgePlan(sha256), reason: "a key of ours", by: actor)
    try bench.mirror()
    #expect(try bench.index.purged == [sha256])
    let store = try restore(bench, FolderReader(bench.www))
    #expect(try store.purges().map(\.sha256) == [sha256])
    // Reasons may be confidential.
    #expect(try store.purges().allSatisfy { !$0.reason.contains("a key of ours") })
    #expect { _ = try store.missing(of: [sha256]) } throws: {
      if case StoreError.purged = $0 { true } else { false }
    }
    // Also if the copy still has the bytes.
    var index = try bench.index
    let page = SHA256.of(Array("<p>three".utf8))
    index.purged?.append(page)
    try DurableFile.write(index.document, to: bench.www + "/mirror.json")
    let second = try Store(path: bench.folder + "/second")
    let report = try Restoration(from: FolderReader(bench.www)).restore(into: second)
    #expect(report.lost.map(\.sha256) == [page])
    #expect(try Kernel.status(second.folder.blob(page)) == nil)
  }

  @Test("Publishing the same folder changes nothing, and a changed bundle replaces only itself")
  func shouldContinue() throws {
    let bench = try Bench()
    try bench.release("help", ["help.html": "<p>help"])
    try bench.mirror { $0.keep = 1 }
    let store = try restore(bench, FolderReader(bench.www))
    #expect(try !bench.release("help", ["help.html": "<p>help"], into: store).changed)
    let changed = try bench.release("help", ["help.html": "<p>more help"], into: store)
    #expect(changed.version == ManifestVersion(1004))
    let items = try store.manifest(bench.shop(store), at: changed.version)
    #expect(items.count == 4)
    let help = try #require(items.first { $0.url.text.hasSuffix("help.html") })
    #expect(help.entry.version == 2)
    // The history of removed URLs is restored, too: app.0.js had its first version before.
    let back = try bench.release("main", ["app.0.js": "run(zero)"], into: store)
    let entry = try store.manifest(bench.shop(store), at: back.version).first {
      $0.url.text.hasSuffix("app.0.js")
    }
    #expect(entry?.entry.version == 2)
  }

  @Test(
    "Document numbers leave the same gap, also where the mirror has no document; a second restore continues from the first"
  )
  func documents() throws {
    let bench = try Bench()
    func push(_ document: ChannelDocument, _ text: String, into store: Store) throws -> Int64? {
      let request = DocumentRequest(
        app: try AppName("shop"), channel: .online, document: document,
        kind: document == .policy ? .kill : .push, author: "ci", message: "")
      guard case .changed(let record, _, _) = try store.change(request, change: { _, _ in Array(text.utf8) })
      else {
        return nil
      }
      return record.version
    }
    #expect(try push(.prefetch, "[1]", into: bench.store) == 1)
    try bench.mirror()
    let store = try restore(bench, FolderReader(bench.www))
    #expect(try store.extras(of: bench.shop(store)).prefetch?.version == 1)
    // The restored origin is mirrored, has a release, and is lost before its next document.
    try bench.release("main", ["index.html": "<p>restored"], into: store)
    let www = bench.folder + "/www2"
    _ = try MirrorRun(from: DataSource(store: store), to: .folder(www), MirrorOptions()).run()
    let again = try restore(bench, FolderReader(www))
    #expect(try push(.prefetch, "[2]", into: store) == 1001)
    #expect(try push(.policy, "{}", into: store) == 1000)
    #expect(try push(.prefetch, "[2]", into: again) == 2000)
    #expect(try push(.policy, "{}", into: again) == 1999)
  }

  @Test(
    "A copy names the newest rollback, even if that release isn't kept, and so does the restored origin"
  )
  func rollback() throws {
    let bench = try Bench(versions: 2)
    try bench.mirror()
    func rollbackMember(_ name: String) throws -> JSONValue {
      let bytes = try DurableFile.read("\(bench.www)/xcache/shop/\(name)") ?? []
      return try JSONValue.parse(bytes)["data"]?["rollback"] ?? .null
    }
    let names = ["configure.json", "version.json", "patch/1-2.json"]
    for name in names { #expect(try rollbackMember(name).isNull, "\(name)") }
    let back = RollbackInput(
      app: try AppName("shop"), channel: .online, to: .version(.number(ManifestVersion(1))), by: .local)
    _ = try bench.store.rollback(back)
    try bench.mirror()
    for name in ["configure.json", "version.json", "patch/1-3.json", "patch/2-3.json"] {
      #expect(try rollbackMember(name) == "3", "\(name)")
    }
    #expect(try rollbackMember("configure/3.json").isNull, "a version's own document never changes")
    try bench.release("main", ["index.html": "<p>later"])
    try bench.mirror { $0.keep = 0 }
    #expect(try rollbackMember("configure.json") == "3" && rollbackMember("version.json") == "3")
    #expect(try Verification(FolderReader(bench.www)).run().divergences.isEmpty)
    let store = try restore(bench, FolderReader(bench.www))
    #expect(try store.answerExtras(of: bench.shop(store)).rollback == ManifestVersion(3))
    let next = try bench.release("main", ["index.html": "<p>restored"], into: store)
    #expect(try next.version == ManifestVersion(1004) && bench.shop(store).rollback == ManifestVersion(3))
  }

  @Test("If a file is damaged or missing in the mirror, only that file is lost", arguments: [true, false])
  func damage(isGone: Bool) throws {
    let bench = try Bench()
    try bench.mirror()
    let path = try bench.path("same.css")
    if isGone { try Kernel.remove(path) } else { try VerifyTests.change(path) { $0[0] ^= 1 } }
    let store = try Store(path: bench.folder + "/new")
    let report = try Restoration(from: FolderReader(bench.www)).restore(into: store)
    #expect(report.lost.map(\.url).allSatisfy { $0.hasSuffix("same.css") } && !report.lost.isEmpty)
    let (old, new) = try (bench.shop(bench.store), bench.shop(store))
    #expect(new.digest == old.digest)
    #expect(try store.damagedBlobs() == Array(Set(report.lost.map(\.sha256))))
    #expect(try store.missing(of: store.damagedBlobs()) == store.damagedBlobs())
  }

  @Test("A damaged document restores nothing, and a folder with an origin is left unchanged")
  func refusals() throws {
    let bench = try Bench()
    try bench.mirror()
    try DurableFile.write([1], to: "\(bench.www)/xcache/shop/configure/3.json")
    let store = try Store(path: bench.folder + "/new")
    #expect(throws: MirrorError.self) { try Restoration(from: FolderReader(bench.www)).restore(into: store) }
    #expect(try store.channels().isEmpty)
    #expect(throws: MirrorError.self) {
      try Restoration(from: FolderReader(bench.www)).restore(into: bench.store)
    }
  }
}
