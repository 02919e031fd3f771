import HTTP
import Manifests
import Store
import System

/// The publishing API: everything below `/api/v1`.
///
/// The event loop only splits the request; who asks, and what is answered, is worked out on the worker pool.
struct APIEndpoint: Sendable {
  let store: Store
  let releases: ReleaseDesk
  let deltas: DeltaDesk
  let documents: DocumentDesk
  let adoption: AdoptionDesk
  /// Bytes.
  let largestUpload: UInt64
  let log: @Sendable (String) -> Void
  /// Who showed wrong tokens of late.
  let attempts = Attempts()
  let running = RunningRequests()
  /// What documents may take of the memory at once; the largest that anybody publishes fits several times.
  let bodies = BodyBudget(limit: 64 << 20)

  func answer(_ request: borrowing Request) -> Answer {
    guard let call = APIRequest(request), let route = APIRoute.at(call.path) else {
      return .now(Problem.notFound.response)
    }
    if call.method == .options { return .now(Response(.noContent, HeadFields([("Allow", route.allow)]))) }
    guard let act = route.act(for: call.method) else {
      return .now(Problem.methodNotAllowed(route.allow).response)
    }
    // Here already, so that nobody without a token is asked for a body, nor keeps a worker.
    guard call.token != nil else { return .now(Problem.noToken.response) }
    switch act {
    case .reply(let takes, let reply):
      return .later {
        respond { () throws(Problem) in
          let caller = try admitted(call, takes)
          guard call.method == .delete else { return try reply(self, call, caller) }
          return try once(call, caller, body: SHA256.of([])) { (call) throws(Problem) in
            try reply(self, call, caller)
          }
        }
      }
    case _ where !call.announcesBody:
      return .now(Problem.lengthRequired.response)
    case .change(let takes, let limit, let change):
      return receive(call, takes, limit) { (api, _, caller) in
        WholeDocument { (call, body) throws(Problem) in try change(api, call, caller, body) }
      }
    case .stream(let takes, let limit, let stream):
      return receive(call, takes, limit, stream)
    case .upload(let takes, let upload):
      return refusal(call, takes, over: largestUpload)
        ?? .receive(limit: largestUpload) { upload(call, self, takes) }
    }
  }

  private func receive(
    _ call: APIRequest, _ takes: Requirement, _ limit: Int, _ open: @escaping APIRoute.Stream
  ) -> Answer {
    if let answer = refusal(call, takes, over: UInt64(limit)) { return answer }
    // The receiver counts what comes without a length: it has words for what is too long.
    return .receive(limit: .max) { DocumentReceiver(call, self, takes, limit: limit, open) }
  }

  /// The answer to a body that is too large by its head's word; nil to any other.
  private func refusal(_ call: APIRequest, _ takes: Requirement, over limit: UInt64) -> Answer? {
    guard let length = call.length, UInt64(clamping: length) > limit else { return nil }
    return .later {
      respond { () throws(Problem) in
        _ = try admitted(call, takes)
        throw .tooLarge(limit: limit)
      }
    }
  }

  /// Turns a refusal into its answer; what is our own fault is logged.
  func respond(_ body: () throws(Problem) -> Response) -> Response {
    do {
      return try body()
    } catch {
      if error.status.family == 5 { log("error: \(error.detail)") }
      return error.response
    }
  }

  /// Who asks; nothing is done for someone who isn't known or may not do it, nor under a condition.
  func admitted(_ call: APIRequest, _ takes: Requirement) throws(Problem) -> AccessToken {
    let token = try caller(of: call)
    if call.isConditional, call.method != .get, call.method != .head { throw .unknownCondition }
    try takes.check(token, call)
    return token
  }

  private func caller(of call: APIRequest) throws(Problem) -> AccessToken {
    guard let text = call.token else { throw .noToken }
    // Right ones first: an office or a CI cluster has one address, and a colleague's mistake must not lock it out.
    // Nobody guesses 256 random bits, however many tries he has.
    if let token = try Self.store({ () throws(StoreError) in try store.check(token: text) }) { return token }
    if let seconds = attempts.wait(call.peer) {
      var problem = Problem(
        .tooManyRequests, "slow-down",
        "too many wrong tokens came from this address; try again in \(seconds) s")
      problem.retryAfter = seconds
      throw problem
    }
    attempts.noteFailure(call.peer)
    throw Problem(
      .unauthorized, "token", "the token is unknown, expired or was revoked; ask an admin for a new one")
  }

  /// Runs a call on the store and says its refusal as a problem.
  static func store<R: ~Copyable>(_ body: () throws(StoreError) -> R) throws(Problem) -> R {
    do {
      return try body()
    } catch {
      throw Problem(error)
    }
  }

  /// The document as an answer.
  static func document(_ value: JSONValue, _ status: Status = .ok) -> Response {
    APIAnswer(value, status).response
  }

  /// The document that a body is.
  static func parse(_ body: [UInt8]) throws(Problem) -> JSONValue {
    do {
      return try JSONValue.parse(body)
    } catch {
      throw .badRequest("the body is not the JSON that is expected: \(error)")
    }
  }
}
