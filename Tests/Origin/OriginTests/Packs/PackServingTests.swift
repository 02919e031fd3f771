import Compression
import Glibc
import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Packs from their release to their decoding by a device.
@Suite struct PackServingTests {
  static let old = (0..<3000).map { "let a\($0) = \($0 &* 7919);\n" }.joined() + "import './app.0aBcDeF9.js'"
  static let new = "/* 2 */" + old.replacing("0aBcDeF9", with: "9ZyXwVu1") + "let z = 1;\n"
  static let poll = "/configure.json?app=shop&version=1&patch=1&pack=1"

  /// An origin whose second version renamed its script and changed a small part of it.
  static func published(_ change: (inout Origin.Options) -> Void = { _ in }) throws -> TestOrigin {
    let origin = try TestOrigin(change)
    try origin.publish(["js/app.0aBcDeF9.js": old, "index.html": "<title>shop</title>", "a.css": "a{}"])
    let reply = try origin.publish(
      ["js/app.9ZyXwVu1.js": new, "new.txt": "hello", "b.css": "a{}"], remove: ["js/app.0aBcDeF9.js"])
    #expect(reply.json["deltasStored"]?.bool == true)
    return origin
  }

  static func path(_ url: String?) throws -> String {
    String(try #require(url).dropFirst("https://cdn.example.com".count))
  }

  /// The pack that a poll names.
  static func pack(_ origin: TestOrigin, _ poll: String = poll) throws -> (path: String, size: Int64)? {
    guard let pack = try origin.ask("GET", poll).json["data"]?["pack"] else { return nil }
    return (try path(pack["download"]?.string), try #require(pack["size"]?.integer))
  }

  /// Whether a device at `base` gets a pack.
  static func names(_ origin: TestOrigin, from base: Int) throws -> Bool {
    try pack(origin, "/configure.json?app=shop&version=\(base)&patch=1&pack=1") != nil
  }

  /// Whether a condition becomes true within 20 seconds.
  static func becomesTrue(_ condition: () throws -> Bool) throws -> Bool {
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while try !condition() {
      if Clock.monotonicNanoseconds() > end { return false }
      Clock.sleep(for: .milliseconds(10))
    }
    return true
  }

  @Test func releaseIsVisibleWithItsPack() throws {
    let origin = try Self.published()
    let answer = try origin.ask("GET", Self.poll)
    let data = try #require(answer.json["data"]?.object)
    #expect(data.members.map(\.key) == ["base", "digest", "pack", "update", "version"])
    #expect(answer.body.count < 400)
    let (path, size) = try #require(try Self.pack(origin))
    for path in [path, String(path.dropFirst("/hxm".utf8.count))] {
      for _ in 0..<2 {
        let reply = try origin.ask("GET", path, ["Accept-Encoding: gzip, zstd"])
        #expect(reply.status == 200 && Int64(reply.body.count) == size)
        #expect(
          reply.field("Content-Encoding") == nil && reply.field("Content-Type") == "application/octet-stream")
        #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
        #expect(reply.field("Access-Control-Allow-Origin") == "*")
        let sha256 = SHA256.of(reply.body).hex
        #expect(
          reply.field("ETag") == "\"\(sha256.prefix(32))\"" && path.hasSuffix("-\(sha256.prefix(16)).xpk"))
        #expect(reply.body.count < 800)
        let tag = reply.field("ETag") ?? ""
        #expect(try origin.ask("GET", path, ["If-None-Match: \(tag)"]).status == 304)
        let rest = try origin.ask("GET", path, ["Range: bytes=10-", "If-Range: \(tag)"])
        #expect(rest.status == 206 && rest.body == Array(reply.body.dropFirst(10)))
        let other = try origin.ask("GET", path, ["Range: bytes=10-", "If-Range: \"other\""])
        #expect(other.status == 200 && other.body == reply.body)
        #expect(try origin.ask("HEAD", path).field("Content-Length") == "\(size)")
      }
    }
    let device = try DecodedPack(try origin.ask("GET", path).body, of: origin, base: 1)
    #expect(device.manifest == (try origin.manifest(2)))
    #expect(device.manifest.map.digest.hex == data["digest"]?.string)
    let isSame = device.files[SHA256.of(Array(Self.new.utf8))] == Array(Self.new.utf8)
    #expect(isSame && device.files.count == 2)
  }

