import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import SocketServer
import System
import Testing
import TestSupport
import Values

@testable import Publishing

@Suite struct PublisherTests {
  let folder: Scratch
  let origin = FakeOrigin()

  init() throws { folder = try Scratch() }

  func bundle(_ name: String = "main", _ dir: String = "site") throws -> BundleSource {
    BundleSource(
      try BundleName(name),
      folders: [.init("\(folder.path)/\(dir)", baseURL: try BaseURL("https://m.example.com/\(name)/"))])
  }

  var channel: ChannelAddress {
    get throws { ChannelAddress(try AppName("shop"), .online) }
  }

  /// A publisher, as in a new process.
  func publisher(
    token: String? = "secret", server: String? = nil,
    progress: @escaping @Sendable (Publisher.Progress) -> Void = { _ in }
  ) throws -> Publisher {
    let api = OriginClient(
      server: try BaseURL(server ?? origin.url), token: token,
      retries: { RetryPolicy(attempts: 12, first: 1, hasAnswered: $0) })
    return Publisher(api, cache: PublishCache(path: folder.path + "/cache"), progress: progress)
  }

  @discardableResult
  func publish(_ bundles: [BundleSource]? = nil, _ options: ReleaseOptions = .init(), rehash: Bool = false)
    throws
    -> PublishResult
  {
    var options = PublishOptions(options)
    options.rehash = rehash
    return try publisher().publish(bundles ?? [bundle()], to: try channel, options)
  }

  /// Expects that the origin has exactly the files of the folder, byte for byte.
  func expectMirrored(_ name: String = "main", _ dir: String = "site") throws {
    let files = try Scan.files(in: "\(folder.path)/\(dir)")
    let (entries, blobs) = origin.with { ($0.current(name), $0.blobs) }
    #expect(entries.count == files.count)
    for file in files {
      let url = try ResourceURL.mapping(base: BaseURL("https://m.example.com/\(name)"), path: file.path).text
      let bytes = try DurableFile.read(file.location)
      #expect(entries[url]?["sha256"]?.string.flatMap { blobs[$0] } == bytes, "\(url)")
    }
  }

  /// Two files in a file system, but equal strings in Swift.
  @Test func canonicallyEquivalentNamesAreTwoFiles() throws {
    try folder.write("site/\u{E4}.js", "one 1")
    try folder.write("site/a\u{308}.js", "two 2")
    try publish()
    try expectMirrored()
    #expect(origin.with { $0.current("main").count } == 2)
  }

  @Test func firstThenUnchangedThenOneChange() throws {
    for index in 0..<30 { try folder.write("site/f\(index).js", "content \(index)") }
    try folder.write("site/large.bin", [UInt8](repeating: 7, count: 300_000))
    let first = try publish(nil, ReleaseOptions(message: "one"))
    #expect(first.answer.isChanged && first.added == 31 && first.changed == 0 && first.removed == 0)
    #expect(first.uploaded == 31 && first.uploadedBytes == first.bytes)
    try expectMirrored()
    #expect(origin.with { $0.releases.last?["message"]?.string } == "one")
    _ = origin.requests()

    let again = try publish()
    #expect(!again.answer.isChanged && again.answer.version == ManifestVersion(1))
    #expect(again.uploaded == 0 && again.bytesSent < 200)
    #expect(
      origin.requests() == ["GET apps/shop/channels/online", "POST apps/shop/channels/online/releases"])

