import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Pictures of pages are blobs: they stay with their version, and go with it.
@Suite struct PagePictureTests {
  private static let png: [UInt8] =
    [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8)
    + [0, 0, 0, 3, 0, 0, 0, 2, 8, 2, 0, 0, 0]

  private func keep(_ store: Store, at version: Int64, _ bytes: [UInt8] = png) throws -> SHA256 {
    let sha256 = SHA256.of(bytes)
    _ = try store.receive(bytes.span.bytes, BlobClaim(sha256: sha256, md5: .of(bytes)))
    let size = try #require(try store.pictureSizes(of: [sha256])[sha256])
    #expect(size.bytes == Int64(bytes.count) && size.pixels?.width == 3 && size.pixels?.height == 2)
    let picture = PagePicture(page: try url("index.html"), sha256: sha256, size: 0, width: 3, height: 2)
    let kept = try store.keep([picture], of: store.shop(), at: ManifestVersion(version), by: .local)
    #expect(kept.map(\.sha256) == [sha256] && kept.first?.size == Int64(bytes.count))
    return sha256
  }

  private func collect(_ store: Store, keep: Int, dryRun: Bool = false) throws -> CollectionReport {
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (keep, 0)
    return try store.collect(policy, dryRun: dryRun)
  }

  @Test func gcKeepsThemWithTheirVersion() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["index.html": Sample("1", type: "text/html")])
    let sha256 = try keep(store, at: 1)
    try store.publish(base: 1, set: ["index.html": Sample("2", type: "text/html")])
    _ = try collect(store, keep: 2)
    #expect(try store.open(sha256).size == Int64(Self.png.count))
    #expect(try store.pictures(of: store.shop(), at: ManifestVersion(1)).count == 1)
    #expect(try store.checkup(deep: true).findings.isEmpty)
    let forecast = try collect(store, keep: 1, dryRun: true)
    let report = try collect(store, keep: 1)
    // The first page and its picture.
    #expect(forecast.blobs.count == 2 && report.blobs.count == 2)
    #expect(throws: StoreError.self) { _ = try store.open(sha256) }
    #expect(throws: StoreError.self) { _ = try store.pictures(of: store.shop(), at: ManifestVersion(1)) }
  }

  @Test func forecastCountsThemAsNeeded() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["index.html": Sample("1", type: "text/html")])
    _ = try keep(store, at: 1)
    #expect(try collect(store, keep: 1, dryRun: true).blobs.count == 0)
    #expect(try collect(store, keep: 1).blobs.count == 0)
  }

  @Test func unknownVersionsAndBytesKeepNone() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["index.html": Sample("1")])
    #expect(throws: StoreError.self) { _ = try keep(store, at: 2) }
    let absent = SHA256.of([1])
    #expect(throws: StoreError.self) { _ = try store.pictureSizes(of: [absent]) }
    let picture = PagePicture(page: try url("index.html"), sha256: absent, size: 0, width: 1, height: 1)
    #expect(throws: StoreError.self) {
      _ = try store.keep([picture], of: store.shop(), at: ManifestVersion(1), by: .local)
    }
  }

  @Test func damagedOnesArentListed() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["index.html": Sample("1", type: "text/html")])
    let sha256 = try keep(store, at: 1)
    try store.connections.transaction { (db) throws(StoreError) in
      try db.run("UPDATE blob SET quarantined_at = 1 WHERE sha256 = ?", sha256)
    }
    #expect(try store.pictures(of: store.shop(), at: ManifestVersion(1)).isEmpty)
  }

  @Test func backupHasThem() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["index.html": Sample("1", type: "text/html")])
    let sha256 = try keep(store, at: 1)
    let backup = scratch.path + "/backup"
    _ = try store.backUp(to: backup)
    let report = try Restore.restore(backup: backup, to: scratch.path + "/restored")
    #expect(report.damaged.isEmpty)
    let restored = try Store(path: scratch.path + "/restored")
    #expect(try restored.open(sha256).size == Int64(Self.png.count))
    #expect(try restored.pictures(of: restored.shop(), at: ManifestVersion(1)).map(\.sha256) == [sha256])
  }

  /// Devices take URLs for each other whose escapes differ; so do previews.
  @Test func listedFindsWhatMatches() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a%20b%41.js": Sample("1"), "c.js": Sample("2")])
    let (shop, version) = (try store.shop(), ManifestVersion(1))
    for path in ["a%20bA.js", "a%20b%41.js"] {
      #expect(
        try store.listed(url(path), of: shop, at: version)?.content.sha256 == SHA256.of(Array("1".utf8)),
        "\(path)")
    }
    let plain = try #require(try store.listed(url("c.js"), of: shop, at: version))
    #expect(plain.url == (try url("c.js")) && plain.bundles.map(\.text) == ["main"])
    #expect(try store.listed(url("d.js"), of: shop, at: version) == nil)
    #expect(throws: StoreError.self) { _ = try store.listed(url("c.js"), of: shop, at: ManifestVersion(9)) }
  }
}
