import HTTP
import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Manifests are loaded on demand and evicted; answers don't depend on it.
@Suite struct ManyChannelsTests {
  private static let names = (0..<400).map { "d/\($0 * 7919 % 1000).js" }

  /// Three channels, one of which has two more versions.
  private static func origin() throws -> TestOrigin {
    let origin = try TestOrigin()
    for channel in ["online", "test", "beta"] {
      try origin.publish(
        Dictionary(uniqueKeysWithValues: names.map { ($0, "\(channel) \($0)") }), channel: channel)
    }
    try origin.publish(["one.js": "1"])
    try origin.publish(["one.js": "2"])
    return origin
  }

  private static func metric(_ name: String, _ origin: TestOrigin) -> String? {
    origin.origin.metrics.current.split(separator: "\n")
      .first { $0.hasPrefix("\(name) ") }.map { String($0.dropFirst(name.count + 1)) }
  }

  private static func isReady(_ target: String, _ origin: TestOrigin) throws -> Bool {
    if case .now = try origin.answer("GET", target, [], length: 0) { true } else { false }
  }

  private static let targets = [
    "/configure.json?app=shop", "/configure.json?app=shop&version=1&patch=1",
    "/configure.json?app=shop&version=2&patch=1&pack=1", "/configure.json?app=shop&channel=test&version=7",
    "/xcache_beta/shop/configure.json", "/xcache/shop/info.json",
  ]

  @Test func startReadsNoManifest() throws {
    let before = try Self.origin()
    let origin = try before.restarted()
    #expect(try origin.ask("GET", "/configure.json?app=shop&version=3").json["data"]?["update"] == false)
    #expect(try Self.isReady("/configure.json?app=shop&version=3&patch=1", origin))
    #expect(try Self.isReady("/configure.json?app=shop&channel=beta&version=1", origin))
    for path in ["apps", "apps/shop/channels/online", "apps/shop/channels/test/log"] {
      #expect(try origin.api("GET", path).status == 200)
    }
    #expect(Self.metric("xcache_manifests_in_memory", origin) == "0")
    #expect(Self.metric("xcache_manifests_read_total", origin) == "0")
    for target in Self.targets {
      let coded = ["Accept-Encoding: gzip"]
      #expect(try origin.ask("GET", target).body == before.ask("GET", target).body, "\(target)")
      #expect(try origin.ask("GET", target, coded).body == before.ask("GET", target, coded).body)
      #expect(try origin.ask("GET", target).field("ETag") == before.ask("GET", target).field("ETag"))
    }
    #expect(Self.metric("xcache_manifests_in_memory", origin) == "3")
    #expect(Self.metric("xcache_manifests_read_total", origin) == "3")
  }

  @Test func concurrentRequestsReadItOnce() throws {
    let origin = try Self.origin().restarted()
    let answers = Monitor<[UInt64]>([])
    for number in 0..<300 {
      let path = number % 3 == 0 ? "info.json" : "configure.json?version=\(number % 2)&patch=1"
      let answer = try origin.answer("GET", "/xcache/shop/\(path)", [], length: 0)
      switch answer {
      case .deferred(let begin):
        begin { response in answers.broadcasting { $0.append(UInt64(response.status.code)) } }
      case .now(let response): answers.broadcasting { $0.append(UInt64(response.status.code)) }
      default: Issue.record("a worker is occupied")
      }
    }
    #expect(answers.waiting { $0.count == 300 ? $0 : nil } == [UInt64](repeating: 200, count: 300))
    #expect(origin.origin.builder.manifestsRead.load(ordering: .relaxed) == 1)
  }

