import HTTP
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Requests whose token ends while the body arrives.
@Suite struct RevocationTests {
  private static let online = "apps/shop/channels/online"
  private static let bytes = "bytes of a file"

  private static var sha256: SHA256 { .of(Array(bytes.utf8)) }

  private static func text(_ json: JSONValue) -> String { String(decoding: json.canonical, as: UTF8.self) }

  struct Act: Sendable, CustomTestStringConvertible {
    let method: String
    let path: String
    let body: String
    var scope = "admin"

    init(_ method: String, _ path: String, _ body: String, scope: String = "admin") {
      (self.method, self.path, self.body, self.scope) = (method, path, body, scope)
    }

    var testDescription: String { "\(method) \(path)" }
  }

  private static var acts: [Act] {
    let md5 = MD5.of(Array(bytes.utf8)).hex
    return [
      Act("POST", "tokens", text(["name": "later", "scope": "admin"])),
      Act("POST", "\(online)/policy", text(["act": "kill"])),
      Act("POST", "\(online)/pins", text(["reason": "a reason", "version": "1"])),
      Act(
        "POST", "\(online)/releases", text(["bundles": [["bundle": "main", "unpublish": true]]]),
        scope: "publish"),
      Act("PUT", "blobs/\(sha256.hex)", bytes, scope: "publish"),
      Act("POST", "blobs", "\(sha256.hex) \(md5) \(bytes.utf8.count)\n\(bytes)", scope: "publish"),
    ]
  }

  @Test(arguments: acts, ["revoked", "expired", "in use"])
  func tokenThatEndsBeforeTheLastByteChangesNothing(_ act: Act, _ end: String) throws {
    let time = Locked(Clock.unixMilliseconds())
    let origin = try TestOrigin(clock: { time.withLock { $0 } })
    try origin.publish(["a.js": "a"])
    let token = try origin.newToken(["expiresIn": 3600, "name": "ci", "scope": .string(act.scope)])
    let md5 = MD5.of(Array(Self.bytes.utf8))
    let lines = [
      "Authorization: Bearer \(token)", "Content-MD5: \(Base64.encode(Hex.decode(md5.hex, count: 16) ?? []))",
      "Content-Type: \(act.path == "blobs" ? "application/vnd.xcache.pack" : "application/json")",
    ]
    let answer = try origin.answer(
      act.method, "/api/v1/\(act.path)", lines, length: act.body.utf8.count)
    guard case .receive(_, let make) = answer else {
      Issue.record("\(act.path) takes no body")
      return
    }
    let receiver = make()
    #expect(receiver.take(String(act.body.dropLast())))
    switch end {
    case "revoked": _ = try origin.store.revokeToken("ci")
    case "expired": time.withLock { $0 += 7_200_000 }
    default: break
    }
    let before = try origin.store.auditLog(limit: 1000).count
    #expect(receiver.take(String(act.body.suffix(1))))
    let reply = TestOrigin.Reply(receiver.finish())
    let isDone =
      try act.path.hasPrefix("blobs")
      ? origin.store.missing(of: [Self.sha256]).isEmpty : origin.store.auditLog(limit: 1000).count > before
    if end == "in use" {
      #expect((200...201).contains(reply.status) && isDone, "\(reply.text)")
    } else {
      #expect(reply.status == 401 && reply.json["code"]?.string == "token", "\(reply.text)")
      // Each file of a pack is stored as it arrives, and removed after a day unless a release uses it.
      #expect(!isDone || act.path == "blobs")
    }
  }
}
