import HTTP
import Linux
import Manifests
import System
import Testing

@testable import Origin

/// The methods of each path, and the answers to others (RFC 9110 §9.3, §15.5.6).
@Suite struct APIMethodTests {
  private static let online = "apps/shop/channels/online"

  /// Each form of path, with its methods.
  static let paths: [(String, String)] = [
    ("apps", "GET, HEAD, OPTIONS"), ("audit", "GET, HEAD, OPTIONS"), ("audit/export", "GET, HEAD, OPTIONS"),
    ("blobs", "OPTIONS, POST"), ("blobs/missing", "OPTIONS, POST"), ("blobs/abc", "OPTIONS, PUT"),
    ("gc", "OPTIONS, POST"), ("leases", "OPTIONS, POST"), ("leases/abc", "OPTIONS, POST, DELETE"),
    ("mirror", "GET, HEAD, OPTIONS"), ("mirrors", "GET, HEAD, OPTIONS, POST"),
    ("mirrors/abc", "OPTIONS, DELETE"),
    ("tokens", "GET, HEAD, OPTIONS, POST"), ("tokens/abc", "OPTIONS, DELETE"),
    (online, "GET, HEAD, OPTIONS"), ("\(online)/log", "GET, HEAD, OPTIONS"),
    ("\(online)/diff?from=0&to=1", "GET, HEAD, OPTIONS"), ("\(online)/manifest", "GET, HEAD, OPTIONS"),
    ("\(online)/releases", "OPTIONS, POST"), ("\(online)/releases/1", "GET, HEAD, OPTIONS"),
    ("\(online)/preparations", "OPTIONS, POST"), ("\(online)/bundles/main/entries", "GET, HEAD, OPTIONS"),
    ("\(online)/mirror/resources?version=1", "GET, HEAD, OPTIONS"),
    ("\(online)/mirror/document?kind=whole&version=1", "GET, HEAD, OPTIONS"),
    ("\(online)/pins", "GET, HEAD, OPTIONS, POST"), ("\(online)/pins/1", "OPTIONS, DELETE"),
    ("\(online)/adoption", "GET, HEAD, OPTIONS"), ("\(online)/prefetch", "GET, HEAD, OPTIONS, POST"),
    ("\(online)/prefetch/log", "GET, HEAD, OPTIONS"), ("\(online)/prefetch/rollback", "OPTIONS, POST"),
    ("\(online)/policy", "GET, HEAD, OPTIONS, POST"), ("\(online)/policy/log", "GET, HEAD, OPTIONS"),
    ("\(online)/settings", "GET, HEAD, OPTIONS, POST"), ("\(online)/create", "OPTIONS, POST"),
    ("\(online)/freeze", "OPTIONS, POST"), ("\(online)/promote", "OPTIONS, POST"),
    ("\(online)/remove", "OPTIONS, POST"), ("\(online)/rollback", "OPTIONS, POST"),
    ("\(online)/thaw", "OPTIONS, POST"),
  ]

