import Compression
import HTTP
import Manifests
import System
import Testing

@testable import Origin
@testable import Store

/// Coded bodies of files that haven't been requested yet.
@Suite struct ColdFileTests {
  private static let script = (0..<40_000).map { "export const a\($0 * 7919) = \($0 * $0);\n" }.joined()

  private static func path(_ origin: TestOrigin) throws -> String {
    let map = try origin.ask("GET", "/configure.json").json["data"]?["resourcemap"]
    let url = map?["https://m.example.com/a.js"]?["download"]?.string ?? ""
    return String(url.dropFirst("https://cdn.example.com".count))
  }

  /// Repeats the request until the answer has the coding.
  private static func coded(_ origin: TestOrigin, _ path: String, _ coding: String) throws -> TestOrigin
    .Reply?
  {
    for _ in 0..<2000 {
      let reply = try origin.ask("GET", path, ["Accept-Encoding: \(coding)"])
      if reply.field("Content-Encoding") != nil { return reply }
      Clock.sleep(for: .milliseconds(10))
    }
    return nil
  }

  @Test func largeFileIsPlainUntilItIsCoded() throws {
    let origin = try TestOrigin()
    let other = try origin.onAnotherLoop()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let first = try origin.ask("GET", path, ["Accept-Encoding: gzip, zstd"])
    #expect(first.status == 200 && first.text == Self.script && first.field("Content-Encoding") == nil)
    // A CDN must not keep it for a year; devices may.
    #expect(first.field("CDN-Cache-Control") == "max-age=60")
    #expect(first.field("Cache-Control") == "public, max-age=31536000, immutable")
    let part = try other.ask("GET", path, ["Accept-Encoding: gzip", "Range: bytes=0-99"])
    #expect(part.status == 206 && part.text == String(Self.script.prefix(100)))
    for loop in [origin, other] {
      let reply = try #require(try Self.coded(loop, path, "zstd"))
      #expect(reply.field("Content-Encoding") == "zstd" && reply.field("CDN-Cache-Control") == nil)
      #expect(reply.body.count < Self.script.utf8.count / 2)
      let gzip = try loop.ask("GET", path, ["Accept-Encoding: gzip"])
      #expect(gzip.field("Content-Encoding") == "gzip")
      #expect(try loop.ask("GET", path).field("CDN-Cache-Control") == nil)
    }
    // After a restart it is available at once.
    let reply = try origin.restarted().ask("GET", path, ["Accept-Encoding: zstd"])
    #expect(reply.field("Content-Encoding") == "zstd")
  }

  @Test func codingSetsADamagedFileAside() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin)
    let blob = origin.store.folder.blob(SHA256.of(Array(Self.script.utf8)))
    // It was checked before, so only the coding reads it again.
    #expect(try origin.ask("GET", path, ["Accept-Encoding: identity", "Range: bytes=0-0"]).status == 206)
    _ = try Self.coded(origin, path, "gzip")
    let folder = "\(origin.folder)/derived"
    for name in try Folder.textNames(folder) {
      for file in try Folder.textNames("\(folder)/\(name)") { try Kernel.remove("\(folder)/\(name)/\(file)") }
    }
    var bytes = try #require(try DurableFile.read(blob))
    bytes[100] ^= 1
    try Kernel.write(bytes.span.bytes, to: Kernel.open(blob, [.write]), path: blob)
    let again = try origin.restarted()
    _ = try again.ask("GET", path, ["Accept-Encoding: gzip"])
    var status = 200
    for _ in 0..<1000 where status == 200 {
      Clock.sleep(for: .milliseconds(10))
      status = try again.ask("GET", path, ["Accept-Encoding: gzip"]).status
    }
    #expect(status == 500)
  }

  /// Incompressible bytes, large and small.
  @Test(arguments: [100_000, 400_000]) func poorCodingsAreRecorded(size: Int) throws {
    let origin = try TestOrigin()
    let store = origin.store
    let bytes = Array(Secrets.random(size))
    let sha256 = SHA256.of(bytes)
    try Kernel.makeFolder(DurableFile.parent(of: store.folder.blob(sha256)), mode: 0o750)
    try DurableFile.write(bytes, to: store.folder.blob(sha256))
    let coded = try CodedFiles(store: store) { _ in }
    var bodies = try coded.bodies(of: sha256, size: Int64(size))
    #expect(bodies.isIncomplete == (size > CodedFiles.largestAtOnce))
    if bodies.isIncomplete {
      let made = Monitor(false)
      coded.request(sha256) { made.broadcasting { $0 = true } }
      made.waiting { $0 ? () : nil }
      bodies = try coded.bodies(of: sha256, size: Int64(size))
    }
    #expect(!bodies.isIncomplete && bodies.gzip == nil && bodies.zstd == nil)
    for coding in ["gzip", "zstd"] { #expect(try store.derived.isPoor(coding, for: sha256)) }
    // Without reading the file again, in this process or the next.
    try Kernel.remove(store.folder.blob(sha256))
    #expect(try !CodedFiles(store: store) { _ in }.bodies(of: sha256, size: Int64(size)).isIncomplete)
  }
}
