import HTTP
import Manifests
import OriginAPI
import Store

/// What the API answers under paths of one shape. Requests are routed by it, and 405 and OPTIONS answers list its methods.
struct APIRoute: Sendable {
  /// What is done, and what it requires of the token.
  enum Operation: Sendable {
    /// Answers a request without a body.
    case answer(Requirement, @Sendable (RequestContext) throws -> Response)
    /// Receives a document of at most `limit` bytes as it arrives, then answers.
    case document(Requirement, limit: Int, @Sendable (RequestContext) throws -> any IncomingDocument)
    /// Receives files as they arrive.
    case upload(Requirement, @Sendable (RequestContext) throws -> any UploadSink)
  }

  /// The path's segments after `/api/v1`; `*` stands for any non-empty one.
  private let shape: [String]
  private let operations: [Method: Operation]
  /// Where its acts wait for a worker.
  private let lane: Scheduling.Lane

  init(_ shape: String, _ operations: [Method: Operation], _ lane: Scheduling.Lane = .acts) {
    self.shape = shape.split(separator: "/").map(String.init)
    self.operations = operations
    self.lane = lane
  }

  /// The shape as it is written.
  var name: String { shape.joined(separator: "/") }

  /// Returns where a request to the API waits for a worker.
  static func lane(of request: borrowing Request) -> Scheduling.Lane {
    if request.method == .get || request.method == .head { return .reads }
    let lane = APIRequest.segments(request.path).flatMap(at)?.lane ?? .acts
    return lane == .urgent && !isSmall(request) ? .acts : lane
  }

  /// Whether a request's body is known to be read at once, as those of what can't wait are. A large one would keep others waiting.
  private static func isSmall(_ request: borrowing Request) -> Bool {
    switch request.bodyLength {
    case .none: true
    case .length(let bytes): bytes <= smallBody && request.field(.contentEncoding) == nil
    case .chunked: false
    }
  }

  /// Bytes: room for some hundred patterns.
  private static let smallBody = 16 << 10

  /// Returns the route of a path; nil if the API has none.
  static func at(_ path: [String]) -> APIRoute? { all.first { $0.covers(path) } }

  private func covers(_ path: [String]) -> Bool {
    path.count == shape.count && zip(path, shape).allSatisfy { $1 == "*" ? !$0.isEmpty : $0 == $1 }
  }

  /// Returns the act for a method. HEAD is GET, for which the server sends no body (RFC 9110 §9.3.2).
  func operation(for method: Method) -> Operation? { operations[method == .head ? .get : method] }

  /// The supported methods, as an Allow field's value.
  var allow: String {
    let methods: [Method] = [.get, .head, .options, .put, .post, .delete]
    return methods.filter { $0 == .options || operation(for: $0) != nil }.map { "\($0.name)" }.joined(
      separator: ", ")
  }
}

extension APIRoute.Operation {
  /// Makes an act that answers with a handler's method.
  static func reply<Handler: APIHandler>(
    _ requirement: Requirement, _ method: @escaping @Sendable (Handler) -> () throws -> Response
  ) -> Self {
    .answer(requirement) { try method(Handler(context: $0))() }
  }

  /// Makes a read whose answer depends on nothing but the store: equal requests share it.
  static func sharedReply<Handler: APIHandler>(
    _ requirement: Requirement, _ method: @escaping @Sendable (Handler) -> () throws -> Response
  ) -> Self {
    .answer(requirement) { context in
      try context.api.shared.answer(to: context.sharing) { try method(Handler(context: context))() }
    }
  }

  /// Makes an act that gives a document of at most `limit` bytes, read whole, to a handler's method.
  /// `rejectsUnknown` is false where members that a newer mirror may send are ignored.
  static func change<Handler: APIHandler, Body: Decodable & Sendable>(
    _ requirement: Requirement, limit: Int = 64 << 10, rejectsUnknown: Bool = true,
    _ method: @escaping @Sendable (Handler) -> (Body) throws -> Response
  ) -> Self {
    .document(requirement, limit: limit) { _ in
      WholeDocument<Body>(rejectsUnknown: rejectsUnknown) { try method(Handler(context: $0))($1) }
    }
  }
}