  @Test func eachPathAllowsItsMethods() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    for (path, allow) in Self.paths {
      let options = try origin.ask("OPTIONS", "/api/v1/\(path)")
      #expect(options.status == 204 && options.field("Allow") == allow, "\(path): \(options.head)")
      let methods = Set(allow.split(separator: ", ").map(String.init))
      for method in ["GET", "HEAD", "PUT", "POST", "DELETE"] where !methods.contains(method) {
        let reply = try origin.api(method, path, [:])
        #expect(
          reply.status == 405 && reply.json["code"]?.string == "method", "\(method) \(path): \(reply.text)")
        #expect(reply.field("Allow") == allow)
      }
      guard methods.contains("GET") else { continue }
      let (get, head) = (try origin.api("GET", path), try origin.api("HEAD", path))
      #expect(get.status == 200, "\(path): \(get.text)")
      #expect(head.status == get.status && head.field("Content-Length") == get.field("Content-Length"))
    }
    // Requests with a document reach their handlers: the answer isn't 404.
    for (path, allow) in Self.paths where allow.contains("POST") && !path.hasSuffix("/remove") {
      #expect(try origin.api("POST", path, [:]).json["code"]?.string != "not-found", "\(path)")
    }
  }

  @Test(arguments: [
    "nothing", "apps/", "apps/shop", "apps/shop/channels", "apps/shop/other/online", "blobs/a/b", "tokens/",
    "\(online)/nothing", "\(online)/log/1", "\(online)/prefetch/nothing", "audit/nothing", "gc/1",
  ]) func unknownPathsAreNotFound(_ path: String) throws {
    let origin = try TestOrigin()
    var lengths: Set<String?> = []
    for method in ["GET", "HEAD", "OPTIONS", "PUT", "POST", "DELETE"] {
      let reply = try origin.api(method, path, ["GET", "HEAD"].contains(method) ? nil : [:])
      #expect(reply.status == 404 && reply.field("Allow") == nil, "\(method) \(path): \(reply.text)")
      lengths.insert(reply.field("Content-Length"))
    }
    #expect(lengths.count == 1)
  }

  /// RFC 9110 §9.3.7: the server as a whole.
  @Test func optionsOfTheServer() throws {
    let reply = try TestOrigin().ask("OPTIONS", "*")
    #expect(reply.status == 204 && reply.field("Allow") == "GET, HEAD, OPTIONS, PUT, POST, DELETE")
  }

  @Test func bodyNeedsALength() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let lines = ["Authorization: Bearer \(origin.token)", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="]
    let empty = "/api/v1/blobs/\(SHA256.of([]).hex)"
    for (method, target) in [("PUT", empty), ("POST", "/api/v1/gc"), ("POST", "/api/v1/blobs")] {
      let reply = try origin.ask(method, target, lines)
      #expect(reply.status == 411 && reply.json["code"]?.string == "length", "\(target): \(reply.text)")
    }
    #expect(try origin.ask("POST", "/report?app=shop", []).status == 411)
    // A length of 0 is a body.
    #expect(try origin.ask("PUT", empty, lines, body: []).status == 201)
    #expect(try origin.ask("PUT", empty, lines + ["Transfer-Encoding: chunked"]).status == 200)
    #expect(try origin.ask("POST", "/report?app=shop", [], body: []).status == 400)
    // Without a body, no length is needed.
    #expect(try origin.ask("DELETE", "/api/v1/tokens/nobody", lines).status == 404)
  }

  /// RFC 9110 §13.1.1: the method is not performed if the condition isn't known to be true.
  @Test(arguments: ["If-Match: \"nope\"", "If-Match: *", "If-None-Match: *"])
  func preconditionsAreRefused(_ condition: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    _ = try origin.api("POST", "tokens", ["name": "ci", "scope": "read"])
    let lines = ["Authorization: Bearer \(origin.token)", condition]
    let md5 = "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="
    let refused = [
      try origin.ask("DELETE", "/api/v1/tokens/ci", lines),
      try origin.ask(
        "POST", "/api/v1/\(Self.online)/freeze", lines, body: Array(#"{"reason":"x"}"#.utf8)),
      try origin.ask("PUT", "/api/v1/blobs/\(SHA256.of([]).hex)", lines + [md5], body: []),
    ]
    for reply in refused { #expect(reply.status == 412 && reply.json["code"]?.string == "condition") }
    let tokens = try origin.ask("GET", "/api/v1/tokens", lines)
    #expect(tokens.status == 200)
    let ci = tokens.json["tokens"]?.array?.first { $0["name"]?.string == "ci" }
    #expect(ci?["revokedAt"]?.isNull == true)
    #expect(try origin.api("GET", Self.online).json["freeze"]?.isNull == true)
    #expect(try Folder.names("\(origin.folder)/tmp/whole").isEmpty)
    // §13.1.4: ignored where nothing has a date.
    let date = "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(try origin.ask("DELETE", "/api/v1/tokens/nobody", [lines[0], date]).status == 404)
    // A refusal for another reason has precedence (§13.2.1).
    #expect(try origin.ask("DELETE", "/api/v1/tokens/ci", [condition]).status == 401)
  }

  /// Without a token, no body is requested and no worker is used.
  @Test(arguments: [[], ["Authorization: Basic YTpi"], ["Authorization: Bearer"]])
  func noBodyIsReceivedWithoutAToken(_ lines: [String]) throws {
    let origin = try TestOrigin()
    for (method, path) in [("PUT", "blobs/\(SHA256.of([]).hex)"), ("POST", "blobs"), ("POST", "gc")] {
      guard case .now(let response) = try origin.answer(method, "/api/v1/\(path)", lines, length: 5) else {
        Issue.record("\(method) \(path) is received")
        continue
      }
      #expect(response.status == .unauthorized)
    }
  }
}
