import Compression
import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// First packs from the release to a device that holds nothing.
@Suite struct FirstPackServingTests {
  static let poll = "/configure.json?app=shop"

  /// A script that has much in common with those of other names.
  static func script(_ name: String, _ version: Int = 1) -> String {
    (0..<400).map { "export const a\($0) = (b) => b + \($0 &* 7919);\n" }.joined()
      + "/* \(SHA256.of(Array("\(name)\(version)".utf8)).hex) */"
  }

  static let files = [
    "index.html": "<title>shop</title><script type=module src=/js/main.js></script>",
    "long/about.html": "<title>about</title>",
    "js/main.js": "import './zeta.js';import './beta.js';" + script("main"),
    "js/beta.js": script("beta"), "js/zeta.js": script("zeta"), "js/alone.js": script("alone"),
  ]

  /// What a whole manifest names, once it names something.
  static func first(_ origin: TestOrigin, _ poll: String = poll) throws -> (path: String, size: Int64)? {
    guard let first = try origin.ask("GET", poll).json["data"]?["first"] else { return nil }
    return (try PackServingTests.path(first["download"]?.string), try #require(first["size"]?.integer))
  }

  /// Whether the channel's first pack is made, or found not worth it, within 20 seconds.
  private static func settles(_ origin: TestOrigin) throws -> Bool {
    let channel = try #require(try origin.store.channels().first)
    return try PackServingTests.becomesTrue {
      switch origin.origin.builder.packs.firsts.choice(of: channel) {
      case .stored, .refused: true
      case .wanted, nil: false
      }
    }
  }

  /// What a version costs a device that has nothing.
  private static func cost(_ origin: TestOrigin, _ version: Int) throws -> JSONValue {
    let path = "apps/shop/channels/online/diff?from=0&to=\(version)&limit=0"
    return try #require(try origin.api("GET", path).json["cost"])
  }

  /// The names of all files where the packs of the first channel are.
  static func packNames(_ origin: TestOrigin) -> [String] {
    (try? Folder.textNames(origin.store.folder.packs(of: 1))) ?? []
  }

  /// The files of a first pack, in their order.
  static func decoded(_ pack: [UInt8]) throws -> [[UInt8]] {
    var reader = FirstPackReader()
    var (head, frame): (FirstPackHead?, [UInt8]) = (nil, [])
    try reader.push(pack.span.bytes) { part in
      switch part {
      case .head(let found): head = found
      case .frame(let bytes): bytes.withUnsafeBytes { frame.append(contentsOf: $0) }
      }
    }
    let list = try #require(head)
    let bytes = try PackFrame.decode(frame, limit: list.total)
    var files: [[UInt8]] = []
    var cutter = FirstPackFiles(of: list)
    try cutter.push(bytes.span.bytes) { part in
      switch part {
      case .begin: files.append([])
      case .bytes(let bytes): bytes.withUnsafeBytes { files[files.count - 1].append(contentsOf: $0) }
      case .end: break
      }
    }
    try cutter.finish()
    for (file, item) in zip(files, list.items) {
      #expect(FirstPackItem(SHA256.of(file), size: Int64(file.count)) == item)
    }
    return files
  }

  @Test func wholeManifestsNameItOnceItIsThere() throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    let before = try origin.ask("GET", Self.poll)
    #expect(before.status == 200 && before.json["data"]?["first"] == nil)
    #expect(try Self.cost(origin, 1)["requests"]?.integer == 7)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { try Self.first(origin) != nil })
    let (path, size) = try #require(try Self.first(origin))
    let cost = try Self.cost(origin, 1)
    #expect(cost["pack"]?.integer == size && cost["requests"]?.integer == 2)
    #expect(
      try PackServingTests.becomesTrue {
        let overview = try origin.api("GET", "apps/shop/channels/online").json
        return overview["deltas"]?["pending"]?.integer == 0 && overview["deltas"]?["makesFirstPack"] == nil
      })
    #expect(path.hasPrefix("/hxm/xcache/shop/pack/0-1-"))
    // Another answer has another tag, on each event loop.
    let after = try origin.ask("GET", Self.poll)
    #expect(after.field("ETag") != before.field("ETag"))
    let tag = try #require(after.field("ETag"))
    let other = try origin.onAnotherLoop()
    #expect(try other.ask("GET", Self.poll, ["If-None-Match: \(tag)"]).status == 304)
    #expect(
      try other.ask("GET", Self.poll, ["If-None-Match: \(before.field("ETag") ?? "")"]).body == after.body)
    for coding in ["gzip", "zstd"] {
      #expect(try origin.ask("GET", Self.poll, ["Accept-Encoding: \(coding)"]).status == 200)
    }
    // It is what it says, and served as packs are.
    let reply = try other.ask("GET", path, ["Accept-Encoding: gzip, zstd"])
    #expect(reply.status == 200 && Int64(reply.body.count) == size && reply.field("Content-Encoding") == nil)
    #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
    let rest = try origin.ask("GET", path, ["Range: bytes=10-", "If-Range: \(reply.field("ETag") ?? "")"])
    #expect(rest.status == 206 && rest.body == Array(reply.body.dropFirst(10)))
    #expect(try origin.ask("HEAD", path).field("Content-Length") == "\(size)")
    let names = ["index.html", "long/about.html", "js/main.js", "js/zeta.js", "js/beta.js", "js/alone.js"]
    #expect(try Self.decoded(reply.body) == names.map { Array((Self.files[$0] ?? "").utf8) })
    // Whoever holds a manifest isn't told.
    try origin.publish(["js/beta.js": Self.script("beta", 2)])
    for query in ["version=1&patch=1", "version=1&patch=1&pack=1", "version=2&patch=1"] {
      #expect(try origin.ask("GET", "\(Self.poll)&\(query)").json["data"]?["first"] == nil)
    }
  }

  /// The answer stays what it is, byte by byte, for an app of few files.
  @Test func fewFilesHaveNone() throws {
    let origin = try TestOrigin()
    let few = Self.files.filter { !$0.key.hasSuffix("a.js") && !$0.key.hasSuffix("main.js") }
    try origin.publish(few.merging(["js/map.js": Self.script("map")]) { $1 }, lazy: ["js/map.js"])
    let before = try origin.ask("GET", Self.poll)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try Self.settles(origin))
    let after = try origin.ask("GET", Self.poll)
    #expect(after.body == before.body && after.field("ETag") == before.field("ETag"))
    #expect(try origin.store.derived.packs().isEmpty)
  }

  /// One that saves nothing isn't kept, and isn't made again after a restart.
  @Test func filesThatDoNotShrinkHaveNone() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "1", "b.js": "2", "c.js": "3", "d.js": "4"])
    try origin.origin.startBackgroundWork()
    #expect(try Self.settles(origin))
    origin.origin.beginStopping()
    let channel = try #require(try origin.store.channels().first)
    #expect(try origin.store.firstPack(of: channel) == .refused)
    #expect(Self.packNames(origin).isEmpty)
  }

  /// A later version names the pack of an earlier one while that serves, and another one when it doesn't any more.
  @Test func itServesLaterVersions() throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { try Self.first(origin) != nil })
    let (old, _) = try #require(try Self.first(origin))
    try origin.publish(["long/about.html": "<title>about us</title>"])
    #expect(try PackServingTests.becomesTrue { try Self.first(origin)?.path == old })
    #expect(try Self.settles(origin))
    // A first install takes this pack, and the file that it lacks.
    let cost = try Self.cost(origin, 2)
    let size = try #require(try Self.first(origin)?.size)
    #expect(cost["pack"]?.integer == size && cost["requests"]?.integer == 3)
    let answer = try origin.ask("GET", Self.poll, ["Accept-Encoding: zstd"]).body.count
    #expect(cost["total"]?.integer == Int64(answer) + size + Int64("<title>about us</title>".utf8.count))
    #expect(try origin.store.derived.packs().count { $0.pack.isFirst } == 1)
    try origin.publish(["js/zeta.js": Self.script("zeta", 3), "js/alone.js": Self.script("alone", 3)])
    #expect(
      try PackServingTests.becomesTrue {
        try Self.first(origin)?.path.hasPrefix("/hxm/xcache/shop/pack/0-3-") == true
      }
    )
    // Devices with an older answer still get theirs.
    #expect(try origin.onAnotherLoop().ask("GET", old).status == 200)
    // After a restart it is named without being made again.
    let again = try origin.restarted()
    try again.origin.startBackgroundWork()
    defer { again.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { try Self.first(again) != nil })
    #expect(try again.ask("GET", "/metrics").text.contains("xcache_packs_made_total 0\n"))
  }

  /// One whose file was removed is no longer named, and made again.
  @Test(arguments: [false, true]) func removedOneIsMadeAgain(isScrubbed: Bool) throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    #expect(try PackServingTests.becomesTrue { try Self.first(origin) != nil })
    let (path, _) = try #require(try Self.first(origin))
    let channel = try #require(try origin.store.channels().first)
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    try Kernel.remove(origin.store.derived.packFile(pack, of: channel))
    if isScrubbed {
      _ = try origin.store.scrub { _ in true }
    } else {
      #expect(try origin.onAnotherLoop().ask("GET", path).status == 404)
    }
    #expect(
      try PackServingTests.becomesTrue {
        guard let (path, _) = try Self.first(origin) else { return false }
        return try origin.onAnotherLoop().ask("GET", path).status == 200
      })
  }

  /// Another process, such as `xcache doctor`, may remove one without telling.
  @Test func checkOfNamedOnesFindsALostOne() throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    let channel = try #require(try origin.store.channels().first)
    let worker = Self.worker(origin)
    try worker.choose(channel)
    guard case .done = try worker.work(channel, shouldContinue: { true }) else {
      Issue.record("the first pack isn't made")
      return
    }
    #expect(try Self.first(origin) != nil)
    let lines = Locked<[String]>([])
    func check() throws {
      try origin.origin.builder.checkPacks(origin.store) { line in lines.withLock { $0.append(line) } }
    }
    try check()
    #expect(try Self.first(origin) != nil && lines.withLock { $0.isEmpty })
    let pack = try #require(try origin.store.derived.packs().first?.pack)
    try Kernel.remove(origin.store.derived.packFile(pack, of: channel))
    try check()
    #expect(try Self.first(origin) == nil)
    #expect(
      lines.withLock { $0 } == [
        "error: the first pack of shop online for 1 is gone, perhaps because it was found damaged; it is made again"
      ])
  }

  static func worker(_ origin: TestOrigin, push: ReleasePush? = nil) -> FirstPackWorker {
    let inner = origin.origin
    return FirstPackWorker(
      store: origin.store, catalog: inner.catalog, answers: inner.builder,
      packs: inner.api.releases.deltas.packs, push: push)
  }

  /// Where releases are pushed, it is named once it is there.
  @Test func itIsNamedOnceItIsPushed() throws {
    let fails = Locked(true)
    let push = ReleasePush(names: { ["\($0.version)"] }, push: { _ in }) { (_, _) throws(StoreError) in
      if fails.withLock({ $0 }) { throw .pushFailed(place: "there", reason: "a test") }
    }
    let origin = try TestOrigin { $0.push = push }
    try origin.publish(Self.files)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    let channel = try #require(try origin.store.channels().first)
    let backlog = origin.origin.api.releases.deltas.backlog
    #expect(try PackServingTests.becomesTrue { backlog.progress(of: channel.id)?.failing == 1 })
    #expect(backlog.progress(of: channel.id)?.fault?.contains("could not be pushed to there") == true)
    #expect(try Self.first(origin) == nil)
    fails.withLock { $0 = false }
    #expect(try PackServingTests.becomesTrue { try Self.first(origin) != nil })
    #expect(try origin.store.derived.packs().map(\.pack.isPushed) == [true])
    #expect(try PackServingTests.becomesTrue { backlog.progress(of: channel.id)?.failing == 0 })
  }

  /// A release that comes meanwhile stops the work, and leaves no file behind.
  @Test func itIsNotFinishedForAnOldVersion() throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    let channel = try #require(try origin.store.channels().first)
    let worker = Self.worker(origin)
    try worker.choose(channel)
    let left = Locked(8)
    let outcome = try worker.work(channel) {
      left.withLock { left in
        left -= 1
        return left > 0
      }
    }
    guard case .stopped = outcome else {
      Issue.record("the work didn't stop")
      return
    }
    #expect(Self.packNames(origin).isEmpty)
    #expect(try origin.store.firstPack(of: channel) == .wanted)
  }

  /// A file that is damaged on the disk is no reason to make a wrong one.
  @Test func damagedFilesAreNotPacked() throws {
    let origin = try TestOrigin()
    try origin.publish(Self.files)
    let channel = try #require(try origin.store.channels().first)
    let sha256 = SHA256.of(Array(Self.script("alone").utf8))
    try flip(origin.store.folder.blob(sha256))
    let worker = Self.worker(origin)
    try worker.choose(channel)
    #expect(throws: StoreError.self) { try worker.work(channel) { true } }
    #expect(Self.packNames(origin).isEmpty)
  }

  /// No room for packs, and none for one of this size.
  @Test(arguments: [(Int64(10), Int64(1 << 30)), (1 << 30, 10)]) func limitsAreRespected(
    quota: Int64, largest: Int64
  )
    throws
  {
    let origin = try TestOrigin {
      $0.packs.quota = quota
      $0.packs.largest = largest
    }
    try origin.publish(Self.files)
    let channel = try #require(try origin.store.channels().first)
    let worker = Self.worker(origin)
    try worker.choose(channel)
    switch try worker.work(channel, shouldContinue: { true }) {
    // It stops where the room ends: how large it would become isn't known.
    case .noSpace(let size): #expect(quota == 10 && size == 11)
    case .done: #expect(largest == 10)
    default: Issue.record("it was made")
    }
    #expect(try origin.store.derived.packs().isEmpty)
    #expect(Self.packNames(origin).isEmpty)
  }
}
