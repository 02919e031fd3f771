import Manifests
import System
import Testing
import Values

@testable import Origin

@Suite struct DownloadTests {
  private static let script = String(repeating: "export const answer = 42;\n", count: 60)

  /// The download URL of a published file, as a request path.
  private static func path(_ origin: TestOrigin, _ name: String) throws -> String {
    let map = try origin.ask("GET", "/configure.json").json["data"]?["resourcemap"]
    let url = map?["https://m.example.com/\(name)"]?["download"]?.string ?? ""
    #expect(url.hasPrefix("https://cdn.example.com/hxm/xcache/1/"))
    return String(url.dropFirst("https://cdn.example.com".count))
  }

  @Test func bytesWithAndWithoutThePrefix() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin, "a.js")
    for target in [path, String(path.dropFirst("/hxm".count))] {
      // The first time, a worker opens it; then the loop has it open.
      for _ in 0..<2 {
        let reply = try origin.ask("GET", target)
        #expect(reply.status == 200 && reply.text == Self.script)
        #expect(reply.field("Content-Type") == "application/javascript;charset=UTF-8")
        #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
        #expect(reply.field("Vary") == "Accept-Encoding, Available-Dictionary")
        #expect(reply.field("Access-Control-Allow-Origin") == "*")
        #expect(reply.field("ETag") == "\"\(MD5.of(Array(Self.script.utf8)).hex)\"")
      }
    }
  }

  @Test(arguments: ["gzip", "zstd"]) func codedBodies(coding: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin, "a.js")
    let reply = try origin.ask("GET", path, ["Accept-Encoding: \(coding)"])
    #expect(reply.field("Content-Encoding") == coding)
    #expect(reply.body.count < Self.script.utf8.count / 2)
    let md5 = MD5.of(Array(Self.script.utf8)).hex
    let digest = SHA256.of(reply.body).hex.prefix(16)
    #expect(reply.field("ETag") == "\"\(md5)-\(coding)-\(digest)\"")
    // derived/ may be deleted at any time.
    let folder = "\(origin.folder)/derived"
    for name in try Folder.textNames(folder) {
      for file in try Folder.textNames("\(folder)/\(name)") { try Kernel.remove("\(folder)/\(name)/\(file)") }
    }
    let again = try Origin(store: origin.store, options: .init(publicURL: BaseURL("https://a.example.com")))
    #expect(again.catalog.current.channels.count == 1)
    #expect(try origin.ask("GET", path, ["Accept-Encoding: \(coding)"]).body == reply.body)
  }

  @Test func rangesAndConditions() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin, "a.js")
    let part = try origin.ask("GET", path, ["Range: bytes=7-11"])
    #expect(part.status == 206 && part.text == "const")
    #expect(part.field("Content-Range") == "bytes 7-11/\(Self.script.utf8.count)")
    let tag = try origin.ask("GET", path).field("ETag") ?? ""
    #expect(try origin.ask("GET", path, ["If-None-Match: \(tag)"]).status == 304)
    #expect(try origin.ask("GET", path, ["Range: bytes=999999-"]).status == 416)
    #expect(try origin.ask("GET", path, ["Range: bytes=7-11", "If-Range: \"other\""]).status == 200)
  }

  /// Published pages share the origin with the API and the console, so they are sandboxed.
  @Test func publishedFilesAreSandboxed() throws {
    let origin = try TestOrigin()
    try origin.publish([
      "a.html": "<script>top.location = 'https://evil.example'</script>", "a.js": Self.script,
    ])
    let bytes = Array("void 0".utf8)
    let script = try origin.api(
      "POST", "apps/shop/channels/online/policy",
      [
        "act": "script-add", "bytes": .string(Base64.encode(bytes)), "name": "fix",
        "signature": .string(Base64.encode([UInt8](repeating: 0, count: 64))),
      ])
    #expect(script.status == 201, "\(script.text)")
    let page = try Self.path(origin, "a.html")
    let tag = try origin.ask("GET", page).field("ETag") ?? ""
    let requests: [(String, [String], Int)] = [
      (page, [], 200), (page, ["Range: bytes=0-3"], 206), (page, ["Range: bytes=0-1,4-5"], 206),
      (page, ["Range: bytes=9999-"], 416), (page, ["If-None-Match: \(tag)"], 304),
      (page, ["If-Match: \"x\""], 412),
      (try Self.path(origin, "a.js"), ["Accept-Encoding: gzip"], 200),
      (try Self.path(origin, "a.js"), ["Accept-Encoding: zstd"], 200),
      ("/xcache/shop/script/\(SHA256.of(bytes).hex).js", [], 200),
    ]
    for (path, lines, status) in requests {
      // The first time, a worker opens it; then the loop has it open.
      for method in ["GET", "GET", "HEAD"] {
        let reply = try origin.ask(method, path, lines)
        if method == "GET" { #expect(reply.status == status, "\(path) \(lines)") }
        #expect(reply.field("Content-Security-Policy") == "sandbox", "\(path) \(lines): \(reply.head)")
        #expect(reply.field("X-Content-Type-Options") == "nosniff", "\(path) \(lines): \(reply.head)")
      }
    }
  }

  @Test func imagesAreNotCoded() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.png": Self.script])
    let reply = try origin.ask("GET", try Self.path(origin, "a.png"), ["Accept-Encoding: gzip, zstd"])
    #expect(reply.field("Content-Encoding") == nil && reply.field("Vary") == nil)
    #expect(reply.text == Self.script)
  }

  @Test func anyOtherPathIs404() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin, "a.js")
    let parts = path.split(separator: "/").map(String.init)
    for index in 2..<parts.count {
      var others = parts
      others[index] =
        index == parts.count - 1
        ? "https%253A%252F%252Fm.example.com%252Fb.js" : "9" + parts[index].dropFirst()
      guard others != parts else { continue }
      let reply = try origin.ask("GET", "/" + others.joined(separator: "/"))
      #expect(reply.status == 404, "\(others)")
      #expect(reply.json["code"]?.integer == 404)
    }
    for target in ["\(path)x", "\(path)/", "/xcache/1/1/1", "/xcache/1", path.replacing("%25", with: "%")] {
      #expect(try origin.ask("GET", target).status == 404, "\(target)")
    }
  }

  /// Invariant 3: a blob is hashed at its first use; a damaged one is answered with 500 and can be sent again.
  @Test func damagedBlobIsSetAsideAndCanBeSentAgain() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.script])
    let path = try Self.path(origin, "a.js")
    let hex = SHA256.of(Array(Self.script.utf8)).hex
    let blob = "\(origin.folder)/blobs/\(hex.prefix(2))/\(hex.dropFirst(2))"
    try DurableFile.write(Array("damaged".utf8), to: blob)
    let reply = try origin.ask("GET", path)
    #expect(reply.status == 500)
    #expect(reply.json["message"]?.string == "the stored file is damaged and was set aside")
    #expect(try Kernel.status(blob) == nil)
    let missing = try origin.api("POST", "blobs/missing", ["sha256": [.string(hex)]])
    #expect(missing.json["missing"]?.array?.count == 1)
    try origin.publish(["a.js": Self.script])
    #expect(try origin.ask("GET", path).text == Self.script)
  }

  @Test func filesOfOldVersionsAreKept() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    let old = try Self.path(origin, "a.js")
    try origin.publish(["a.js": "two"])
    let new = try Self.path(origin, "a.js")
    #expect(old != new)
    #expect(try origin.ask("GET", old).text == "one")
    #expect(try origin.ask("GET", new).text == "two")
    // Restored bytes get their former version and URL.
    try origin.publish(["a.js": "one"])
    #expect(try Self.path(origin, "a.js") == old)
  }
}
