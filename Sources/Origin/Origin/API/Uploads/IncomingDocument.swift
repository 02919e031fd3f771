import HTTP
import OriginAPI
import Values

/// A request's document, received piece by piece and then processed.
protocol IncomingDocument: AnyObject {
  func append(_ bytes: RawSpan) throws
  /// Processes the document once all of it has arrived.
  /// - Parameter context: has the key under which the answer is kept.
  func finish(_ context: RequestContext) throws -> Response
}

/// A small document, which is decoded as a whole.
final class WholeDocument<Body: Decodable>: IncomingDocument {
  private var bytes: [UInt8] = []
  private let rejectsUnknown: Bool
  private let change: (RequestContext, Body) throws -> Response

  /// Creates a document. `rejectsUnknown` refuses members that the act doesn't know: ignoring `dryRun` would
  /// carry out the act.
  init(rejectsUnknown: Bool, _ change: @escaping (RequestContext, Body) throws -> Response) {
    self.rejectsUnknown = rejectsUnknown
    self.change = change
  }

  func append(_ bytes: RawSpan) { bytes.withUnsafeBytes { self.bytes.append(contentsOf: $0) } }

  func finish(_ context: RequestContext) throws -> Response {
    let json = try JSONValue.parse(bytes)
    return try change(context, rejectsUnknown ? json.decodeKnown() : json.decode())
  }
}

/// A large document, which is parsed part by part.
final class StreamedDocument<Content: StreamedContent>: IncomingDocument {
  private var stream = JSONStream(Content.division)
  private var content: Content

  init(_ content: Content) { self.content = content }

  func append(_ bytes: RawSpan) throws {
    stream.append(bytes)
    while let part = try stream.next() { try content.process(part) }
  }

  func finish(_ context: RequestContext) throws -> Response {
    try stream.finish()
    return try content.finish(context)
  }
}

/// What is kept of a document that is parsed part by part.
protocol StreamedContent {
  static var division: JSONDivision { get }
  mutating func process(_ part: JSONStream.Part) throws
  func finish(_ context: RequestContext) throws -> Response
}
