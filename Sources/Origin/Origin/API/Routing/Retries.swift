import HTTP
import OriginAPI
import Store
import System

extension APIEndpoint {
  /// Carries out a request that changes something or, if it is a retry of one that was carried out, repeats that answer.
  /// Without a key, every request is a new one. `body` is the SHA-256 of the request's body.
  ///
  /// The caller's rights have been checked already; a token whose rights have changed since the request was carried out
  /// doesn't get the earlier answer.
  func once(
    _ context: RequestContext, body: @autoclosure () -> SHA256,
    _ act: (RequestContext) throws -> Response
  ) throws -> Response {
    guard let name = context.request.name else { return try act(context) }
    guard name.isWellFormed else { throw Problem.badKey }
    let caller = context.caller
    let key = IdempotencyKey(
      token: caller.id, text: name.key, request: name.digest(of: caller.rights, body: body()))
    // A proxy gives up long before a release that waits for its deltas is done.
    guard running.begin(key) else { throw Problem.stillRunning }
    defer { running.end(key) }
    if let kept = try store.keptAnswer(to: key)?.response { return kept }
    var keyed = context
    keyed.key = key
    do {
      return try act(keyed)
    } catch {
      // A release staged under this key may have been made meanwhile, which may be why this attempt is refused.
      guard let kept = try store.keptAnswer(to: key)?.response else { throw error }
      return kept
    }
  }
}

/// The requests with a key that are in progress.
final class RunningRequests: Sendable {
  private struct Name: Hashable {
    let token: String
    let key: String
  }

  private let names = Locked<Set<Name>>([])

  /// Returns whether the request wasn't in progress yet.
  func begin(_ key: IdempotencyKey) -> Bool {
    names.withLock { $0.insert(Name(token: key.token, key: key.text)).inserted }
  }

  func end(_ key: IdempotencyKey) {
    names.withLock { _ = $0.remove(Name(token: key.token, key: key.text)) }
  }
}

extension AccessToken {
  /// What the token may do, as a text that differs whenever the rights differ.
  var rights: String {
    // Without hosts or further grants, the text is the same as in versions that had none: a retry may come after an upgrade of the server.
    let first = grants[0].rights
    let others = more.map { "+ \($0.rights)" }
    return ([first] + (hosts?.names ?? []) + others).joined(separator: " ")
  }
}

extension Grant {
  fileprivate var rights: String {
    [scope.rawValue, app?.text ?? "", channel?.text ?? "", bundles?.text ?? ""].joined(separator: " ")
  }
}

extension Problem {
  fileprivate static var badKey: Problem {
    .badRequest("Idempotency-Key must be one field of 16 to 128 visible ASCII characters, new for each act")
  }
  /// The first attempt is still running; its answer is kept for a later retry.
  fileprivate static var stillRunning: Problem {
    var problem = Problem(
      .serviceUnavailable, "still-running",
      "this request is in progress; repeat it with the same Idempotency-Key for its answer")
    problem.retryAfter = 1
    return problem
  }
}

/// The name that a client gives an act (Idempotency-Key), and the request that it was sent with.
struct RequestName: Sendable {
  let key: String
  /// The method, path and query, as sent.
  private let target: [UInt8]
  /// Whether there is a second key, which makes it unclear which one is meant.
  private let isRepeated: Bool

  /// Nil if the request has no key.
  init?(_ request: borrowing Request) {
    var lines = request.fieldLines
    let name = RawSpan("idempotency-key")
    guard let key = lines.next(named: name) else { return nil }
    self.key = key.text
    isRepeated = lines.next(named: name) != nil
    var target = Array("\(request.method.name) ".utf8)
    request.path.withUnsafeBytes { target.append(contentsOf: $0) }
    if let query = request.query {
      target.append(UInt8(ascii: "?"))
      query.withUnsafeBytes { target.append(contentsOf: $0) }
    }
    self.target = target
  }

  var isWellFormed: Bool {
    !isRepeated && (16...128).contains(key.utf8.count) && key.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Returns the SHA-256 of everything that identifies this request.
  func digest(of rights: String, body: SHA256) -> SHA256 {
    var bytes = target
    bytes.append(0)
    bytes.append(contentsOf: rights.utf8)
    bytes.append(0)
    bytes.append(contentsOf: body.bytes)
    return SHA256.of(bytes)
  }
}
