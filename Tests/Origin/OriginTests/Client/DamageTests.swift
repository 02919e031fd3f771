import Compression
import Glibc
import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// Files that are damaged on the disk while they are served.
@Suite struct DamageTests {
  private static let script = String(repeating: "export const answer = 42;\n", count: 60)
  private static let sha256 = SHA256.of(Array(script.utf8))

  /// The download URL of the published file, as a request path.
  private static func path(_ origin: TestOrigin) throws -> String {
    let map = try origin.ask("GET", "/configure.json").json["data"]?["resourcemap"]
    let url = map?["https://m.example.com/a.js"]?["download"]?.string ?? ""
    return String(url.dropFirst("https://cdn.example.com".count))
  }

  @Test(arguments: ["identity", "gzip", "zstd", "dcz"])
  func damagedBlobIsNotServedOnceFound(coding: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let lines = ["Accept-Encoding: \(coding)"]
    for _ in 0..<2 { #expect(try origin.ask("GET", path, lines).status == 200) }
    try flip(origin.store.folder.blob(Self.sha256))
    #expect(try origin.store.scrub { _ in true } == [Self.sha256])
    #expect(try origin.ask("GET", path, lines).status == 500)
    // With the right bytes uploaded again, it is served at once.
    let bytes = Array(Self.script.utf8)
    #expect(try origin.store.missing(of: [Self.sha256]) == [Self.sha256])
    let claim = BlobClaim(sha256: Self.sha256, md5: MD5.of(bytes), size: Int64(bytes.count))
    #expect(try origin.store.receive(bytes.span.bytes, claim) == .stored)
    #expect(try origin.store.missing(of: [Self.sha256]).isEmpty)
    let healed = try origin.ask("GET", path, ["Accept-Encoding: identity"])
    #expect(healed.status == 200 && healed.text == Self.script)
  }

  /// A file is truncated while it is open: the answer that notices is aborted, and the next one is an error.
  @Test func fileTruncatedWhileOpen() throws {
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { $0.log = { line in lines.withLock { $0.append(line) } } }
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let other = try origin.onAnotherLoop()
    for loop in [origin, other] { #expect(try loop.ask("GET", path).text == Self.script) }
    let blob = origin.store.folder.blob(Self.sha256)
    try Kernel.truncate(Kernel.open(blob, [.write]), to: 100)
    let found = origin.store.changes.found.blobs
    let cut = try origin.ask("GET", path)
    #expect(cut.status == 200 && cut.body.count == 100)
    #expect(origin.store.changes.found.blobs == found + 1)
    #expect(lines.withLock { $0.contains { $0.contains("\(Self.sha256)") } }, "\(lines.withLock { $0 })")
    for loop in [origin, other] { #expect(try loop.ask("GET", path).status == 500) }
    #expect(try origin.store.missing(of: [Self.sha256]) == [Self.sha256])
    try origin.publish(["a.js": Self.script])
    for loop in [origin, other] { #expect(try loop.ask("GET", path).text == Self.script) }
  }

  /// The right file has been restored, but the open one is still the truncated file.
  @Test func restoredFileIsReopened() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    #expect(try origin.ask("GET", path).text == Self.script)
    let blob = origin.store.folder.blob(Self.sha256)
    try Kernel.truncate(Kernel.open(blob, [.write]), to: 100)
    try DurableFile.write(Array(Self.script.utf8), to: blob)
    #expect(try origin.ask("GET", path).body.count == 100)
    #expect(try origin.ask("GET", path).text == Self.script)
  }

  @Test(arguments: ["gzip", "zstd"]) func codedFileTruncatedWhileOpen(coding: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let lines = ["Accept-Encoding: \(coding)"]
    let good = try origin.ask("GET", path, lines)
    let file = origin.store.derived.file(Self.sha256, coding)
    try Kernel.truncate(Kernel.open(file, [.write]), to: 10)
    let found = origin.store.changes.found.derived
    #expect(try origin.ask("GET", path, lines).body.count == 10)
    #expect(origin.store.changes.found.derived == found + 1)
    let again = try origin.ask("GET", path, lines)
    #expect(again.status == 200 && again.body == good.body)
  }

  @Test(arguments: ["gzip", "zstd"]) func damagedCodedFileIsMadeAgain(coding: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let lines = ["Accept-Encoding: \(coding)"]
    let good = try origin.ask("GET", path, lines)
    try flip(origin.store.derived.file(Self.sha256, coding))
    // Another loop, as after a start, without open files.
    let other = try origin.onAnotherLoop()
    let again = try other.ask("GET", path, lines)
    #expect(again.status == 200 && again.body == good.body)
  }

  @Test(arguments: ["gzip", "zstd"]) func codedFileIsNotMadeFromDamagedBytes(coding: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    #expect(try origin.ask("GET", path).status == 200)
    for coding in ["gzip", "zstd"] { try Kernel.remove(origin.store.derived.file(Self.sha256, coding)) }
    try flip(origin.store.folder.blob(Self.sha256))
    #expect(try origin.onAnotherLoop().ask("GET", path, ["Accept-Encoding: \(coding)"]).status == 500)
  }
}

extension DamageTests {
  /// The scrub thread finds damaged files, and the metrics have their number.
  @Test func scrubFindsAllKindsOfFiles() throws {
    let origin = try TestOrigin { $0.scrub = 2 }
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let good = try origin.ask("GET", path, ["Accept-Encoding: gzip"])
    try origin.origin.startBackgroundWork()
    defer {
      origin.origin.beginStopping()
      origin.origin.finish()
    }
    let changes = origin.store.changes
    try flip(origin.store.derived.file(Self.sha256, "gzip"))
    try flip(origin.store.folder.blob(Self.sha256))
    let end = Clock.monotonicNanoseconds() + 60_000_000_000
    while changes.found.blobs == 0 || changes.found.derived == 0, Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(10))
    }
    #expect(try origin.ask("GET", path).status == 500)
    let metrics = try origin.ask("GET", "/metrics").text
    #expect(metrics.contains("xcache_damaged_files_total{kind=\"blob\"} 1\n"))
    #expect(metrics.contains("xcache_damaged_files_total{kind=\"derived\"} 1\n"))
    #expect(
      metrics.contains("xcache_quarantined_blobs 1\n") && metrics.contains("xcache_scrub_oldest_seconds"))
    let state = try origin.api("GET", "apps/shop/channels/online").json
    #expect(state["damagedURLs"]?.array?.first?["url"]?.string == "https://m.example.com/a.js")
    #expect(state["damagedURLs"]?.array?.first?["bundle"]?.string == "main")
    #expect(state["scrub"]?["files"]?.integer != nil)
    try origin.publish(["a.js": Self.script])
    #expect(try origin.ask("GET", path, ["Accept-Encoding: gzip"]).body == good.body)
  }