    try folder.write("site/f7.js", "changed")
    try folder.write("site/new.js", "new")
    let third = try publish()
    #expect(third.added == 1 && third.changed == 1 && third.removed == 0 && third.uploaded == 2)
    #expect(third.bytesSent < 2000)
    #expect(
      origin.requests() == [
        "GET apps/shop/channels/online", "POST blobs/missing", "POST blobs",
        "POST apps/shop/channels/online/preparations", "POST apps/shop/channels/online/releases",
      ])
    try expectMirrored()
  }

  @Test func otherReleaseIsFetchedAsADifference() throws {
    for index in 0..<50 { try folder.write("site/f\(index).js", "content \(index)") }
    try publish()
    let other = Publisher(
      OriginClient(server: try BaseURL(origin.url), token: "secret"), cache: PublishCache(path: nil))
    try folder.write("elsewhere/f0.js", "theirs")
    let otherSource = BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path + "/elsewhere", baseURL: try BaseURL("https://m.example.com/main"))])
    _ = try other.publish([otherSource], to: try channel)
    _ = origin.requests()
    let result = try publish()
    #expect(result.added == 49 && result.changed == 1)
    #expect(origin.requests().contains("GET apps/shop/channels/online/bundles/main/entries?since=1"))
    #expect(result.answer.bundles.first?.replaced == nil)
    try expectMirrored()
  }

  @Test func concurrentReleaseIsNamed() throws {
    try folder.write("site/a.js", "one")
    try publish()
    try folder.write("site/a.js", "two")
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/releases") else { return nil }
        model.fault = nil
        model.version += 1
        model.bundles["main"]?.append((model.version, [:]))
        return nil
      }
    }
    let result = try publish()
    #expect(
      result.answer.bundles.first?.replaced
        == ReleaseStamp(
          version: ManifestVersion(2), author: "ci", at: try #require(Moment(wire: FakeOrigin.time))))
    #expect(result.answer.version == ManifestVersion(3))
    try expectMirrored()
  }

  @Test func otherOriginAtTheSameAddressIsDetected() throws {
    try folder.write("site/a.js", "one")
    try publish()
    // The same numbers, but other content: only the id differs.
    origin.with { model in
      model.id = "second"
      let entries = model.current("main").mapValues { entry -> JSONValue in
        var object = entry.object ?? JSONObject()
        object["sha256"] = .string(SHA256.of([1]).hex)
        return .object(object)
      }
      model.bundles["main"] = [(1, entries)]
      model.blobs = [:]
    }
    #expect(try publish().changed == 1)
    try expectMirrored()
  }

  @Test func restoredOriginIsDetectedByItsNumbers() throws {
    for index in 0..<5 { try folder.write("site/f\(index).js", "content \(index)") }
    try publish()
    // Fewer resources in the cached version.
    origin.with { model in
      var entries = model.current("main")
      entries["https://m.example.com/main/f0.js"] = nil
      model.bundles["main"] = [(1, entries)]
    }
    #expect(try publish().added == 1)
    // The cached version was released again with other entries.
    origin.with { model in
      model.bundles["main"] = [
        (2, [:]), (3, ["https://m.example.com/main/other": model.current("main").values.first ?? .null]),
      ]
      model.version = 3
    }
    let last = try publish()
    #expect(last.added == 5 && last.removed == 1)
    try expectMirrored()
  }

  @Test func versionRemovedAtTheOriginIsFetchedAgain() throws {
    try folder.write("site/a.js", "one")
    try publish()
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/releases") else { return nil }
        model.fault = nil
        return FakeOrigin.problem(409, "unknown-base", "version 1 is not kept")
      }
    }
    try folder.write("site/a.js", "two")
    _ = origin.requests()
    #expect(try publish().changed == 1)
    #expect(origin.requests().contains("GET apps/shop/channels/online/bundles/main/entries"))
    try expectMirrored()
  }

  @Test func severalBundlesInOneRelease() throws {
    try folder.write("one/a.js", "same")
    try folder.write("two/b.js", "same")
    try folder.write("two/c.js", "other")
    let result = try publish([bundle("A", "one"), bundle("B", "two")])
    #expect(result.answer.bundles.map(\.bundle) == ["A", "B"])
    #expect(result.uploaded == 2 && result.files == 3)
    #expect(origin.with { $0.version } == 1)
    try expectMirrored("A", "one")
    try expectMirrored("B", "two")
    #expect(
      words { _ = try publish([bundle("A", "one"), bundle("A", "two")]) }?.hasPrefix(
        "bundle A is given twice") == true)
  }

  @Test func resetsTimeoutsAndErrorsAreRetried() throws {
    for index in 0..<8 {
      try folder.write("site/f\(index).bin", [UInt8](repeating: UInt8(index), count: 100_000))
    }
    let count = Locked(0)
    origin.with { model in
      model.fault = { _, _ in
        let number = count.withLock { value in
          value += 1
          return value
        }
        switch number % 4 {
        case 1: return nil
        case 2: return [.reset]
        case 3: return FakeOrigin.problem(503, "busy", "busy")
        default: return nil
        }
      }
    }
    #expect(try publish().added == 8)
    try expectMirrored()
  }

  @Test func secondRunSendsOnlyTheRest() throws {
    for index in 0..<12 {
      try folder.write("site/f\(index).bin", [UInt8](repeating: UInt8(index), count: 100_000))
    }
    let puts = Locked(0)
    origin.with { model in
      model.fault = { _, request in
        guard request.method == "PUT" else { return nil }
        let number = puts.withLock { value in
          value += 1
          return value
        }
        return number > 5 ? [.reset] : nil
      }
    }
    #expect(words { try publish() }?.contains("closed the connection") == true)
    #expect(origin.with { $0.version } == 0)
    let kept = origin.with { model in
      model.fault = nil
      return model.blobs.count
    }
    #expect(kept == 5)
    #expect(try publish().uploaded == 7)
    try expectMirrored()
  }

  @Test func blobsMissingAtTheReleaseAreSent() throws {
    try folder.write("site/a.js", "one")
    try folder.write("site/b.js", "two")
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/releases"), model.releases.isEmpty else { return nil }
        model.blobs[SHA256.of(Array("one".utf8)).hex] = nil
        return nil
      }
    }
    #expect(try publish().added == 2)
    #expect(origin.with { $0.releases.count } == 2)
    try expectMirrored()
  }

  @Test func blobThatStaysMissingIsAnError() throws {
    try folder.write("site/a.js", "one")
    origin.with { model in
      model.fault = { model, request in
        if request.path.hasSuffix("/releases") { model.blobs = [:] }
        return nil
      }
    }
    #expect(words { try publish() } == "blobs are missing")
    #expect(origin.with { $0.releases.count } == 4)
  }

  @Test func conflictsAreNamed() throws {
    try folder.write("site/a.js", "one")
    origin.with { model in
      model.fault = { _, request in
        guard request.path.hasSuffix("/releases") else { return nil }
        return FakeOrigin.problem(
          409, "url-conflict", "2 URLs are in another bundle with other bytes",
          [
            "conflicts": [
              ["url": "https://m/a", "bundle": "x", "sha256": "00"], ["url": "https://m/b", "bundle": "y"],
            ]
          ])
      }
    }
    let error = #expect(throws: PublishError.self) { try publish() }
    #expect(error?.exitCode == 3)
    #expect(
      error?.message
        == "2 URLs are in another bundle with other bytes\n  https://m/a is in bundle x\n  https://m/b is in bundle y"
    )
  }

  @Test func wrongTokenAndNoServer() throws {
    try folder.write("site/a.js", "one")
    let refused = #expect(throws: PublishError.self) {
      try publisher(token: "wrong").publish([bundle()], to: try channel)
    }
    #expect(refused?.message == "no such token; give one with --token or XCACHE_TOKEN, or run `xcache login`")
    #expect(refused?.exitCode == 1)
    #expect(!"\(try #require(refused))".contains("wrong"))
    let port = SocketServer { _ in [] }.port
    let start = Clock.monotonicNanoseconds()
    let unreachableError = #expect(throws: PublishError.self) {
      try publisher(server: "http://127.0.0.1:\(port)").publish([bundle()], to: try channel)
    }
    let unreachable =
      "http://127.0.0.1:\(port) can't be reached: nothing answers at 127.0.0.1 port \(port); make sure "
    #expect(unreachableError?.message.hasPrefix(unreachable) == true)
    #expect(Clock.monotonicNanoseconds() - start < 1_000_000_000)
  }

  @Test(arguments: [
    (200, "<html>", "an answer that isn't JSON"), (404, "<html>", "status 404 without a reason"),
    (200, "{}", "an answer that can't be read"),
  ])
  func serversThatAreNoOrigin(_ status: Int, _ body: String, _ found: String) throws {
    try folder.write("site/a.js", "one")
    origin.with { $0.fault = { _, _ in .answer(status, body: body.utf8) } }
    let message = try #require(words { try publish() })
    #expect(message.hasPrefix("\(origin.url) doesn't answer like an xcache origin: \(found)"), "\(message)")
  }

  @Test func dryRunSendsFilesAndReleasesNothing() throws {
    try folder.write("site/a.js", "one")
    let result = try publish(nil, ReleaseOptions(dryRun: true))
    #expect(result.added == 1 && result.uploaded == 1)
    #expect(origin.with { $0.version } == 0)
    #expect(origin.requests().contains("POST apps/shop/channels/online/preparations"))
    // The following publish finds them there.
    #expect(try publish().uploaded == 0)
  }

  @Test func fileChangedBeforeItIsSentIsNamed() throws {
    let path = try folder.write("site/a.bin", [UInt8](repeating: 1, count: 100_000))
    let folder = self.folder
    origin.with { model in
      model.fault = { _, request in
        if request.path.hasSuffix("/missing") {
          do { try folder.write("site/a.bin", [UInt8](repeating: 2, count: 100_000)) } catch {
            return [.reset]
          }
        }
        return nil
      }
    }
    #expect(
      words { try publish() } == "\(path) changed while it was read: publish again when the build is done")
    #expect(origin.with { $0.version } == 0)
  }

  @Test func fileModifiedInTransitIsNamed() throws {
    let path = try folder.write("site/a.bin", [UInt8](repeating: 1, count: 100_000))
    origin.with { model in
      model.fault = { _, request in
        request.method == "PUT" ? FakeOrigin.problem(422, "digest-mismatch", "two hashes") : nil
      }
    }
    #expect(words { try publish() }?.hasPrefix("\(path) arrived at the origin with different bytes") == true)
  }

  /// For example by a virus scanner that rejects one file of a hundred.
  @Test func fileOfAPackModifiedInTransitIsNamed() throws {
    for index in 0..<100 { try folder.write("site/f\(index).js", "let f = \(index)") }
    let path = try folder.write("site/bad.js", "let bad = 1")
    let bad = SHA256.of(Array("let bad = 1".utf8)).hex
    origin.with { model in
      model.fault = { _, request in
        let isPack = request.method == "POST" && request.path.hasSuffix("/blobs")
        guard isPack || request.method == "PUT" && request.path.hasSuffix(bad) else { return nil }
        return FakeOrigin.problem(422, "digest-mismatch", "two hashes")
      }
    }
    #expect(words { try publish() }?.hasPrefix("\(path) arrived at the origin with different bytes") == true)
  }

  @Test func packModifiedOnceIsSentAgain() throws {
    for index in 0..<10 { try folder.write("site/f\(index).js", "let f = \(index)") }
    let isBroken = Locked(true)
    origin.with { model in
      model.fault = { _, request in
        guard request.method == "POST", request.path.hasSuffix("/blobs") else { return nil }
        let isNow = isBroken.withLock { isBroken in
          defer { isBroken = false }
          return isBroken
        }
        return isNow ? FakeOrigin.problem(422, "digest-mismatch", "two hashes") : nil
      }
    }
    #expect(try publish().uploaded == 10)
  }

  @Test func progressReachesTheEnd() throws {
    for index in 0..<20 { try folder.write("site/f\(index).js", String(repeating: "x", count: index * 9000)) }
    let reported = Locked<[Publisher.Progress]>([])
    _ = try publisher { progress in reported.withLock { $0.append(progress) } }
      .publish([bundle()], to: try channel)
    let all = reported.withLock { $0 }
    #expect(all.last == .releasing)
    #expect(all.contains { if case .hashing(20, of: 20, bytes: 1_710_000) = $0 { true } else { false } })
    #expect(all.contains { if case .sending(let sent, let total) = $0 { sent >= total } else { false } })
  }

  @Test func largeFilesAreNotHeldInMemory() throws {
    // One file larger than the memory that a publish may use; only the test's own server holds it.
    try folder.write("site/large.bin", [UInt8](repeating: 3, count: 40 << 20))
    #expect(try publish().uploaded == 1)
    #expect(origin.with { $0.largestBody } == 40 << 20)
  }

  @Test func unpublishing() throws {
    try folder.write("site/a.js", "one")
    try publish()
    let answer = try publisher().unpublish([BundleName("main")], from: try channel).value
    #expect(answer.isChanged && answer.bundles.first?.removed == 1)
    #expect(origin.with { $0.current("main").isEmpty })
    // The cache has the removed bundle; the next publish notices that it is gone.
    #expect(try publish().added == 1)
    try expectMirrored()
  }

  @Test func damagedCacheChangesNothing() throws {
    for index in 0..<5 { try folder.write("site/f\(index).js", "content \(index)") }
    try publish()
    for kind in ["entries", "hashes"] {
      let path = "\(folder.path)/cache/\(kind)"
      for name in try Folder.textNames(path) {
        var bytes = try #require(try DurableFile.read("\(path)/\(name)"))
        bytes[bytes.count / 2] ^= 0xFF
        try folder.write("cache/\(kind)/\(name)", bytes)
      }
    }
    try folder.write("site/f0.js", "changed")
    #expect(try publish().changed == 1)
    try expectMirrored()
  }

  @Test func rehashReadsEverything() throws {
    for index in 0..<5 { try folder.write("site/f\(index).js", "content \(index)") }
    Scratch.settle()
    try publish()
    #expect(try publish().filesRead == 0)
    _ = origin.requests()
    #expect(try publish(rehash: true).filesRead == 5)
    #expect(origin.requests().contains("GET apps/shop/channels/online/bundles/main/entries"))
  }
}
