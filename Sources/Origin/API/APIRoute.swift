import HTTP
import Manifests
import Store

/// What the API answers under paths of one shape. Requests follow it; 405 and OPTIONS tell it.
struct APIRoute: Sendable {
  /// Answers a request without a body.
  typealias Reply = @Sendable (APIEndpoint, APIRequest, AccessToken) throws(Problem) -> Response
  /// Answers a request whose body is a document.
  typealias Change = @Sendable (APIEndpoint, APIRequest, AccessToken, JSONValue) throws(Problem) -> Response
  /// Reads a large document as it arrives.
  typealias Stream =
    @Sendable (APIEndpoint, APIRequest, AccessToken) throws(Problem) -> any IncomingDocument
  /// Takes files as they arrive.
  typealias Upload = @Sendable (APIRequest, APIEndpoint, Requirement) -> UploadReceiver

  /// What is done, what it takes of the token, and how many bytes the document may have.
  enum Act: Sendable {
    case reply(Requirement, Reply)
    case change(Requirement, limit: Int = 64 << 10, Change)
    case stream(Requirement, limit: Int, Stream)
    case upload(Requirement, Upload)
  }

  /// Segments of the path after `/api/v1`; `*` stands for any that isn't empty.
  private let shape: [String]
  private let acts: [Method: Act]

  init(_ shape: String, _ acts: [Method: Act]) {
    self.shape = shape.split(separator: "/").map(String.init)
    self.acts = acts
  }

  /// The route of a path; nil where the API has nothing.
  static func at(_ path: [String]) -> APIRoute? { all.first { $0.covers(path) } }

  private func covers(_ path: [String]) -> Bool {
    path.count == shape.count && zip(path, shape).allSatisfy { $1 == "*" ? !$0.isEmpty : $0 == $1 }
  }

  /// HEAD is GET, of which the server sends no body (RFC 9110 §9.3.2).
  func act(for method: Method) -> Act? { acts[method == .head ? .get : method] }

  /// The methods that are answered, as Allow has them.
  var allow: String {
    let methods: [Method] = [.get, .head, .options, .put, .post, .delete]
    return methods.filter { $0 == .options || act(for: $0) != nil }.map { "\($0.name)" }.joined(
      separator: ", ")
  }
}
