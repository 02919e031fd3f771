import HTTP
import Manifests
import Platform
import Testing

@testable import Origin

/// Which methods the API answers under which paths, and how it says so (RFC 9110 §9.3, §15.5.6).
@Suite struct APIMethodTests {
  private static let online = "apps/shop/channels/online"

  /// Every shape of path, and the methods that are answered there.
  static let paths: [(String, String)] = [
    ("apps", "GET, HEAD, OPTIONS"), ("audit", "GET, HEAD, OPTIONS"), ("audit/export", "GET, HEAD, OPTIONS"),
    ("blobs", "OPTIONS, POST"), ("blobs/missing", "OPTIONS, POST"), ("blobs/abc", "OPTIONS, PUT"),
    ("gc", "OPTIONS, POST"), ("leases", "OPTIONS, POST"), ("leases/abc", "OPTIONS, POST, DELETE"),
    ("mirror", "GET, HEAD, OPTIONS"), ("mirrors", "GET, HEAD, OPTIONS, POST"),
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

  @Test func eachPathAnswersItsMethodsAndNamesThem() throws {
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
    // Whatever takes a document reaches its own code: it is not told that nothing is there.
    for (path, allow) in Self.paths where allow.contains("POST") && !path.hasSuffix("/remove") {
      #expect(try origin.api("POST", path, [:]).json["code"]?.string != "not-found", "\(path)")
    }
  }

  @Test(arguments: [
    "nothing", "apps/", "apps/shop", "apps/shop/channels", "apps/shop/other/online", "blobs/a/b", "tokens/",
    "\(online)/nothing", "\(online)/log/1", "\(online)/prefetch/nothing", "audit/nothing", "gc/1",
  ]) func elsewhereNothingIs(_ path: String) throws {
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
}
