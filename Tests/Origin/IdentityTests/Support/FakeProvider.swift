import HTTP
import HTTPClient
import System
import Values

@testable import Identity

/// A provider without sockets, whose answers are what a test sets.
final class FakeProvider: Sendable {
  struct State: Sendable {
    var documents: [String: HTTPReply] = [:]
    var requests: [HTTPRequest] = []
    var isDown = false
    var now = TestIssuer.now
  }

  let state = Locked(State())
  static let base = TestIssuer.name

  init() {
    serve("/.well-known/openid-configuration", Self.metadata())
    serve("/keys", .object(["keys": .array([TestKey.p256Key.jwk("k1")])]))
  }

  static func metadata(_ others: [String: JSONValue] = [:]) -> JSONValue {
    var members: [String: JSONValue] = [
      "issuer": .string(base), "jwks_uri": .string(base + "/keys"),
      "authorization_endpoint": .string(base + "/authorize"), "token_endpoint": .string(base + "/token"),
      "userinfo_endpoint": .string(base + "/userinfo"),
    ]
    for (name, value) in others { members[name] = value.isNull ? nil : value }
    return .object(members)
  }

  func serve(_ path: String, _ json: JSONValue, status: Int = 200) {
    serve(path, HTTPReply(HTTPHead(status), body: json.canonical))
  }

  func serve(_ path: String, _ reply: HTTPReply) { state.withLock { $0.documents[path] = reply } }

  var isDown: Bool {
    get { state.withLock { $0.isDown } }
    set { state.withLock { $0.isDown = newValue } }
  }

  func advance(milliseconds: Int64) { state.withLock { $0.now += milliseconds } }

  func count(_ path: String) -> Int {
    state.withLock { state in state.requests.count { $0.url == Self.base + path } }
  }

  /// The fields of the last form that was posted.
  var form: [String: String] {
    let body = state.withLock { state -> [UInt8] in
      guard case .bytes(let bytes)? = state.requests.last(where: { $0.method == "POST" })?.body else {
        return []
      }
      return bytes
    }
    let pairs = String(decoding: body, as: UTF8.self).split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (
        String(parts[0]),
        String(decoding: PercentEncoding.decodeLeniently(parts[1].utf8), as: UTF8.self)
      )
    }
    return Dictionary(pairs) { $1 }
  }

  var transport: IdentityTransport {
    IdentityTransport { [self] (request, limit) throws(HTTPClientError) in
      let answer: Result<HTTPReply, HTTPClientError> = state.withLock { state in
        state.requests.append(request)
        if state.isDown { return .failure(.couldNotConnect(host: "id.acme.com", port: 443)) }
        let path =
          request.url.hasPrefix(Self.base) ? String(request.url.dropFirst(Self.base.utf8.count)) : request.url
        let reply = state.documents[path] ?? HTTPReply(HTTPHead(404))
        return reply.body.count > limit ? .failure(.answerTooLong(limit: Int64(limit))) : .success(reply)
      }
      return try answer.get()
    }
  }

  func provider(secret: String? = nil) throws -> IdentityProvider {
    IdentityProvider(
      try IssuerURL(TestIssuer.name), client: IdentityProvider.Client(id: TestIssuer.client, secret: secret),
      transport: transport, clock: clock)
  }

  var clock: @Sendable () -> Int64 { { [self] in state.withLock { $0.now } } }
}