  /// Devices without support for packs, and those without a base, get what they got before packs existed.
  @Test func otherDevicesGetThePatch() throws {
    let origin = try Self.published()
    for query in ["version=1&patch=1", "version=1&patch=1&pack=0", "version=1&patch=1&pack="] {
      let data = try origin.ask("GET", "/configure.json?app=shop&\(query)").json["data"]
      #expect(data?["patch"] != nil && data?["deltas"] != nil && data?["pack"] == nil, "\(query)")
    }
    for query in ["version=1&pack=1", "pack=1&patch=1", "\(Self.digestOfNone)&patch=1&pack=1&version=1"] {
      let data = try origin.ask("GET", "/configure.json?app=shop&\(query)").json["data"]
      #expect(data?["resourcemap"] != nil && data?["pack"] == nil, "\(query)")
    }
    let newest = try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1&pack=1").json["data"]
    #expect(newest?["update"]?.bool == false)
  }

  private static let digestOfNone = "digest=" + String(repeating: "0", count: 64)

  @Test func unknownPacksAreNotFound() throws {
    let origin = try Self.published()
    let (path, _) = try #require(try Self.pack(origin))
    #expect(try origin.ask("GET", path).status == 200)
    let wrong = [
      path.replacing("/shop/", with: "/mall/"), path.replacing("/xcache/", with: "/xcache_test/"),
      path.replacing("1-2-", with: "1-3-"),
      String(path.dropLast(5)) + (path.hasSuffix("0.xpk") ? "1.xpk" : "0.xpk"),
      path + "/", path + ".xpk", "/xcache/shop/pack/", "/xcache/shop/pack",
      "/xcache/shop/pack/..%2f..%2fxcache.db",
    ]
    for path in wrong {
      let reply = try origin.ask("GET", path)
      #expect(reply.status == 404, "\(path)")
      if path.contains("/pack/") { #expect(reply.field("Cache-Control") == "no-store", "\(path)") }
    }
    #expect(try origin.ask("POST", path).status == 405)
  }

  /// The channel's settings are in the pack's answer, too, and change with it.
  @Test func packAnswerHasTheChannelsSettings() throws {
    let origin = try Self.published()
    let before = try origin.ask("GET", Self.poll)
    let reply = try origin.api("POST", "apps/shop/channels/online/settings", ["interval": 60])
    #expect(reply.status == 200, "\(reply.text)")
    let after = try origin.ask("GET", Self.poll)
    #expect(after.json["data"]?["interval"]?.integer == 60)
    #expect(after.json["data"]?["pack"] == before.json["data"]?["pack"])
    #expect(after.field("ETag") != before.field("ETag"))
  }

  @Test func existingPacksAreNamedAfterARestart() throws {
    let origin = try Self.published()
    let (path, _) = try #require(try Self.pack(origin))
    func offers(_ origin: TestOrigin) throws -> PackOffer? {
      let channel = try #require(origin.origin.catalog.current.channels.first?.channel)
      let digest = try #require(try origin.store.digest(channel, at: ManifestVersion(1)))
      return try PackOffers(store: origin.store, arePushed: false)
        .offer(channel, from: ManifestVersion(1), baseDigest: digest)?.offer
    }
    let builder = try AnswerBuilder(store: origin.store, catalog: Published(try Catalog(origin.store)))
    let channel = try #require(try Catalog(origin.store).channels.first)
    builder.preparePatch(to: channel, from: ManifestVersion(1))
    #expect(builder.patches.current.answer(from: 1, to: channel)?.patch?.pack != nil)
    #expect(try Self.path(offers(origin)?.download) == path)
    // A pack whose file is missing is no longer named.
    let stored = "\(origin.store.folder.packs)/\(channel.channel.id)/\(path.split(separator: "/").last ?? "")"
    try Kernel.remove(stored)
    #expect(try offers(origin) == nil)
    #expect(try origin.onAnotherLoop().ask("GET", path).status == 404)
  }

  /// Without a wait, the release is visible at once and its pack follows; those from older versions always follow.
  @Test func olderBasesFollowInTheBackground() throws {
    let origin = try TestOrigin { $0.deltaWait = 0 }
    try origin.publish(["js/app.0aBcDeF9.js": Self.old])
    try origin.publish(["js/app.0aBcDeF9.js": Self.old, "b.js": "2"])
    try origin.publish(["js/app.9ZyXwVu1.js": Self.new], remove: ["js/app.0aBcDeF9.js"])
    #expect(try Self.pack(origin) == nil)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    for base in [2, 1] as [Int64] {
      let poll = "/configure.json?app=shop&version=\(base)&patch=1&pack=1"
      let end = Clock.monotonicNanoseconds() + 20_000_000_000
      while try Self.pack(origin, poll) == nil, Clock.monotonicNanoseconds() < end {
        Clock.sleep(for: .milliseconds(10))
      }
      let (path, _) = try #require(try Self.pack(origin, poll))
      let device = try DecodedPack(try origin.ask("GET", path).body, of: origin, base: base)
      #expect(device.manifest == (try origin.manifest(3)))
    }
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains("xcache_packs_made_total 2\n"))
    let stored = try origin.store.derived.packs().reduce(0) { $0 + $1.pack.size }
    #expect(stored > 0 && metrics.contains("\nxcache_pack_bytes \(stored)\n"))
  }

  /// Damaged bytes are never sent.
  @Test func damagedPackIsNotFound() throws {
    let origin = try Self.published()
    let (path, _) = try #require(try Self.pack(origin))
    let channel = try #require(origin.origin.catalog.current.channels.first?.channel)
    let stored = "\(origin.store.folder.packs)/\(channel.id)/\(path.split(separator: "/").last ?? "")"
    var bytes = try #require(try DurableFile.read(stored))
    bytes[bytes.count / 2] ^= 1
    try DurableFile.write(bytes, to: stored)
    #expect(try origin.ask("GET", path).status == 404)
    #expect(try Kernel.status(stored) == nil)
  }

  /// A release that fills a nearly empty channel doesn't wait for a pack as large as its files; an update waits for its pack.
  @Test(arguments: [false, true]) func releaseWaitsForThePackOfAnUpdate(isFill: Bool) throws {
    let origin = try TestOrigin { $0.deltaWait = 0 }
    try origin.publish(["js/app.0aBcDeF9.js": Self.old])
    let channel = try #require(try origin.store.channels().first)
    let type = try #require(try origin.store.contents(channel, at: channel.version).first).content.ctype
    var random = SystemRandomNumberGenerator()
    let new = try (0..<20).map { number -> (url: ResourceURL, content: ResourceContent) in
      let bytes = (0..<(isFill ? 32_000 : 1000)).flatMap { _ in
        withUnsafeBytes(of: random.next()) { Array($0) }
      }
      let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
      _ = try origin.store.receive(
        bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
      return (
        try ResourceURL("https://m.example.com/js/\(number).js"), ResourceContent(digest, ctype: type)
      )
    }
    let preparation = Preparation(id: "p", ReleasePreview(channel: channel, new: new, gone: []))
    let deltas = origin.origin.api.releases.deltas
    // Called before each file of the pack.
    let filesStarted = Locked((before: 0, after: 0))
    preparation.run(deltas.search(threads: 1, isUrgent: true), deltas.packs) {
      let status = preparation.status
      guard status.filesDone == 20 else { return true }
      if status.isReady, status.costs[1] == nil { Issue.record("a cost is known once it is ready") }
      filesStarted.withLock { if status.isReady { $0.after += 1 } else { $0.before += 1 } }
      return true
    }
    let counts = filesStarted.withLock { $0 }
    #expect(isFill ? counts.after >= 20 && counts.before < 20 : counts.before >= 20, "\(counts)")
    #expect(!preparation.packDrafts.isEmpty && preparation.status.isDone)
  }

  /// A release of another bundle between plan and release keeps the files that are already coded.
  @Test func otherReleaseKeepsThePreparedFiles() throws {
    let origin = try TestOrigin { $0.deltaWait = 0 }
    try origin.publish(["js/app.0aBcDeF9.js": Self.old])
    let channel = try #require(try origin.store.channels().first)
    let content = try #require(try origin.store.contents(channel, at: channel.version).first)
    let bytes = Array(Self.new.utf8)
    let digest = FileDigest(md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count))
    _ = try origin.store.receive(
      bytes.span.bytes, BlobClaim(sha256: digest.sha256, md5: digest.md5, size: digest.size))
    let url = try ResourceURL("https://m.example.com/js/app.9ZyXwVu1.js")
    let preview = ReleasePreview(
      channel: channel, new: [(url, ResourceContent(digest, ctype: content.content.ctype))],
      gone: [content.url])
    let preparation = origin.origin.api.releases.deltas.prepare(preview)
    #expect(preparation.awaitReady(within: 20) && !preparation.packDrafts.isEmpty)
    try origin.publish(["a/other.js": "1"], bundle: "other")
    try origin.publish(["js/app.9ZyXwVu1.js": Self.new], remove: ["js/app.0aBcDeF9.js"])
    let (path, _) = try #require(
      try Self.pack(origin, "/configure.json?app=shop&version=2&patch=1&pack=1"))
    let device = try DecodedPack(try origin.ask("GET", path).body, of: origin, base: 2)
    #expect(device.manifest == (try origin.manifest(3)))
  }
}

