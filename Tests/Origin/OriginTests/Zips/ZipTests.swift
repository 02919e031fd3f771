import Archive
import Glibc
import Manifests
import Synchronization
import System
import Testing
import Values

@testable import Origin
@testable import Store

@Suite struct ZipTests {
  private static let files = [
    "index.html": "<title>shop</title>", "a/app.js": String(repeating: "let a = 1;\n", count: 900),
    "a/%C3%BC.css": "a{}", "empty.txt": "",
  ]

  private static func published() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(files)
    try origin.publish(["index.html": "<title>new</title>", "b.js": "b"], remove: ["empty.txt"])
    return origin
  }

  /// The contents of a zip, by name.
  private static func contents(_ reply: TestOrigin.Reply) throws -> [String: [UInt8]] {
    let archive = try Archive(ArchiveBytes(reply.body))
    var contents: [String: [UInt8]] = [:]
    for entry in archive.entries { contents[entry.name] = try archive.bytes(of: entry, limit: 1 << 20) }
    #expect(
      archive.entries.map(\.name) == contents.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    return contents
  }

  @Test func wholeZipIsTheManifestAndItsFiles() throws {
    let origin = try Self.published()
    let reply = try origin.ask("GET", "/xcache/shop/bundle/2.zip")
    #expect(reply.status == 200)
    #expect(reply.field("Content-Type") == "application/zip")
    #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
    let contents = try Self.contents(reply)
    #expect(contents["manifest.json"] == (try origin.ask("GET", "/configure.json").body))
    #expect(contents.count == 5)
    #expect(contents["files/https%3A%2F%2Fm.example.com%2Fb.js"] == Array("b".utf8))
    #expect(contents["files/https%3A%2F%2Fm.example.com%2Fa%2F%25C3%25BC.css"] == Array("a{}".utf8))
    let old = try Self.contents(try origin.ask("GET", "/xcache/shop/bundle/1.zip"))
    #expect(old.count == 5)
    #expect(old["files/https%3A%2F%2Fm.example.com%2Findex.html"] == Array("<title>shop</title>".utf8))
  }

  @Test func updateZipIsThePatchAndNewFiles() throws {
    let origin = try Self.published()
    let contents = try Self.contents(try origin.ask("GET", "/hxm/xcache/shop/bundle/1-2.zip"))
    #expect(
      Set(contents.keys) == [
        "patch.json", "files/https%3A%2F%2Fm.example.com%2Fb.js",
        "files/https%3A%2F%2Fm.example.com%2Findex.html",
      ])
    let document = try JSONValue.parse(contents["patch.json"] ?? [])
    #expect(document["data"]?["base"]?.string == "1")
    #expect(document["data"]?["version"]?.string == "2")
    let patch = try #require(document["data"]?["patch"]?.object)
    #expect(patch["https://m.example.com/empty.txt"]?.isNull == true)
    #expect(patch.members.count == 3)
    let poll = try origin.ask("GET", "/configure.json?version=1&patch=1").json
    #expect(document["data"]?["digest"]?.string == poll["data"]?["digest"]?.string)
  }

  static let missing: [(String, String)] = [
    ("3.zip", "no version 3 of shop"), ("1-3.zip", "no version 3 of shop"),
    ("0.zip", "bundles are named"), ("01.zip", "bundles are named"), ("2-1.zip", "bundles are named"),
    ("2-2.zip", "bundles are named"), ("0-1.zip", "bundles are named"), ("1.zip/", "bundles are named"),
    ("1", "bundles are named"), ("1-2-3.zip", "bundles are named"), (".zip", "bundles are named"),
    ("-1.zip", "bundles are named"), ("99999999999999999999.zip", "bundles are named"),
    ("", "bundles are named"), ("2.delta.zip", "bundles are named"), ("1-2.DELTA.zip", "bundles are named"),
    ("1-3.delta.zip", "no version 3 of shop"),
  ]

  @Test(arguments: missing) func unknownZips(_ name: String, _ message: String) throws {
    let origin = try Self.published()
    let reply = try origin.ask("GET", "/xcache/shop/bundle/\(name)")
    #expect(reply.status == 404)
    #expect(reply.json["message"]?.string?.hasPrefix(message) == true)
  }

  /// Two origins with two data folders make the same bytes: the app's id, URLs and contents are the same.
  @Test func equalBytesFromTwoDataFolders() throws {
    let first = try Self.published().ask("GET", "/xcache/shop/bundle/2.zip")
    let second = try Self.published().ask("GET", "/xcache/shop/bundle/2.zip")
    #expect(first.body == second.body)
    #expect(first.field("ETag") == second.field("ETag"))
  }

  @Test func equalBytesWhenMadeAgain() throws {
    let origin = try Self.published()
    let first = try origin.ask("GET", "/xcache/shop/bundle/2.zip")
    #expect(system("rm -r '\(origin.folder)/derived/zips'") == 0)
    #expect(try origin.ask("GET", "/xcache/shop/bundle/2.zip").body == first.body)
  }

  @Test func conditionsAndRanges() throws {
    let origin = try Self.published()
    let whole = try origin.ask("GET", "/xcache/shop/bundle/2.zip")
    let tag = try #require(whole.field("ETag"))
    #expect(try origin.ask("GET", "/xcache/shop/bundle/2.zip", ["If-None-Match: \(tag)"]).status == 304)
    let part = try origin.ask("GET", "/xcache/shop/bundle/2.zip", ["Range: bytes=2-9", "If-Range: \(tag)"])
    #expect(part.status == 206)
    #expect(part.body == Array(whole.body[2..<10]))
    #expect(try origin.ask("POST", "/xcache/shop/bundle/2.zip").status == 405)
  }

  @Test(arguments: [false, true]) func updateWaitsForItsDeltas(isLean: Bool) throws {
    let origin = try Self.published()
    let (store, folder) = (origin.store, origin.folder)
    let isDone = Atomic(false)
    let delta = folder + "/tmp/a.dcz"
    try DurableFile.write(Array("delta".utf8), to: delta)
    let offer = DeltaOffer(
      url: try ResourceURL("https://m.example.com/index.html"), base: SHA256.of([1]),
      download: "https://cdn.example.com/delta", size: 5)
    let service = try ZipService(
      store: store,
      .init(deltas: { _, _, _ in
        isDone.load(ordering: .relaxed) ? .done([ZipDelta(offer, path: delta)]) : .pending
      }) { _ in [ManifestVersion(1)] })
    let channel = try store.channel(try AppName("shop"), .online)
    let (from, to) = (ManifestVersion(1), ManifestVersion(2))
    let zip = isLean ? BundleZip.deltas(from: from, to: to) : .update(from: from, to: to)
    switch try service.zip(zip, of: channel) {
    case .notYet: break
    default: Issue.record("the deltas aren't done")
    }
    isDone.store(true, ordering: .relaxed)
    guard case .ready(let stored) = try service.zip(zip, of: channel) else {
      Issue.record("the zip is there")
      return
    }
    let size = stored.size
    let archive = try Archive(ArchiveFile(stored.takeFile(), size: size))
    let entry = try #require(archive["deltas/https%3A%2F%2Fm.example.com%2Findex.html.dcz"])
    #expect(entry.method == .stored)
    #expect(try archive.bytes(of: entry, limit: 5) == Array("delta".utf8))
    // The zip of deltas has no whole file for one with a delta.
    #expect((archive["files/https%3A%2F%2Fm.example.com%2Findex.html"] == nil) == isLean)
    #expect(archive["files/https%3A%2F%2Fm.example.com%2Fb.js"] != nil)
    let patch = try archive.bytes(of: try #require(archive["patch.json"]), limit: 1 << 20)
    #expect(
      try JSONValue.parse(patch)["data"]?["deltas"]?["https://m.example.com/index.html"]?["size"]?.integer
        == 5)
  }

  @Test func pendingZipHasRetryAfter() throws {
    let origin = try TestOrigin { $0.zipDeltas = { _, _, _ in .pending } }
    try origin.publish(["a": "1"])
    try origin.publish(["a": "2"])
    let reply = try origin.ask("GET", "/xcache/shop/bundle/1-2.zip")
    #expect(reply.status == 404)
    #expect(reply.field("Retry-After") == "5")
  }

  @Test func damagedBlobPreventsAZip() throws {
    let origin = try Self.published()
    let blob = origin.store.folder.blob(SHA256.of(Array("b".utf8)))
    try Kernel.remove(blob)
    let reply = try origin.ask("GET", "/xcache/shop/bundle/2.zip")
    #expect(reply.status == 500)
    let names = try Folder.textNames(origin.folder + "/derived/zips/1")
    #expect(names.isEmpty)
    #expect(try origin.ask("GET", "/xcache/shop/bundle/1.zip").status == 200)
  }

  @Test func unusedWholeZipsMakeRoom() throws {
    let origin = try TestOrigin { $0.zipQuota = .bytes(1700) }
    for version in 1...3 { try origin.publish(["a": "\(version)", "b": "b"]) }
    for version in 1...3 {
      #expect(try origin.ask("GET", "/xcache/shop/bundle/\(version).zip").status == 200)
      Clock.sleep(for: .milliseconds(5))
    }
    let names = try Folder.textNames(origin.folder + "/derived/zips/1")
    #expect(names.contains { $0.hasPrefix("3.") })
    #expect(!names.contains { $0.hasPrefix("1.") })
    #expect(try origin.ask("GET", "/xcache/shop/bundle/1.zip").status == 200)
  }

  @Test func concurrentRequestsMakeOne() throws {
    let origin = try Self.published()
    let channel = try origin.store.channel(try AppName("shop"), .online)
    let service = try ZipService(store: origin.store, .init(deltas: { _, _, _ in .done([]) }) { _ in [] })
    let threads = try (0..<8).map { index in
      try OSThread(name: "ask-\(index)") {
        for _ in 0..<20 { _ = try? service.zip(.whole(ManifestVersion(2)), of: channel) }
      }
    }
    for thread in threads { thread.join() }
    #expect(try Folder.textNames(origin.folder + "/derived/zips/1").count == 1)
  }

  /// Regression: each request read two manifests before it found that it couldn't wait, which delayed small files by a second.
  @Test func requestsThatCannotWaitReadNothing() throws {
    let origin = try Self.published()
    let channel = try origin.store.channel(try AppName("shop"), .online)
    let deltaQueries = Atomic(0)
    let mayGoOn = Monitor(false)
    let service = try ZipService(
      store: origin.store,
      .init(deltas: { _, _, _ in
        deltaQueries.add(1, ordering: .relaxed)
        mayGoOn.waiting { $0 ? () : nil }
        return .done([])
      }) { _ in [ManifestVersion(1)] })
    let zip = BundleZip.update(from: ManifestVersion(1), to: ManifestVersion(2))
    let ready = Atomic(0)
    let threads = try (0..<2).map { index in
      try OSThread(name: "ask-\(index)") {
        for _ in 0..<100 {
          guard case .ready = try? service.zip(zip, of: channel) else { continue }
          ready.add(1, ordering: .relaxed)
          break
        }
      }
    }
    // Both are waiting now.
    while deltaQueries.load(ordering: .relaxed) == 0 { Clock.sleep(for: .milliseconds(1)) }
    Clock.sleep(for: .milliseconds(50))
    var others = 0
    while others < 20 {
      switch try service.zip(zip, of: channel) {
      case .notYet: others += 1
      default: Issue.record("nothing is made before the deltas are known")
      }
    }
    #expect(deltaQueries.load(ordering: .relaxed) <= 1)
    mayGoOn.broadcasting { $0 = true }
    for thread in threads { thread.join() }
    #expect(ready.load(ordering: .relaxed) == 2)
    #expect(deltaQueries.load(ordering: .relaxed) == 1)
  }

  // MARK: - Public zips, and the quota

  private static func names(_ origin: TestOrigin) throws -> [String] {
    try Folder.textNames(origin.folder + "/derived/zips/1").map { String($0.prefix { $0 != "." }) }.sorted()
  }

  /// Ten versions of one bundle; zips of the last six are public.
  private static func ten(_ change: (inout Origin.Options) -> Void = { _ in }) throws -> TestOrigin {
    let origin = try TestOrigin(change)
    for version in 1...10 { try origin.publish(["a": "\(version)", "b": "b"]) }
    return origin
  }

  @Test(arguments: [("3.zip", 404), ("3-10.zip", 404), ("5-9.zip", 404), ("9.zip", 200), ("5-10.zip", 200)])
  func publicZipsAreOfRecentVersions(_ name: String, _ status: Int) throws {
    let origin = try Self.ten()
    let reply = try origin.ask("GET", "/xcache/shop/bundle/\(name)")
    #expect(reply.status == status)
    if status == 404 {
      #expect(
        reply.json["message"]?.string?.contains("isn't made") == true && reply.field("Retry-After") == nil)
    }
  }

  /// Mirrors keep more versions than that.
  @Test func tokenGetsZipsOfAllKeptVersions() throws {
    let origin = try Self.ten()
    let fields = ["Authorization: Bearer \(origin.token)"]
    for name in ["3.zip", "3-10.zip"] {
      #expect(try origin.ask("GET", "/xcache/shop/bundle/\(name)", fields).status == 200)
      // Existing zips are public.
      #expect(try origin.ask("GET", "/xcache/shop/bundle/\(name)").status == 200)
    }
    #expect(try origin.ask("GET", "/xcache/shop/bundle/3-9.zip", fields).status == 404)
    #expect(try origin.ask("GET", "/xcache/shop/bundle/2.zip", ["Authorization: Bearer x"]).status == 404)
  }

  /// The whole zip of the newest version is kept even with a quota of 0; others aren't.
  @Test func newestIsKeptWithoutAQuota() throws {
    let origin = try Self.ten { $0.zipQuota = .bytes(0) }
    #expect(try origin.ask("GET", "/xcache/shop/bundle/10.zip").status == 200)
    for name in ["9-10.zip", "8-10.zip", "9.zip"] {
      #expect(try origin.ask("GET", "/xcache/shop/bundle/\(name)").status == 404)
    }
    #expect(try Self.names(origin) == ["10"])
    try origin.publish(["a": "11", "b": "b"])
    #expect(try origin.ask("GET", "/xcache/shop/bundle/11.zip").status == 200)
    #expect(try Self.names(origin) == ["11"])
  }

  /// There is one update to the newest version per base: the most recently requested ones are kept.
  @Test func updatesToTheNewestStayWithinTheQuota() throws {
    let room: Int64 = 2_000
    let origin = try Self.ten { $0.zipQuota = .bytes(room) }
    let folder = origin.folder + "/derived/zips/1"
    for base in 5...9 {
      #expect(try origin.ask("GET", "/xcache/shop/bundle/\(base)-10.zip").status == 200)
      let files = try Folder.textNames(folder)
      let sizes = try files.map { try Kernel.status("\(folder)/\($0)")?.size ?? 0 }
      #expect(sizes.reduce(0, +) <= room && sizes.contains { $0 > 0 })
      Clock.sleep(for: .milliseconds(5))
    }
    // Removed ones are recorded by an empty file, and never made again.
    let dropped = try Folder.textNames(folder).filter { $0.hasSuffix(".dropped.zip") }
    #expect(dropped.contains { $0.hasPrefix("5-10.") } && dropped.count < 5)
    #expect(try origin.ask("GET", "/xcache/shop/bundle/5-10.zip").status == 404)
    #expect(try origin.ask("GET", "/xcache/shop/bundle/9-10.zip").status == 200)
    // They are the first to be removed for the whole zip.
    #expect(try origin.ask("GET", "/xcache/shop/bundle/10.zip").status == 200)
    try origin.publish(["a": "11", "b": String(repeating: "b", count: 10_000)])
    #expect(try origin.ask("GET", "/xcache/shop/bundle/11.zip").status == 200)
    #expect(try Self.names(origin) == ["11"] + (5...9).map { "\($0)-10" })
  }

  /// The name of a stored zip has everything that gc and the quota need.
  @Test(arguments: [("9.zip", false), ("8-9.zip", true), ("8-9.delta.zip", true)])
  func fileNames(_ name: String, _ isUpdate: Bool) throws {
    let zip = try #require(BundleZip(fileName: name))
    #expect(zip.fileName == name && zip.version.number == 9)
    let file = try #require(ZipFile("/data/derived/zips/3/\(name.dropLast(4)).0123456789abcdef.tag.zip"))
    #expect(file.channel == 3 && file.version.number == 9 && file.isUpdate == isUpdate && !file.isDropped)
    let dropped = try #require(ZipFile(file.droppedPath))
    #expect(dropped.isDropped && dropped.droppedPath == file.droppedPath && dropped.isUpdate == isUpdate)
    #expect(file.droppedPath == "/data/derived/zips/3/\(name.dropLast(4)).0123456789abcdef.dropped.zip")
  }

  /// Its bytes could differ, as new deltas may exist.
  @Test(arguments: ["9-10.zip", "9-10.delta.zip"])
  func removedUpdateIsNeverMadeAgain(_ name: String) throws {
    let origin = try Self.ten()
    #expect(try origin.ask("GET", "/xcache/shop/bundle/\(name)").status == 200)
    let channel = try origin.store.channel(try AppName("shop"), .online)
    let zip = try #require(BundleZip(fileName: name))
    let folder = origin.folder + "/derived/zips/1"
    try DurableFile.write([], to: "\(folder)/\(try origin.store.zipKey(zip, of: channel)).dropped.zip")
    for name in try Folder.textNames(folder) where !name.hasSuffix(".dropped.zip") {
      try Kernel.remove("\(folder)/\(name)")
    }
    let reply = try origin.ask(
      "GET", "/xcache/shop/bundle/\(name)", ["Authorization: Bearer \(origin.token)"])
    #expect(
      reply.status == 404 && reply.json["message"]?.string?.contains("was removed to make room") == true)
  }

  @Test func diskReserveIsKept() throws {
    let origin = try Self.ten()
    let channel = try origin.store.channel(try AppName("shop"), .online)
    var options = ZipService.Options(deltas: { _, _, _ in .done([]) }) { _ in [ManifestVersion(9)] }
    options.disk = { (_) throws(SystemError) in DiskSpace(size: 1_000_000, available: 50_001) }
    let service = try ZipService(store: origin.store, options)
    guard case .noSpace(isNewest: true) = try service.zip(.whole(ManifestVersion(10)), of: channel) else {
      Issue.record("a twentieth of the disk is not for zips")
      return
    }
    options.disk = { (_) throws(SystemError) in DiskSpace(size: 1_000_000, available: 60_000) }
    let other = try ZipService(store: origin.store, options)
    guard case .ready = try other.zip(.whole(ManifestVersion(10)), of: channel) else {
      Issue.record("there is enough for it")
      return
    }
  }
}