  @Test func damagedZipIsMadeAgain() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let target = "/xcache/shop/bundle/1.zip"
    let good = try origin.ask("GET", target)
    #expect(good.status == 200)
    let folder = "\(origin.folder)/derived/zips/1"
    try flip("\(folder)/\(try #require(try Folder.textNames(folder).first))")
    _ = try origin.store.scrub { _ in true }
    #expect(origin.store.changes.found.derived == 1)
    let again = try origin.ask("GET", target)
    #expect(again.status == 200 && again.body == good.body)
  }

  @Test func damagedDeltaIsNotServed() throws {
    let origin = try TestOrigin()
    let (target, base) = (SHA256.of([1]), SHA256.of([2]))
    try origin.store.derived.keep([1, 2, 3, 4], of: target, on: base)
    let path = "/xcache/delta/\(target.hex)/\(base.hex).dcz"
    for _ in 0..<2 { #expect(try origin.ask("GET", path).body == [1, 2, 3, 4]) }
    try flip(origin.store.derived.deltaFile(target, on: base))
    _ = try origin.store.scrub { _ in true }
    #expect(try origin.ask("GET", path).status == 404)
  }
}

/// Flips one bit in the middle of a file, in place.
func flip(_ path: String) throws {
  let file = try Kernel.open(path, .readWrite)
  let at = try Kernel.status(file).size / 2
  var byte: UInt8 = 0
  try #require(pread(file.raw, &byte, 1, off_t(at)) == 1)
  byte ^= 0x10
  try #require(pwrite(file.raw, &byte, 1, off_t(at)) == 1)
}
