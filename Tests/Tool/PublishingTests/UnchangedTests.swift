import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System
import Testing
import TestSupport
import Values

@testable import Publishing

/// Publishing folders that haven't changed since the origin was last known to have the same content.
extension PublisherTests {
  private var states: [String] { (try? Folder.textNames(folder.path + "/cache/states")) ?? [] }

  /// Publishes until the state is cached: a file younger than 2 s could still change without a trace.
  private func settle(_ bundles: [BundleSource]? = nil) throws {
    try publish(bundles)
    #expect(states.isEmpty)
    Clock.sleep(for: .milliseconds(2100))
    let again = try publish(bundles)
    #expect(!again.answer.isChanged && states.count == 1)
    _ = origin.requests()
  }

  @Test func unchangedFoldersAreNotMapped() throws {
    for index in 0..<30 { try folder.write("site/d\(index % 3)/f\(index).js", "content \(index)") }
    try settle()
    // The other caches are deleted, and not needed.
    for kind in ["hashes", "entries"] {
      for name in try Folder.textNames(folder.path + "/cache/\(kind)") {
        try Kernel.remove(folder.path + "/cache/\(kind)/\(name)")
      }
    }
    let result = try publish()
    #expect(!result.answer.isChanged && result.filesRead == 0 && result.files == 30)
    #expect(result.bytes == (0..<30).reduce(0) { $0 + Int64("content \($1)".utf8.count) })
    #expect(
      origin.requests() == ["GET apps/shop/channels/online", "POST apps/shop/channels/online/releases"])
    #expect(try publish(nil, rehash: true).filesRead == 30)
  }

  /// A newer program may treat the same files differently.
  @Test func otherVersionOfTheProgramChecksEverything() throws {
    for index in 0..<5 { try folder.write("site/f\(index).js", "content \(index)") }
    try settle()
    for name in try Folder.textNames(folder.path + "/cache/hashes") {
      try Kernel.remove(folder.path + "/cache/hashes/\(name)")
    }
    func publish(_ program: String) throws -> PublishResult {
      let api = OriginClient(server: try BaseURL(origin.url), token: "secret")
      let publisher = Publisher(api, cache: PublishCache(path: folder.path + "/cache"), program: program)
      return try publisher.publish([bundle()], to: try channel)
    }
    #expect(try publish("").filesRead == 0)
    #expect(try publish("xcache/2").filesRead == 5)
    #expect(try publish("xcache/2").filesRead == 0)
  }

  /// Each of these makes the next publish check everything.
  @Test(arguments: ["bytes", "times set back", "new file", "gone file", "renamed", "link", "headers", "base"])
  func changesThatCount(_ change: String) throws {
    for index in 0..<5 { try folder.write("site/d/f\(index).js", "content \(index)") }
    try settle()
    let path = folder.path + "/site/d/f2.js"
    var source = try bundle()
    switch change {
    case "bytes": try folder.write("site/d/f2.js", "CONTENT 2")
    case "times set back":
      let before = try #require(try Kernel.status(path))
      try folder.write("site/d/f2.js", "CONTENT 2")
      try Kernel.setModified(path, to: before.modified / 1_000_000)
    case "new file": try folder.write("site/d/new.js", "new")
    case "gone file": try Kernel.remove(path)
    case "renamed": try Kernel.rename(path, to: folder.path + "/site/d/f9.js")
    case "link":
      try Kernel.remove(path)
      folder.link("site/d/f2.js", to: "f3.js")
    case "headers":
      source.types = [.init(try #require(Glob("*.js")), try #require(ContentType("text/plain")))]
    default:
      source.folders = [.init(folder.path + "/site", baseURL: try BaseURL("https://other.example.com"))]
    }
    let result = try publish([source])
    #expect(result.answer.isChanged, "\(change)")
    #expect(result.answer.version == ManifestVersion(2))
  }

  /// The origin's content has changed since.
  @Test(arguments: ["another release", "another origin", "lost bytes"]) func changedOrigin(
    _ change: String
  )
    throws
  {
    try folder.write("site/a.js", "a")
    try folder.write("elsewhere/a.js", "theirs")
    try settle()
    switch change {
    case "another release":
      let otherSource = BundleSource(
        try BundleName("main"),
        folders: [.init(folder.path + "/elsewhere", baseURL: try BaseURL("https://m.example.com/main"))])
      let other = Publisher(
        OriginClient(server: try BaseURL(origin.url), token: "secret"), cache: PublishCache(path: nil))
      _ = try other.publish([otherSource], to: try channel)
      #expect(try publish().answer.isChanged)
      try expectMirrored()
    case "another origin":
      origin.with { model in
        model.id = "second"
        model.bundles = [:]
        model.blobs = [:]
      }
      #expect(try publish().added == 1)
      try expectMirrored()
    default:
      let lost = SHA256.of(Array("a".utf8)).hex
      origin.with { model in
        model.blobs[lost] = nil
        model.damaged = [lost]
      }
      #expect(try publish().uploaded == 1)
      #expect(origin.with { $0.blobs[lost] } != nil)
    }
  }

  /// Damage that is found between the query and the release.
  @Test func blobMissingAtTheReleaseIsSent() throws {
    try folder.write("site/a.js", "a")
    try settle()
    let lost = SHA256.of(Array("a".utf8)).hex
    origin.with { model in
      model.fault = { model, request in
        guard request.path.hasSuffix("/releases") else { return nil }
        model.fault = nil
        model.blobs[lost] = nil
        model.damaged = [lost]
        return FakeOrigin.problem(422, "missing-blobs", "blobs are missing", ["missing": .strings([lost])])
      }
    }
    #expect(try publish().uploaded == 1)
    #expect(origin.with { $0.blobs[lost] } != nil)
  }

  @Test func damagedCacheIsIgnored() throws {
    try folder.write("site/a.js", "a")
    try settle()
    let path = folder.path + "/cache/states/" + (try #require(states.first))
    let whole = try #require(try DurableFile.read(path))
    for index in stride(from: 0, to: whole.count, by: 5) {
      var bytes = whole
      bytes[index] ^= 0x10
      try DurableFile.write(bytes, to: path)
      #expect(try !publish().answer.isChanged)
    }
  }
}