/// A pack, decoded as on a device.
struct DecodedPack {
  let manifest: Manifest
  /// The files in it.
  private(set) var files: [SHA256: [UInt8]] = [:]

  init(_ bytes: [UInt8], of origin: TestOrigin, base: Int64) throws {
    let base = try origin.manifest(base)
    var parts: (head: PackHead?, changes: [UInt8]) = (nil, [])
    var frames: [[UInt8]] = []
    var parser = PackParser(limit: 1 << 26)
    try parser.push(bytes.span.bytes) { part in
      switch part {
      case .head(let head): parts.head = head
      case .changes(let coded): parts.changes = coded
      case .record: frames.append([])
      case .payload(let payload): payload.withUnsafeBytes { frames[frames.count - 1] += Array($0) }
      case .recordEnd: break
      }
    }
    #expect(parser.isAtEnd)
    let head = try #require(parts.head)
    #expect(head.baseDigest == base.map.digest)
    let changes = try PackChanges(
      Self.decode(parts.changes, over: nil), head.format, version: head.version, base: base.items)
    let renaming = changes.renaming(old: changes.touched.map { base.items[$0] })
    func held(_ place: Int) throws -> [UInt8] {
      let entry = base.items[place].entry
      #expect(!entry.isLazy, "devices may lack it")
      return try #require(try origin.store.bytes(of: entry.sha256, limit: 1 << 26))
    }
    var digests: [FileDigest] = []
    var rest = frames[...]
    for arrival in changes.arrivals {
      switch arrival.source {
      case .held(let place):
        let entry = base.items[place].entry
        #expect(!entry.isLazy, "devices may lack it")
        digests.append(FileDigest(md5: entry.md5, sha256: entry.sha256, size: entry.size))
      case .arrival(let place): digests.append(digests[place])
      case .absent(let file): digests.append(file)
      case .record(let place, let isRenamed):
        let file = try place.map(held)
        let over = isRenamed ? file.flatMap(renaming.applied(to:)) ?? file : file
        let decoded = try Self.decode(rest.removeFirst(), over: over)
        var hasher = FileHasher()
        hasher.update(decoded.span.bytes)
        digests.append(hasher.finish())
        files[hasher.finish().sha256] = decoded
      }
    }
    manifest = try changes.applied(to: base, version: head.version, digests: digests)
    #expect(rest.isEmpty && manifest.map.digest == head.digest)
  }

