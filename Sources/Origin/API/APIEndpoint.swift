import HTTP
import Manifests
import Platform
import Store

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

  /// A release of 100,000 resources is some 30 MB of JSON.
  private static let documentLimit = 256 << 20

  func answer(_ request: borrowing Request) -> Answer {
    guard let call = APIRequest(request) else { return .now(Problem.notFound.response) }
    switch (call.method, call.path.first, call.path.count) {
    case (.put, "blobs", 2):
      return .receive(limit: largestUpload) { UploadReceiver.blob(call, self) }
    case (.post, "blobs", 1):
      return .receive(limit: largestUpload) { UploadReceiver.pack(call, self) }
    case (.post, _, _):
      return .receive(limit: UInt64(Self.documentLimit)) { DocumentReceiver(call, self) }
    default:
      return .later { respond { () throws(Problem) in try reply(to: call, authorised(call)) } }
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

  /// Who asks.
  func authorised(_ call: APIRequest) throws(Problem) -> AccessToken {
    guard let text = call.token else {
      throw Problem(.unauthorized, "token", "the request carries no token; send Authorization: Bearer TOKEN")
    }
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
    let fields = HeadFields([("Content-Type", "application/json"), ("Cache-Control", "no-store")])
    return Response(status, fields, .bytes(SharedBytes(value.canonical)))
  }

  /// Answers what has no body.
  func reply(to call: APIRequest, _ token: AccessToken) throws(Problem) -> Response {
    switch (call.method, call.path.first, call.path.count) {
    case (.get, "tokens", 1), (.head, "tokens", 1):
      return try TokenCalls(store: store, caller: token, call: call).list()
    case (.get, "apps", 1), (.head, "apps", 1): return try ChannelList(store: store, caller: token).reply()
    case (.get, "audit", 1...2), (.head, "audit", 1...2):
      return try AuditCalls(store: store, call: call, caller: token).reply()
    case (.delete, "tokens", 2):
      return try TokenCalls(store: store, caller: token, call: call).revoke(call.path[1])
    case (.get, "apps", 5...) where KeepingCalls.takes(call),
      (.head, "apps", 5...) where KeepingCalls.takes(call):
      return try KeepingCalls(self, call, token).read()
    case (.delete, "apps", 6) where KeepingCalls.takes(call):
      return try KeepingCalls(self, call, token).unpin()
    case (.get, "mirror", 1), (.get, "mirrors", 1), (.delete, "leases", 2):
      return try MirrorCalls(store: store, call: call, caller: token).reply()
    case (.get, "apps", 5...) where DocumentCalls.takes(call),
      (.head, "apps", 5...) where DocumentCalls.takes(call):
      return try DocumentCalls(self, call, token).read()
    case (.get, "apps", 4...), (.head, "apps", 4...):
      return try ChannelCalls(store: store, deltas: deltas, call: call, caller: token).reply()
    case (.options, _, _):
      return Response(.noContent, HeadFields([("Allow", "GET, HEAD, POST, PUT, DELETE, OPTIONS")]))
    default: throw notAnswered(call)
    }
  }

  /// Answers what has a document as its body.
  func reply(to call: APIRequest, _ token: AccessToken, _ body: [UInt8]) throws(Problem) -> Response {
    switch (call.path.first, call.path.last, call.path.count) {
    case ("tokens", _, 1):
      return try TokenCalls(store: store, caller: token, call: call).create(Self.parse(body))
    case ("mirrors", _, 1), ("leases", _, 1...2):
      return try MirrorCalls(store: store, call: call, caller: token).reply(Self.parse(body))
    case ("blobs", "missing", 2):
      return try BlobCalls(store: store, caller: token).missing(Self.parse(body))
    case ("gc", _, 1): return try KeepingCalls(self, call, token).collect(Self.parse(body))
    case ("apps", _, 5) where KeepingCalls.takes(call):
      return try KeepingCalls(self, call, token).pin(Self.parse(body))
    case ("apps", _, 5...) where DocumentCalls.takes(call):
      return try DocumentCalls(self, call, token).change(Self.parse(body))
    case ("apps", "releases", 5):
      return try ReleaseCalls(desk: releases, deltas: deltas, call: call, caller: token).release(
        Self.parse(body))
    case ("apps", "preparations", 5):
      return try ReleaseCalls(desk: releases, deltas: deltas, call: call, caller: token).prepare(
        Self.parse(body))
    case ("apps", _, 5) where OperationCalls.takes(call):
      return try OperationCalls(self, call, token).reply(Self.parse(body))
    default: throw notAnswered(call)
    }
  }

  private func notAnswered(_ call: APIRequest) -> Problem {
    let known = ["apps", "audit", "blobs", "gc", "leases", "mirror", "mirrors", "tokens"].contains(
      call.path.first ?? "")
    return known
      ? Problem(.notFound, "not-found", "the API has no \(call.method.name) under this path")
      : Problem.notFound
  }

  private static func parse(_ body: [UInt8]) throws(Problem) -> JSONValue {
    do {
      return try JSONValue.parse(body)
    } catch {
      throw .badRequest("the body is not the JSON that is expected: \(error)")
    }
  }
}
