import HTTP
import Manifests

/// A request's document, taken as it arrives and then carried out.
protocol IncomingDocument: AnyObject {
  func take(_ bytes: RawSpan) throws(Problem)
  /// Carries it out, once all of it has arrived.
  /// - Parameter call: the request, with the key by which its answer is kept.
  func finish(_ call: APIRequest) throws(Problem) -> Response
}

/// A small document, which is read whole.
final class WholeDocument: IncomingDocument {
  private var bytes: [UInt8] = []
  private let change: (APIRequest, JSONValue) throws(Problem) -> Response

  init(_ change: @escaping (APIRequest, JSONValue) throws(Problem) -> Response) { self.change = change }

  func take(_ bytes: RawSpan) { bytes.withUnsafeBytes { self.bytes.append(contentsOf: $0) } }

  func finish(_ call: APIRequest) throws(Problem) -> Response { try change(call, APIEndpoint.parse(bytes)) }
}

/// Reads a large document part by part.
final class StreamedDocument<Content: StreamedContent>: IncomingDocument {
  private var stream = JSONStream(Content.division)
  private var content: Content

  init(_ content: Content) { self.content = content }

  func take(_ bytes: RawSpan) throws(Problem) {
    stream.append(bytes)
    while let part = try Self.reading({ () throws(JSONError) in try stream.next() }) {
      try content.take(part)
    }
  }

  func finish(_ call: APIRequest) throws(Problem) -> Response {
    try Self.reading { () throws(JSONError) in try stream.finish() }
    return try content.finish(call)
  }

  private static func reading<R>(_ body: () throws(JSONError) -> R) throws(Problem) -> R {
    do {
      return try body()
    } catch {
      throw .badRequest("the body is not the JSON that is expected: \(error)")
    }
  }
}

/// What is kept of a document that is read part by part.
protocol StreamedContent {
  static var division: JSONDivision { get }
  mutating func take(_ part: JSONStream.Part) throws(Problem)
  func finish(_ call: APIRequest) throws(Problem) -> Response
}