  private static func decode(_ frame: [UInt8], over base: [UInt8]?) throws -> [UInt8] {
    var decoder = PackFrameDecoder(base: base, limit: 1 << 26)
    var bytes: [UInt8] = []
    try decoder.push(frame.span.bytes) { piece in piece.withUnsafeBytes { bytes += Array($0) } }
    try decoder.finish()
    return bytes
  }
}

extension TestOrigin {
  /// A kept version of the shop's manifest.
  func manifest(_ version: Int64) throws -> Manifest {
    let channel = try #require(try store.channels().first)
    let entries = try store.manifest(channel, at: ManifestVersion(version))
    return Manifest(
      version: ManifestVersion(version), items: entries.map { ManifestItem(url: $0.url, entry: $0.entry) })
  }
}

extension PackServingTests {
  /// A pack whose file was removed is no longer named and is made again, however the loss is found.
  @Test(arguments: [false, true]) func removedPackIsMadeAgain(isScrubbed: Bool) throws {
    let origin = try Self.published()
    let (path, _) = try #require(try Self.pack(origin))
    let channel = try #require(try origin.store.channels().first)
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    // The worker's check at the start finds the pack.
    let start = Clock.monotonicNanoseconds() + 20_000_000_000
    while origin.origin.api.releases.deltas.backlog.pending > 0, Clock.monotonicNanoseconds() < start {
      Clock.sleep(for: .milliseconds(5))
    }
    try #require(origin.origin.api.releases.deltas.backlog.pending == 0)
    try Kernel.remove(origin.store.derived.packFile(pack, of: channel))
    if isScrubbed {
      _ = try origin.store.scrub { _ in true }
    } else {
      #expect(try origin.onAnotherLoop().ask("GET", path).status == 404)
    }
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    func isWell() throws -> Bool {
      guard let (path, _) = try Self.pack(origin) else { return false }
      return try origin.onAnotherLoop().ask("GET", path).status == 200
    }
    while try !isWell(), Clock.monotonicNanoseconds() < end { Clock.sleep(for: .milliseconds(10)) }
    #expect(try isWell())
  }

  /// A pack that never existed isn't lost: a request for it wakes no worker.
  @Test func requestForAnUnknownPackChangesNothing() throws {
    let origin = try Self.published()
    let edition = origin.store.changes.edition
    let (path, _) = try #require(try Self.pack(origin))
    let other = path.replacing("1-2-", with: "1-3-")
    #expect(try origin.onAnotherLoop().ask("GET", other).status == 404)
    #expect(origin.store.changes.edition == edition)
  }
}
