import HTTP
import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Origin

@Suite struct APITests {
  private static let releases = "apps/shop/channels/online/releases"

  /// Requests with their tokens, and the refusals.
  static let refusals: [(String, String, String?, Int, String)] = [
    ("GET", "apps/shop/channels/online", nil, 401, "token"),
    ("GET", "apps/shop/channels/online", "wrong", 401, "token"),
    (
      "GET", "apps/shop/channels/online", "xcache_000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      401, "token"
    ),
    ("POST", releases, "read", 403, "scope"),
    ("POST", "blobs/missing", "read", 403, "scope"),
    ("GET", "tokens", "publish", 403, "scope"),
    ("GET", "apps/other/channels/online", "shop", 403, "scope"),
    ("POST", "apps/other/channels/online/releases", "shop", 403, "scope"),
    ("POST", "apps/none/channels/online/releases", "publish", 404, "unknown-app"),
    ("POST", "apps/shop/channels/test/releases", "publish", 404, "unknown-channel"),
    ("GET", "apps/shop/channels/online/log?limit=0", "read", 400, "bad-request"),
    ("GET", "apps/shop/channels/online/diff?from=1", "read", 400, "bad-request"),
    ("GET", "apps/shop/channels/online/diff?from=1&to=99", "read", 404, "unknown-version"),
    ("GET", "apps/sh%20op/channels/online", "read", 400, "bad-request"),
    ("GET", "apps/shop/channels/ONLINE", "read", 400, "bad-request"),
    ("GET", "nothing", "read", 404, "not-found"),
    ("DELETE", "apps/shop/channels/online", "admin", 405, "method"),
    ("DELETE", "tokens/nobody", "admin", 404, "unknown-token"),
    ("DELETE", "tokens/admin", "admin", 409, "own-token"),
  ]

