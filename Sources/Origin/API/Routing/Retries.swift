import HTTP
import OriginAPI
import Store
import System

extension APIEndpoint {
  /// Carries out a request that changes something, or, where it is the retry of one that was carried out, answers it as
  /// that was answered. Without a key it is a new request each time.
  ///
  /// What the caller may do was checked before; a token that may do something else now than when the request was carried
  /// out gets no answer of then.
  /// - Parameter body: sha256 of the request's body.
  func once(
    _ context: RequestContext, body: @autoclosure () -> SHA256,
    _ act: (RequestContext) throws -> Response
  ) throws -> Response {
    guard let name = context.request.name else { return try act(context) }
    guard name.isWellFormed else { throw Problem.badKey }
    let caller = context.caller
    let key = IdempotencyKey(
      token: caller.id, text: name.key, request: name.digest(of: caller.rights, body: body()))
    // A proxy gives up long before a release that waits for its deltas.
    guard running.begin(key) else { throw Problem.stillRunning }
    defer { running.end(key) }
    if let kept = try store.keptAnswer(to: key)?.response { return kept }
    var keyed = context
    keyed.key = key
    do {
      return try act(keyed)
    } catch {
      // A release that was staged under this key may have been made meanwhile, and be why this attempt is refused.
      guard let kept = try store.keptAnswer(to: key)?.response else { throw error }
      return kept
    }
  }
}

/// The requests with a key that are being carried out.
final class RunningRequests: Sendable {
  private struct Name: Hashable {
    let token: String
    let key: String
  }

  private let names = Locked<Set<Name>>([])

  /// Whether nobody else is at it.
  func begin(_ key: IdempotencyKey) -> Bool {
    names.withLock { $0.insert(Name(token: key.token, key: key.text)).inserted }
  }

  func end(_ key: IdempotencyKey) {
    names.withLock { _ = $0.remove(Name(token: key.token, key: key.text)) }
  }
}

extension AccessToken {
  /// What it may do, as text that differs where that differs.
  var rights: String {
    // Without a list of hosts as before there were any: a retry may come after the server was replaced.
    let names = [scope.rawValue, app?.text ?? "", channel?.text ?? "", bundles?.text ?? ""]
    return (names + (hosts?.names ?? [])).joined(separator: " ")
  }
}

extension Problem {
  fileprivate static var badKey: Problem {
    .badRequest("Idempotency-Key must be one field of 16 to 128 visible ASCII characters, new for each act")
  }
  /// The first attempt goes on; its answer is kept for the next one.
  fileprivate static var stillRunning: Problem {
    var problem = Problem(
      .serviceUnavailable, "still-running",
      "this request is in progress; repeat it with the same Idempotency-Key for its answer")
    problem.retryAfter = 1
    return problem
  }
}

/// What a sender calls one act (Idempotency-Key), and which request it said it of.
struct RequestName: Sendable {
  let key: String
  /// Method, path and query, as they were sent.
  private let target: [UInt8]
  /// There is a second key: which one is meant nobody knows.
  private let isRepeated: Bool

  /// Nil where the request has no key.
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

  /// sha256 of everything that makes it this request and no other.
  func digest(of rights: String, body: SHA256) -> SHA256 {
    var bytes = target
    bytes.append(0)
    bytes.append(contentsOf: rights.utf8)
    bytes.append(0)
    bytes.append(contentsOf: body.bytes)
    return SHA256.of(bytes)
  }
}
