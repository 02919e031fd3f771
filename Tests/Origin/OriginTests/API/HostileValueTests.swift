import HTTP
import System
import Testing
import Values

@testable import Origin

/// Extreme numbers and texts are refused with a message, and the origin keeps running.
@Suite struct HostileValueTests {
  private static let numbers = [
    "9007199254740992", "9223372036854775806", "9223372036854775807", "9223372036854775808",
    "18446744073709551615", "-1", "1e400",
  ]

  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    try origin.publish(["index.html": "<p>one"])
  }

  private func content(_ text: String, size: String) -> String {
    let bytes = Array(text.utf8)
    return
      "{\"ctype\":\"text/html\",\"md5\":\"\(MD5.of(bytes).hex)\",\"sha256\":\"\(SHA256.of(bytes).hex)\",\"size\":\(size)}"
  }

  private func release(_ origin: TestOrigin, _ call: String, sizes: [String], dryRun: Bool) throws
    -> TestOrigin.Reply
  {
    let set = sizes.enumerated().map {
      "\"https://m.example.com/\($0.offset).html\":\(content("\($0.offset)", size: $0.element))"
    }
    let body =
      "{\"bundles\":[{\"base\":\"0\",\"bundle\":\"b\",\"set\":{\(set.joined(separator: ","))}}],\"dryRun\":\(dryRun),\"now\":true}"
    return try origin.ask(
      "POST", "/api/v1/apps/shop/channels/online/\(call)", ["Authorization: Bearer \(origin.token)"],
      body: Array(body.utf8))
  }

  @Test(arguments: numbers)
  func versionsAreBelow2To53(number: String) throws {
    let channel = "apps/shop/channels/online"
    for path in [
      "releases/\(number)", "log?at=\(number)", "log?before=\(number)", "diff?from=\(number)&to=1",
      "diff?from=1&to=\(number)", "manifest?version=\(number)", "bundles/main/entries?version=\(number)",
      "mirror/resources?version=\(number)", "mirror/document?kind=configure&version=\(number)",
      "prefetch?version=\(number)", "policy?version=\(number)", "prefetch/log?before=\(number)",
    ] {
      let reply = try origin.api("GET", "\(channel)/\(path)")
      #expect(
        (400..<500).contains(reply.status) || reply.status == 200, "\(path): \(reply.status) \(reply.text)")
    }
    #expect(try origin.api("GET", "\(channel)/releases/\(number)").status == 400)
    #expect(try origin.api("GET", "\(channel)/log?at=\(number)").status == 400)
    for (path, key) in [("rollback", "to"), ("prefetch/rollback", "to"), ("pins", "version")] {
      let body: JSONValue = [key: .string(number), "allBundles": true, "reason": "r"]
      #expect(try origin.api("POST", "\(channel)/\(path)", body).status == 400, "\(path)")
    }
    #expect(try origin.api("DELETE", "\(channel)/pins/\(number)").status == 400)
    #expect(try origin.ask("GET", "/configure.json?app=shop&patch=1&version=\(number)").status == 200)
  }

  @Test("The greatest possible version is unknown")
  func greatest() throws {
    let channel = "apps/shop/channels/online"
    #expect(try origin.api("GET", "\(channel)/releases/9007199254740991").status == 404)
    #expect(try origin.api("GET", "\(channel)/log?at=9007199254740991").status == 200)
  }

  @Test(arguments: numbers, ["releases", "preparations"])
  func sizesHaveARange(size: String, call: String) throws {
    for dryRun in [false, true] {
      #expect(try release(origin, call, sizes: [size, size], dryRun: dryRun).status == 400)
    }
    // A valid number, but larger than an upload may be.
    #expect(try release(origin, call, sizes: ["9007199254740991"], dryRun: true).status == 422)
  }

  @Test("Sums of sizes don't overflow, whatever the limit on files is")
  func sums() throws {
    let origin = try TestOrigin { $0.largestUpload = .max }
    try origin.publish(["index.html": "<p>one"])
    let sizes = [String](repeating: "9007199254740991", count: 1100)
    let outcome = try release(origin, "releases", sizes: sizes, dryRun: true)
    #expect(outcome.status == 200, "\(outcome.text)")
    // The sum is clamped.
    #expect(outcome.text.contains("\"newBytes\":9223372036854775807"))
    #expect(try release(origin, "releases", sizes: sizes, dryRun: false).status == 422)
    let prepared = try release(origin, "preparations", sizes: sizes, dryRun: false)
    #expect((200..<300).contains(prepared.status) || prepared.status == 422, "\(prepared.text)")
    #expect(try origin.api("GET", "apps").status == 200)
  }

  // MARK: - Texts

  /// Each call with a text for people: path, member and the rest of the body.
  private static let texts: [(path: String, key: String, rest: [String: JSONValue])] = [
    ("apps/shop/channels/online/pins", "reason", ["version": "1"]),
    ("apps/shop/channels/online/freeze", "reason", [:]),
    ("apps/shop/channels/online/releases", "message", ["bundles": [["bundle": "main", "unpublish": true]]]),
    (
      "apps/shop/channels/online/releases", "breakGlass",
      ["bundles": [["bundle": "main", "unpublish": true]]]
    ),
    ("apps/shop/channels/online/rollback", "message", ["allBundles": true, "steps": 1]),
    ("apps/shop/channels/online/rollback", "breakGlass", ["allBundles": true, "steps": 1]),
    ("apps/shop/channels/test/promote", "message", ["from": "online"]),
    ("apps/shop/channels/test/promote", "breakGlass", ["from": "online"]),
    ("apps/shop/channels/online/prefetch", "message", ["document": []]),
    ("apps/shop/channels/online/policy", "message", ["act": "kill"]),
    ("mirrors", "name", ["versions": []]),
    ("leases", "holder", ["seconds": 60]),
    ("tokens", "name", ["scope": "read"]),
  ]

  @Test(arguments: ["a\u{0}b", "\u{0}", "\u{1B}[2J", "\u{7F}", "\u{9B}m", "a\u{8}b"])
  func controlCharactersAreRefused(text: String) throws {
    for (path, key, rest) in Self.texts {
      let members = rest.merging([key: .string(text)]) { $1 }.map {
        JSONObject.Member(key: $0.key, value: $0.value)
      }
      let reply = try origin.api("POST", path, .object(JSONObject(members)))
      #expect(reply.status == 422, "\(path) \(key): \(reply.status) \(reply.text)")
      #expect(reply.json["detail"]?.string?.contains("remove it") == true, "\(reply.text)")
    }
    #expect(try origin.api("GET", "apps/shop/channels/online").json["version"] == "1")
  }

  @Test("A message may have several lines; names, and reasons in tables, may not")
  func lines() throws {
    for (path, key, rest) in Self.texts
    where ["mirrors", "leases", "tokens"].contains(path) || path.hasSuffix("/pins") {
      let members = rest.merging([key: "a\nb"]) { $1 }.map { JSONObject.Member(key: $0.key, value: $0.value) }
      #expect(try origin.api("POST", path, .object(JSONObject(members))).status == 422, "\(path)")
    }
    let body: JSONValue = ["act": "kill", "message": "first line\n\tsecond line\r\n"]
    #expect(try origin.api("POST", "apps/shop/channels/online/policy", body).status == 201)
  }

  @Test("A text that is too long is refused, and the message has the limit")
  func lengths() throws {
    for (path, key, rest) in Self.texts {
      let text = JSONValue.string(String(repeating: "x", count: 5000))
      let members = rest.merging([key: text]) { $1 }.map { JSONObject.Member(key: $0.key, value: $0.value) }
      let reply = try origin.api("POST", path, .object(JSONObject(members)))
      #expect(reply.status == 422 && reply.text.contains("bytes"), "\(path) \(key): \(reply.status)")
    }
  }

  /// A version that doesn't exist yet would allow any change until then.
  @Test(arguments: ["releases", "rollback", "policy", "prefetch"])
  func futureIfVersionIsRefused(path: String) throws {
    let bodies: [String: JSONValue] = [
      "releases": ["bundles": [["bundle": "main", "unpublish": true]]],
      "rollback": ["allBundles": true, "now": true, "steps": 1], "policy": ["act": "kill"],
      "prefetch": ["document": []],
    ]
    let origin = try TestOrigin()
    for text in ["1", "2"] { try origin.publish(["a.js": text]) }
    // Documents have numbers of their own, and there are none yet.
    let newest = ["policy", "prefetch"].contains(path) ? 0 : 2
    func ask(_ version: Int) throws -> TestOrigin.Reply {
      var object = try #require(bodies[path]?.object)
      object["ifVersion"] = .string("\(version)")
      return try origin.api("POST", "apps/shop/channels/online/\(path)", .object(object))
    }
    let acts = try origin.store.auditLog(limit: 1000).count
    for version in [newest + 1, 1_000_000] {
      let reply = try ask(version)
      #expect(reply.status == 409 && reply.text.contains("ifVersion"), "\(reply.text)")
    }
    #expect(try origin.store.auditLog(limit: 1000).count == acts)
    #expect(try ask(newest).status == 201)
  }
}