  @Test func refusalsOfRequests() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    var tokens = ["wrong": "nonsense", "admin": origin.token]
    for (name, more) in [
      ("read", ["scope": "read"]), ("publish", ["scope": "publish"]),
      ("shop", ["scope": "publish", "app": "shop"]),
    ] as [(String, [String: String])] {
      var body = JSONObject([.init(key: "name", value: .string(name))])
      for (key, value) in more { body[key] = .string(value) }
      tokens[name] = try origin.api("POST", "tokens", .object(body)).json["token"]?.string
    }
    let release: JSONValue = ["bundles": [["base": "0", "bundle": "x", "set": [:], "unpublish": true]]]
    let digests: JSONValue = ["sha256": []]
    for (method, path, token, status, code) in Self.refusals {
      let lines = token.map { ["Authorization: Bearer \(tokens[$0] ?? $0)"] } ?? []
      let body = path.hasPrefix("blobs") ? digests : release
      let reply = try origin.ask(
        method, "/api/v1/\(path)", lines, body: method == "POST" ? body.canonical : nil)
      #expect(
        reply.status == status && reply.json["code"]?.string == code, "\(method) \(path): \(reply.text)")
      #expect(reply.field("Content-Type") == "application/problem+json")
      #expect(reply.json["status"]?.integer == Int64(status))
      for secret in tokens.values where secret.count > 20 { #expect(!reply.text.contains(secret)) }
    }
  }

  /// Bodies of invalid releases.
  static let badReleases: [(String, Int, String)] = [
    ("", 400, "bad-request"), ("[]", 400, "bad-request"), ("{}", 400, "bad-request"),
    (#"{"bundles":[]}"#, 400, "bad-request"),
    (#"{"bundles":[{}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"../x"}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","base":1}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","base":"9"}]}"#, 409, "unknown-base"),
    (#"{"bundles":[{"bundle":"a","unpublish":true},{"bundle":"a","unpublish":true}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","set":{"m.example.com/a":{}}}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","set":{"https://M.example.com/a":{}}}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","set":{"https://m.example.com/a":{"size":1}}}]}"#, 400, "bad-request"),
    (#"{"bundles":[{"bundle":"a","remove":[7]}]}"#, 400, "bad-request"),
    (#"{"ifVersion":7,"bundles":[{"bundle":"a","unpublish":true}]}"#, 400, "bad-request"),
  ]

  @Test(arguments: badReleases) func invalidReleaseChangesNothing(body: String, status: Int, code: String)
    throws
  {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let reply = try origin.ask(
      "POST", "/api/v1/\(Self.releases)", ["Authorization: Bearer \(origin.token)"], body: Array(body.utf8))
    #expect(reply.status == status && reply.json["code"]?.string == code, "\(reply.text)")
    #expect(try origin.ask("GET", "/configure.json").json["data"]?["version"]?.string == "1")
  }

  @Test func allConflictsAreNamed() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a", "b.js": "b", "c.js": "c"], bundle: "one")
    #expect(try origin.publish(["c.js": "c"], bundle: "two").status == 201)
    let reply = try origin.publish(["a.js": "A", "b.js": "B", "c.js": "c"], bundle: "two")
    #expect(reply.status == 409 && reply.json["code"]?.string == "url-conflict")
    let urls = (reply.json["conflicts"]?.array ?? []).compactMap { $0["url"]?.string }
    #expect(urls == ["https://m.example.com/a.js", "https://m.example.com/b.js"])
  }

  @Test func missingBlobsAreNamed() throws {
    let origin = try TestOrigin()
    let digest = FileDigest(md5: MD5.of([1]), sha256: SHA256.of([1]), size: 1)
    let content = ResourceContent(digest, ctype: ContentType.of(fileName: "a.js")).json
    let change: JSONValue = ["bundle": "main", "set": ["https://m.example.com/a.js": content]]
    let reply = try origin.api("POST", Self.releases, ["bundles": [change]])
    #expect(reply.status == 422 && reply.json["code"]?.string == "missing-blobs")
    #expect(reply.json["missing"]?.array?.compactMap(\.string) == [digest.sha256.hex])
    #expect(try origin.ask("GET", "/configure.json").status == 404)
  }

  @Test func fileWithAnotherDigestIsRefusedAndDeleted() throws {
    let origin = try TestOrigin()
    let good = Array("good".utf8)
    let md5 = "dV+FwnI7s5OBxzeaYEFg2A=="
    func put(_ body: [UInt8], _ lines: [String]) throws -> TestOrigin.Reply {
      try origin.ask(
        "PUT", "/api/v1/blobs/\(SHA256.of(good).hex)", ["Authorization: Bearer \(origin.token)"] + lines,
        body: body)
    }
    #expect(try put(good, []).status == 400)
    #expect(try put(good, ["Content-MD5: xx"]).status == 400)
    let bad = try put(Array("evil".utf8), ["Content-MD5: \(md5)"])
    #expect(bad.status == 422 && bad.json["code"]?.string == "digest-mismatch")
    #expect(bad.text.contains(SHA256.of(good).hex) && bad.text.contains(SHA256.of(Array("evil".utf8)).hex))
    #expect(try Folder.textNames("\(origin.folder)/tmp") == ["whole"])
    #expect(try put(good, ["Content-MD5: \(md5)"]).status == 201)
    #expect(try put(good, ["Content-MD5: \(md5)"]).status == 200)
  }

  /// A pack gives the same result wherever it is split in transit.
  @Test func packsAtEverySplit() throws {
    let origin = try TestOrigin()
    var pack: [UInt8] = []
    for text in ["", "a", "some text\nwith lines", "\n"] {
      let bytes = Array(text.utf8)
      pack += Array("\(SHA256.of(bytes)) \(MD5.of(bytes)) \(bytes.count)\n".utf8) + bytes
    }
    for split in stride(from: 0, through: pack.count, by: 3) {
      let sink = PackSink(origin.store)
      try sink.append(Array(pack[..<split]).span.bytes)
      try sink.append(Array(pack[split...]).span.bytes)
      #expect(try sink.finish().status == .ok, "split at \(split)")
    }
    for cut in [1, 64, 101, 110, pack.count - 1] {
      let sink = PackSink(origin.store)
      #expect(throws: Problem.self) {
        try sink.append(Array(pack[..<cut]).span.bytes)
        _ = try sink.finish()
      }
    }
  }

  @Test(arguments: ["x\n", String(repeating: "0", count: 120), "\n", " \n", "0 0 0\n"])
  func invalidPacks(text: String) throws {
    let origin = try TestOrigin()
    let sink = PackSink(origin.store)
    #expect(throws: Problem.self) { try sink.append(Array(text.utf8).span.bytes) }
  }
}
