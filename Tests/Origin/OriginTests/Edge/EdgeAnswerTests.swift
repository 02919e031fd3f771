import HTTP
import Manifests
import Store
import Testing
import Values

@testable import Origin

/// Which answers shared caches may keep, and what tells them so.
@Suite struct EdgeAnswerTests {
  static let online = "apps/shop/channels/online"

  /// An origin with versions 1 and 2, between which there is a patch.
  static func published(
    _ policy: EdgePolicy? = EdgePolicy(ttl: 10), _ change: (inout Origin.Options) -> Void = { _ in }
  ) throws -> TestOrigin {
    let origin = try TestOrigin {
      $0.edge = policy
      change(&$0)
    }
    try origin.publish(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0).js", "file \($0)") }))
    try origin.publish(["a.js": "two"], remove: ["7.js"])
    return origin
  }

  /// The names of the fields that are for caches alone.
  static let names = ["CDN-Cache-Control", "Surrogate-Control", "Surrogate-Key", "Cache-Tag"]

  static func isShared(_ reply: TestOrigin.Reply) -> Bool {
    let fields = names.map { reply.field($0) }
    let isShared =
      fields == [
        "max-age=10, stale-while-revalidate=20, stale-if-error=70", nil, "xcache:shop:online",
        "xcache:shop:online",
      ]
    // All of them or none, and for devices nothing changes.
    #expect(isShared || fields == [nil, nil, nil, nil], "\(reply.head)")
    if isShared { #expect(reply.field("Cache-Control") == "no-cache") }
    return isShared
  }

  /// A query, and whether its answer may be kept; `{1}` and `{2}` stand for the digests of the versions, with `{0}` for another one.
  static let queries: [(String, Bool)] = [
    // The whole manifest, for a device without a version.
    ("", true), ("app=shop", true), ("app=shop&channel=online", true), ("app=shop&version=", true),
    ("app=shop&patch=1&pack=1&lazy=1", true), ("app=shop&candidate=1", true), ("app=shop&skip=1", true),
    ("app=shop&x=y", true),
    // Any digest would be another copy of it.
    ("app=shop&digest={0}", false), ("app=shop&version=&digest={2}", false),
    // Nothing new.
    ("app=shop&version=2", true), ("app=shop&version=2&digest={2}", true),
    ("app=shop&version=2&digest={2}&patch=1&pack=1&candidate=1&skip=1", true),
    ("app=shop&version=2&digest={2}&preview=1", true),
    // A patch, for a known version with its digest.
    ("app=shop&version=1&patch=1", true), ("app=shop&version=1&digest={1}&patch=1", true),
    ("app=shop&version=1&digest={1}&patch=1&pack=1&skip=1", true),
    // Another digest than the version's.
    ("app=shop&version=2&digest={0}", false), ("app=shop&version=2&digest={1}", false),
    ("app=shop&version=2&digest=x", false), ("app=shop&version=1&digest={0}&patch=1", false),
    ("app=shop&version=1&digest={2}&patch=1", false),
    // A version that is unknown, or not there yet.
    ("app=shop&version=3&patch=1", false), ("app=shop&version=3&digest={2}&patch=1", false),
    ("app=shop&version=99999999999999999999&patch=1", false), ("app=shop&version=two&patch=1", false),
    ("app=shop&version=-1&patch=1", false),
    // The whole manifest, for a device that holds another one.
    ("app=shop&version=0", false), ("app=shop&channel=online&version=0&patch=1", false),
    ("app=shop&version=0&patch=1&candidate=1", false), ("app=shop&version=0&patch=1&skip=1", false),
    // The newest version is skipped: nothing new, for versions that there are.
    ("app=shop&version=1&digest={1}&patch=1&skip=2", true), ("app=shop&skip=2", true),
    ("app=shop&version=3&patch=1&skip=2", false), ("app=shop&version=two&skip=2", false),
    // A version to skip that isn't there yet.
    ("app=shop&skip=3", false), ("app=shop&version=2&digest={2}&skip=3", false),
    ("app=shop&version=1&digest={1}&patch=1&skip=3", false), ("app=shop&skip=9223372036854775807", false),
    // No such app or channel.
    ("app=sho", false), ("app=shop&channel=test", false), ("app=", false),
  ]

  private static func filled(_ query: String, _ origin: TestOrigin) throws -> String {
    let second = try origin.ask("GET", "/configure.json?app=shop").json["data"]?["digest"]?.string ?? ""
    let first =
      try origin.store.digest(
        try origin.store.channel(try AppName("shop"), .online), at: ManifestVersion(1))?.hex ?? ""
    return query.replacing("{0}", with: String(repeating: "0", count: 64)).replacing("{1}", with: first)
      .replacing("{2}", with: second)
  }

  @Test func answersToQueries() throws {
    let origin = try Self.published()
    for (query, isShared) in Self.queries {
      let target = "/configure.json" + (query.isEmpty ? "" : "?\(try Self.filled(query, origin))")
      // The second time, a GET is answered from memory.
      for method in ["GET", "GET", "HEAD", "GET"] {
        #expect(Self.isShared(try origin.ask(method, target)) == isShared, "\(method) \(target)")
      }
    }
  }

  /// What isn't in memory is made, and then answered in the same way.
  @Test func answersThatAreMadeFirst() throws {
    let origin = try Self.published()
    for (query, isShared) in Self.queries {
      let restarted = try origin.restarted { $0.edge = EdgePolicy(ttl: 10) }
      let target = "/configure.json?\(try Self.filled(query, origin))"
      #expect(Self.isShared(try restarted.ask("GET", target)) == isShared, "\(target)")
    }
  }

  /// The whole manifest for a version that the origin keeps, where a patch or nothing was made from it before.
  @Test func wholeManifestsForKnownVersions() throws {
    let queries: [(String, Bool)] = [
      ("version=1", true), ("version=1&digest={1}", true), ("version=1&digest={1}&patch=1", true),
      ("version=1&patch=1&skip=1", true), ("version=1&digest={0}", false), ("version=1&digest={2}", false),
      ("version=1&digest={0}&patch=1", false), ("version=1&digest={1}&patch=1&skip=3", false),
      ("version=0", false), ("version=3", false), ("version=3&digest={1}", false),
    ]
    let published = try Self.published()
    #expect(try published.ask("GET", "/configure.json?app=shop&version=1&patch=1").status == 200)
    for hasPatch in [true, false] {
      let origin = try hasPatch ? published : published.restarted { $0.edge = EdgePolicy(ttl: 10) }
      let channel = try #require(origin.origin.catalog.current.channels.first)
      if !hasPatch {
        let early = try origin.ask("GET", "/configure.json?app=shop&version=1")
        #expect(!Self.isShared(early), "no row is read for it")
        // As where a channel's history was replaced: no patch leads from there.
        let digest = try origin.store.digest(channel.channel, at: ManifestVersion(1))?.hex ?? ""
        origin.origin.builder.patches.update {
          $0.insert(nil, from: 1, to: channel, renewal: 0, digest: Array(digest.utf8))
        }
      }
      for (query, isShared) in queries {
        let target = "/configure.json?\(try Self.filled("app=shop&" + query, origin))"
        for _ in 0..<2 {
          let reply = try origin.ask("GET", target)
          #expect(Self.isShared(reply) == isShared, "\(target)")
          #expect(hasPatch && query.contains("patch") || reply.json["data"]?["base"] == nil, "\(target)")
        }
      }
      origin.origin.builder.patches.update { $0.forget(channel.channel.id, from: [ManifestVersion(1)]) }
      #expect(!Self.isShared(try origin.ask("GET", "/configure.json?app=shop&version=1")))
    }
  }

  /// Few devices have the oldest versions.
  @Test func digestsTakeBoundedMemory() throws {
    let origin = try Self.published()
    let channel = try #require(origin.origin.catalog.current.channels.first)
    let (id, limit) = (channel.channel.id, Int64(PatchCache.maxDigests))
    var patches = PatchCache()
    for base in 1...limit + 1 { patches.insert(nil, from: base, to: channel, renewal: 0, digest: [1]) }
    #expect(patches.digest(of: 1, in: id) == nil && patches.digest(of: 2, in: id) == [1])
    #expect(patches.digest(of: limit + 1, in: id) == [1] && patches.digest(of: 2, in: id + 1) == nil)
    patches.insert(nil, from: limit + 2, to: channel, renewal: 0)
    #expect(patches.digest(of: limit + 2, in: id) == nil)
    patches.forget(id)
    #expect(patches.digest(of: limit, in: id) == nil)
  }

  /// A patch that was overtaken while it was made: the caches have dropped the channel's answers, and would keep this one.
  @Test func answersThatWereOvertaken() throws {
    for query in ["app=shop&version=1&patch=1", "app=shop"] {
      let origin = try Self.published().restarted { $0.edge = EdgePolicy(ttl: 10) }
      guard case .deferred(let begin) = try origin.answer("GET", "/configure.json?\(query)", []) else {
        Issue.record("it was in memory: \(query)")
        continue
      }
      try origin.publish(["a.js": "three"])
      #expect(!Self.isShared(origin.finish(.deferred(begin))), "\(query)")
      #expect(Self.isShared(try origin.ask("GET", "/configure.json?\(query)")), "\(query)")
    }
  }

  /// Patches that turned out larger than the manifest, and packs.
  @Test func otherAnswersToKnownVersions() throws {
    let small = try TestOrigin { $0.edge = EdgePolicy(ttl: 10) }
    let many = (0..<500).map { "folder-\($0 &* 2_654_435_761 % 1_000_003)/file-\($0).js" }
    try small.publish(Dictionary(uniqueKeysWithValues: many.map { ($0, "one") }))
    try small.publish(["b.js": "two"], remove: many)
    let whole = try small.ask("GET", "/configure.json?app=shop&version=1&patch=1")
    #expect(whole.json["data"]?["base"]?.string == "1" && whole.json["data"]?["resourcemap"] != nil)
    #expect(Self.isShared(whole))
    let packed = try PackServingTests.published { $0.edge = EdgePolicy(ttl: 10) }
    for _ in 0..<2 {
      let pack = try packed.ask("GET", PackServingTests.poll)
      #expect(pack.json["data"]?["pack"] != nil && pack.json["data"]?["edge"]?.integer == 10)
      #expect(Self.isShared(pack))
    }
  }

  /// A version that gc removed is an unknown one, also where it is remembered that no patch leads from it.
  @Test func removedVersions() throws {
    let origin = try Self.published()
    try origin.publish(["a.js": "three"])
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try origin.store.collect(policy)
    let restarted = try origin.restarted { $0.edge = EdgePolicy(ttl: 10) }
    for _ in 0..<3 {
      let reply = try restarted.ask("GET", "/configure.json?app=shop&version=1&patch=1")
      #expect(reply.json["data"]?["resourcemap"] != nil && !Self.isShared(reply))
    }
  }

  /// Of a channel without a release.
  @Test func beforeTheFirstRelease() throws {
    let origin = try Self.published()
    _ = try origin.api("POST", "apps/shop/channels/test/create", [:])
    for (query, isShared) in [
      ("", true), ("&version=0", true), ("&version=1", false), ("&version=x", false), ("&skip=1", false),
    ] {
      let reply = try origin.ask("GET", "/configure.json?app=shop&channel=test\(query)")
      #expect(reply.json["data"]?["update"]?.bool == false && reply.json["data"]?["edge"]?.integer == 10)
      #expect((reply.field("Cache-Tag") == "xcache:shop:test") == isShared, "\(query)")
      #expect((reply.field("CDN-Cache-Control") != nil) == isShared, "\(query)")
    }
  }

  /// In a rollout, the candidate's version is above the newest for those who don't follow it.
  @Test func rollouts() throws {
    let origin = try Self.published()
    #expect(try origin.candidate(["a.js": "three"]).status == 201)
    for (query, isShared) in [
      ("", true), ("&candidate=1", true), ("&version=2", true), ("&version=3&candidate=1", true),
      ("&version=2&patch=1&candidate=1", true), ("&version=2&candidate=1&skip=3", true), ("&skip=3", true),
      ("&version=3", false), ("&version=3&patch=1", false), ("&version=4&candidate=1", false),
      ("&version=2&skip=4", false), ("&candidate=1&skip=4", false), ("&version=3&skip=2", false),
    ] {
      for _ in 0..<2 {
        let reply = try origin.ask("GET", "/configure.json?app=shop\(query)")
        #expect(reply.status == 200 && Self.isShared(reply) == isShared, "\(query)")
      }
    }
  }

  /// Only at one path: what the query doesn't tell apart there, these do.
  @Test func otherPathsAndDocuments() throws {
    let origin = try Self.published()
    let query = "app=shop&version=2"
    let old = "/xcache-provider/xhr/client/configure.json?\(query)"
    // They are remembered together.
    for (target, isShared) in [
      (old, false), ("/configure.json?\(query)", true), (old, false), ("/configure.json?\(query)", true),
      ("/xcache/shop/configure.json?version=2", false), ("/hxm/xcache/shop/configure.json", false),
      ("/xcache/shop/configure.json", false), ("/info.json?app=shop", false),
      ("/prefetchConfig?app=shop", false), ("/xcache/shop/policy.json", false), ("/readyz", false),
      ("/configure.json/?\(query)", false), ("/configure.jso?\(query)", false), ("/metrics", false),
    ] {
      #expect(Self.isShared(try origin.ask("GET", target)) == isShared, "\(target)")
    }
  }

  @Test func otherMethodsAndErrors() throws {
    let origin = try Self.published()
    let target = "/configure.json?app=shop&version=2"
    for _ in 0..<2 {
      #expect(Self.isShared(try origin.ask("GET", target)))
      let post = try origin.ask("POST", target, body: [])
      #expect(post.status == 405 && !Self.isShared(post))
      let options = try origin.ask("OPTIONS", target)
      #expect(options.status == 204 && !Self.isShared(options))
      let failed = try origin.ask("GET", target, ["If-Match: \"other\""])
      #expect(failed.status == 412 && failed.field("Cache-Control") == "no-store")
      #expect(failed.field("CDN-Cache-Control") == nil)
    }
  }

  @Test func codingsAndConditions() throws {
    let origin = try Self.published()
    for query in ["app=shop", "app=shop&version=1&patch=1", "app=shop&version=2"] {
      var tags: Set<String> = []
      for coding in ["identity", "gzip", "zstd"] {
        let lines = ["Accept-Encoding: \(coding)"]
        for _ in 0..<2 {
          let reply = try origin.ask("GET", "/configure.json?\(query)", lines)
          #expect(reply.status == 200 && Self.isShared(reply) && reply.field("Vary") == "Accept-Encoding")
          let tag = try #require(reply.field("ETag"))
          tags.insert(tag)
          let again = try origin.ask("GET", "/configure.json?\(query)", lines + ["If-None-Match: \(tag)"])
          #expect(again.status == 304 && Self.isShared(again) && again.field("ETag") == tag)
          #expect(again.body.isEmpty && again.field("Content-Encoding") == nil)
          let head = try origin.ask("HEAD", "/configure.json?\(query)", lines)
          #expect(head.head == reply.head)
        }
      }
      #expect(query != "app=shop" || tags.count == 3)
    }
    // An answer that isn't kept has the same bytes, so the same tag.
    let (kept, other) = (
      try origin.ask("GET", "/configure.json?app=shop"), try origin.ask("GET", "/xcache/shop/configure.json")
    )
    #expect(kept.body == other.body && kept.field("ETag") == other.field("ETag"))
  }

  @Test func tagsOfOtherChannels() throws {
    let origin = try Self.published()
    try origin.publish(["a.js": "a"], app: "Other-app_2")
    try origin.publish(["a.js": "a"], channel: "beta")
    for (query, tag) in [
      ("app=Other-app_2", "xcache:Other-app_2:online"), ("channel=beta", "xcache:shop:beta"),
      ("channel=beta&version=1", "xcache:shop:beta"),
    ] {
      let reply = try origin.ask("GET", "/configure.json?\(query)")
      #expect(reply.field("Surrogate-Key") == tag && reply.field("Cache-Tag") == tag, "\(query)")
    }
    #expect(EdgeTag(try AppName("shop"), .online).text == "xcache:shop:online")
  }
}