  @Test func releaseInAChannelThatIsNotInMemory() throws {
    let origin = try Self.origin().restarted()
    let digest = try #require(
      try origin.ask("GET", "/xcache/shop/configure.json").json["data"]?["digest"]?.string)
    let again = try origin.restarted()
    #expect(try again.publish(["two.js": "2"], bundle: "other").status == 201)
    let channel = try again.store.channel(AppName("shop"), .online)
    #expect(try again.store.digestByQuery(channel, at: channel.version) == channel.digest)
    #expect(again.origin.builder.manifestsRead.load(ordering: .relaxed) == 1)
    let patch = try again.ask(
      "GET", "/configure.json?app=shop&version=3&patch=1&digest=\(digest)"
    ).json["data"]
    #expect(patch?["base"]?.string == "3")
    #expect(patch?["digest"]?.string == channel.digest?.hex)
    #expect(Self.metric("xcache_manifests_in_memory", again) == "1")
  }

  @Test func unpolledManifestsAreEvictedAndReloaded() throws {
    let origin = try Self.origin()
    let builder = origin.origin.builder
    let wanted = try Self.targets.map { try origin.ask("GET", $0).body }
    let channels = origin.origin.catalog.current.channels
    let online = try #require(channels.first { $0.channel.name == .online })
    builder.patches.update { $0.pin([ManifestVersion(1), ManifestVersion(2)], of: online.channel.id) }

    // Recently loaded and polled manifests are kept.
    builder.forgetUnpolled(since: 0) { _ in false }
    #expect(channels.allSatisfy { $0.held.isInMemory })
    builder.forgetUnpolled(since: .max) { $0 == online.channel.id }
    #expect(channels.filter { $0.held.isInMemory }.map(\.channel.id) == [online.channel.id])
    #expect(builder.patches.current.answer(from: 1, to: online) != nil)

    builder.forgetUnpolled(since: .max) { _ in false }
    #expect(!online.held.isInMemory && builder.patches.current.count == 0)
    #expect(try Self.isReady("/configure.json?app=shop&version=3", origin))
    #expect(try Self.targets.map { try origin.ask("GET", $0).body } == wanted)
    // The first loop remembers small answers without the channel.
    let loop = try origin.onAnotherLoop()
    #expect(try Self.targets.map { try loop.ask("GET", $0).body } == wanted)
    #expect(channels.allSatisfy { $0.held.isInMemory })
    #expect(builder.patches.current.isPinned(1, of: online.channel.id))
    #expect(try Self.isReady("/configure.json?app=shop&version=1&patch=1", origin))
  }

  /// A release is made while an older version is read: the result is used for no answer, and not kept.
  @Test func releaseDuringALoad() throws {
    let origin = try Self.origin().restarted()
    let builder = origin.origin.builder
    let old = try #require(origin.origin.catalog.current.channel(AppName("shop"), .online))
    try origin.publish(["one.js": "3"])
    #expect(!old.held.isInMemory, "an idle event loop may hold it for long")
    #expect(try builder.map(of: old).digest == old.channel.digest)
    #expect(try builder.whole(of: old).document.byteCount > 0)
    #expect(!old.held.isInMemory)
    let answer = Monitor<WholeManifest?>(nil)
    builder.whole(of: old) { made in answer.broadcasting { $0 = try? made.get() } }
    let whole = answer.waiting { $0 }
    let now = try #require(origin.origin.catalog.current.channel(id: old.channel.id))
    #expect(now.version == ManifestVersion(4))
    #expect(whole.map === now.held.whole?.map)
  }

  /// A channel's documents change while its manifest isn't in memory, and while it is.
  @Test func documentsOfAChannelThatIsNotInMemory() throws {
    let origin = try Self.origin().restarted()
    for _ in 0..<2 {
      let before = origin.origin.catalog.current.channels.first?.extras.interval
      let interval = JSONValue.integer(before == 60 ? 90 : 60)
      let changed = try origin.api("POST", "apps/shop/channels/online/settings", ["interval": interval])
      #expect(changed.status == 200)
      let data = try origin.ask("GET", "/xcache/shop/configure.json").json["data"]
      #expect(data?["interval"] == interval && data?["resourcemap"] != nil)
    }
    #expect(origin.origin.builder.manifestsRead.load(ordering: .relaxed) == 1)
  }

  @Test func polledManifestsAreReadAtStart() throws {
    let before = try Self.origin()
    for target in ["/configure.json?app=shop&version=3", "/configure.json?app=shop&channel=beta&version=1"] {
      _ = try before.ask("GET", target)
    }
    before.origin.adoption.flush()
    let origin = try before.restarted()
    try origin.origin.startBackgroundWork()
    defer {
      origin.origin.beginStopping()
      origin.origin.finish()
    }
    #expect(DeltaTests.wait { Self.metric("xcache_manifests_in_memory", origin) == "2" })
    let held = origin.origin.catalog.current.channels.filter { $0.held.isInMemory }.map(\.channel.name.text)
    #expect(Set(held) == ["online", "beta"])
    // So are the patches from versions that have deltas.
    #expect(
      DeltaTests.wait {
        (try? Self.isReady("/configure.json?app=shop&version=1&patch=1", origin)) == true
      })
  }

  /// A release changes one entry of the catalog, whatever else is in it.
  @Test func otherChannelsAreNotChanged() throws {
    let origin = try Self.origin()
    let before = origin.origin.catalog.current.channels
    try origin.publish(["one.js": "3"])
    let after = origin.origin.catalog.current.channels
    #expect(zip(before, after).filter { $0 !== $1 }.map { $0.0.channel.name } == [.online])
    let edition = PublishedReader(origin.origin.catalog)
    var reader = edition
    let number = reader.currentEdition
    origin.origin.builder.forgetUnpolled(since: .max) { _ in false }
    _ = try origin.ask("GET", "/configure.json?app=shop")
    #expect(reader.currentEdition == number, "poll memos were invalidated without need")
  }
}
