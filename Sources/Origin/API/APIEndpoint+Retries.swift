import HTTP
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
    _ call: APIRequest, _ caller: AccessToken, body: @autoclosure () -> SHA256,
    _ act: (APIRequest) throws(Problem) -> Response
  ) throws(Problem) -> Response {
    guard let name = call.name else { return try act(call) }
    guard name.isWellFormed else { throw .badKey }
    let key = RequestKey(
      token: caller.id, text: name.key, request: name.digest(of: caller.rights, body: body()))
    // A proxy gives up long before a release that waits for its deltas.
    guard running.begin(key) else { throw .stillRunning }
    defer { running.end(key) }
    if let kept = try kept(key) { return kept }
    var keyed = call
    keyed.key = key
    do throws(Problem) {
      return try act(keyed)
    } catch {
      // A release that was staged under this key may have been made meanwhile, and be why this attempt is refused.
      guard let kept = try kept(key) else { throw error }
      return kept
    }
  }

  private func kept(_ key: RequestKey) throws(Problem) -> Response? {
    try Self.store { () throws(StoreError) in try store.keptAnswer(to: key) }?.response
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
  func begin(_ key: RequestKey) -> Bool {
    names.withLock { $0.insert(Name(token: key.token, key: key.text)).inserted }
  }

  func end(_ key: RequestKey) {
    names.withLock { _ = $0.remove(Name(token: key.token, key: key.text)) }
  }
}

extension AccessToken {
  /// What it may do, as text that differs where that differs.
  fileprivate var rights: String {
    [scope.rawValue, app?.text ?? "", channel?.text ?? "", bundles?.text ?? ""].joined(separator: " ")
  }
}

extension Problem {
  fileprivate static var badKey: Problem {
    .badRequest("Idempotency-Key is one field of 16 to 128 visible ASCII characters, made anew for each act")
  }
  /// The first attempt goes on; its answer is kept for the next one.
  fileprivate static var stillRunning: Problem {
    var problem = Problem(
      .serviceUnavailable, "still-running",
      "this request is being carried out; ask again with the same Idempotency-Key for its answer")
    problem.retryAfter = 1
    return problem
  }
}
