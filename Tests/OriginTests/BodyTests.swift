import HTTP
import Manifests
import Platform
import Testing

@testable import Origin

/// What is taken of a request's body, and from whom.
@Suite struct BodyTests {
  private static let online = "apps/shop/channels/online"

  /// Every path that takes a body, and a token that may not use it.
  static let refused: [(method: String, path: String, scope: String)] = [
    ("POST", "blobs", "read"), ("PUT", "blobs/\(SHA256.of([]).hex)", "read"),
    ("POST", "blobs/missing", "read"),
    ("POST", "default-app", "publish"), ("POST", "gc", "publish"), ("POST", "tokens", "publish"),
    ("POST", "\(online)/releases", "read"),
    ("POST", "\(online)/preparations", "read"), ("POST", "\(online)/pins", "read"),
    ("POST", "\(online)/prefetch", "read"), ("POST", "\(online)/prefetch/rollback", "read"),
    ("POST", "\(online)/policy", "read"), ("POST", "\(online)/settings", "read"),
    ("POST", "\(online)/create", "publish"), ("POST", "\(online)/freeze", "publish"),
    ("POST", "\(online)/promote", "read"), ("POST", "\(online)/remove", "publish"),
    ("POST", "\(online)/rollback", "read"), ("POST", "\(online)/thaw", "publish"),
  ]

  @Test(arguments: refused)
  func nothingIsTakenFromWhoMayNot(_ request: (method: String, path: String, scope: String)) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    let weak = try origin.newToken(["name": "weak", "scope": .string(request.scope)])
    let elsewhere = try origin.newToken(["app": "other", "name": "elsewhere", "scope": "admin"])
    for token in request.path.hasPrefix("blobs") ? [weak] : [weak, elsewhere] {
      let lines = ["Authorization: Bearer \(token)", "Content-MD5: 1B2M2Y8AsgTpgAmY7PhCfg=="]
      let answer = try origin.answer(request.method, "/api/v1/\(request.path)", lines, length: 9)
      guard case .receive(_, let make) = answer else {
        Issue.record("\(request.path) takes no body")
        continue
      }
      let receiver = make()
      #expect(!receiver.take("{\"a\":true"), "\(request.path) takes bytes")
      let reply = TestOrigin.Reply(receiver.finish())
      #expect(reply.status == 403 && reply.json["code"]?.string == "scope", "\(request.path): \(reply.text)")
    }
  }

  /// The limits of routes in bytes.
  static let limits: [(path: String, limit: Int)] = [
    ("gc", 65_536), ("leases", 65_536), ("\(online)/pins", 65_536), ("\(online)/rollback", 65_536),
    ("\(online)/prefetch/rollback", 65_536), ("\(online)/prefetch", 2 << 20), ("\(online)/policy", 2 << 20),
    ("mirrors", 2 << 20), ("blobs", 1000), ("\(online)/releases", 256 << 20),
  ]

  @Test(arguments: limits) func aBodyThatIsTooLargeIsRefusedUnread(_ route: (path: String, limit: Int)) throws
  {
    let origin = try TestOrigin { $0.largestUpload = 1000 }
    try origin.publish(["a.js": "a"])
    let lines = ["Authorization: Bearer \(origin.token)"]
    let answer = try origin.answer("POST", "/api/v1/\(route.path)", lines, length: route.limit + 1)
    guard case .later(let make) = answer else {
      Issue.record("\(route.path) takes \(route.limit + 1) bytes")
      return
    }
    let reply = TestOrigin.Reply(make())
    #expect(reply.status == 413 && reply.json["code"]?.string == "too-large", "\(reply.text)")
    guard case .receive = try origin.answer("POST", "/api/v1/\(route.path)", lines, length: route.limit)
    else {
      Issue.record("\(route.path) refuses \(route.limit) bytes")
      return
    }
    // Who may not, isn't told what would be too large.
    let none = [
      "Authorization: Bearer \(try origin.newToken(["app": "other", "name": "none", "scope": "read"]))"
    ]
    guard route.path.hasPrefix("apps"),
      case .later(let refuse) = try origin.answer(
        "POST", "/api/v1/\(route.path)", none, length: route.limit + 1)
    else { return }
    #expect(refuse().status == .forbidden)
  }

  /// A body that tells no length is refused as soon as it is too long.
  @Test func aBodyWithoutALengthHasTheSameLimit() throws {
    let origin = try TestOrigin()
    let lines = ["Authorization: Bearer \(origin.token)", "Transfer-Encoding: chunked"]
    guard case .receive(_, let make) = try origin.answer("POST", "/api/v1/gc", lines) else {
      Issue.record("gc takes no body")
      return
    }
    let receiver = make()
    let half = String(repeating: " ", count: 32_768)
    let taken = [receiver.take(half), receiver.take(half), receiver.take(" ")]
    #expect(taken == [true, true, false])
    #expect(receiver.finish().status == .contentTooLarge)
  }
}

extension TestOrigin {
  func newToken(_ wish: JSONValue) throws -> String {
    try #require(try api("POST", "tokens", wish).json["token"]?.string)
  }
}

extension BodyReceiver {
  func take(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return receive(bytes.span.bytes)
  }
}
