import Manifests
import OriginAPI
import Store
import System
import Testing
import Values

@testable import Origin

/// An origin whose channel is protected, with a clock that the test sets, and people who sign in.
final class ProtectedOrigin {
  static let online = "apps/shop/channels/online"
  static let hour: Int64 = 3_600_000
  let now = Locked<Int64>(1_796_000_000_000)
  let logged = Locked<[String]>([])
  let origin: TestOrigin
  /// A CI token that publishes.
  let author: String

  /// Version 1 has `a.js`.
  init(approvals: Int = 1, by: String? = nil, share: Int? = nil) throws {
    origin = try TestOrigin(clock: { [now] in now.withLock { $0 } })
    author = try origin.store.createToken(name: "ci", scope: .publish).text
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    if approvals > 0 { try protect(approvals, by: by, share: share) }
  }

  var store: Store { origin.store }

  func protect(_ approvals: Int, by: String? = nil, share: Int? = nil) throws {
    var body: JSONObject = JSONObject()
    body["approvals"] = .integer(approvals)
    body["by"] = by.map { .string($0) }
    body["share"] = share.map { .integer($0) }
    let reply = try origin.api("POST", "\(Self.online)/protect", .object(body))
    #expect(reply.status == 200 && reply.json["approvals"]?.integer == Int64(approvals), "\(reply.text)")
  }

  /// The token of a new session of a person, who may decide over releases.
  func signIn(_ subject: String, _ scope: TokenScope = .release, bundles: BundleGlob? = nil) throws -> String
  {
    let secret = TokenSecret()
    let session = try store.createSession(
      name: "\(subject)@acme.com", hash: secret.hash,
      grants: [Grant(scope, app: nil, channel: nil, bundles: bundles)],
      identity: SignedInIdentity(issuer: "https://id.acme.com", subject: subject),
      expiresAt: now.withLock { $0 } + 12 * Self.hour, by: .local)
    return secret.text(id: session.id)
  }

  /// Sends an act, and returns the id under which it waits.
  @discardableResult
  func ask(
    _ route: String, _ body: JSONValue, token: String? = nil, function: String = #function
  ) throws -> Int64 {
    let reply = try origin.api("POST", "\(Self.online)/\(route)", body, token: token ?? author)
    #expect(reply.status == 202, "\(function): \(reply.text)")
    let act = reply.json["scheduled"]
    #expect(act?["approvals"]?["missing"]?.integer ?? 0 > 0, "\(function): \(reply.text)")
    return try #require(act?["id"]?.integer)
  }

  @discardableResult
  func publish(_ text: String, path: String = "a.js", bundle: String = "main") throws -> Int64 {
    try ask("releases", origin.release([path: text], bundle: bundle))
  }

  @discardableResult
  func approve(_ id: Int64, _ token: String) throws -> TestOrigin.Reply {
    try origin.api("POST", "\(Self.online)/schedules/\(id)/approve", [:], token: token)
  }

  func reject(_ id: Int64, _ token: String, _ why: String) throws -> TestOrigin.Reply {
    try origin.api("POST", "\(Self.online)/schedules/\(id)/reject", ["message": .string(why)], token: token)
  }

  func show(_ id: Int64, token: String? = nil) throws -> JSONValue {
    try origin.api("GET", "\(Self.online)/schedules/\(id)", token: token).json
  }

  func state(_ id: Int64) throws -> String? { try show(id)["state"]?.string }

  /// Carries out what is due.
  func run() {
    ScheduleService(api: origin.origin.api) { [logged] line in logged.withLock { $0.append(line) } }.run()
  }

  func pass(_ milliseconds: Int64) { now.withLock { $0 += milliseconds } }

  /// The version that devices get.
  var version: String? {
    get throws { try origin.api("GET", Self.online).json["version"]?.string }
  }

  var policy: JSONValue { get throws { try origin.api("GET", "\(Self.online)/policy").json } }

  func acts(_ name: String) throws -> Int {
    try store.auditRows(after: 0, limit: 1000).filter { $0.act == name }.count
  }
}
