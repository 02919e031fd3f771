import HTTP
import Manifests
import OriginAPI

/// A request's document, taken as it arrives and then carried out.
protocol IncomingDocument: AnyObject {
  func take(_ bytes: RawSpan) throws
  /// Carries it out, once all of it has arrived.
  /// - Parameter context: with the key by which its answer is kept.
  func finish(_ context: RequestContext) throws -> Response
}

/// A small document, which is read whole.
final class WholeDocument<Body: Decodable>: IncomingDocument {
  private var bytes: [UInt8] = []
  private let knowsAll: Bool
  private let change: (RequestContext, Body) throws -> Response

  /// - Parameter knowsAll: refuses members that the act doesn't know: `dryRun` passed over would be the act done.
  init(knowsAll: Bool, _ change: @escaping (RequestContext, Body) throws -> Response) {
    self.knowsAll = knowsAll
    self.change = change
  }

  func take(_ bytes: RawSpan) { bytes.withUnsafeBytes { self.bytes.append(contentsOf: $0) } }

  func finish(_ context: RequestContext) throws -> Response {
    let json = try JSONValue.parse(bytes)
    return try change(context, knowsAll ? json.decodeKnown() : json.decode())
  }
}

/// Reads a large document part by part.
final class StreamedDocument<Content: StreamedContent>: IncomingDocument {
  private var stream = JSONStream(Content.division)
  private var content: Content

  init(_ content: Content) { self.content = content }

  func take(_ bytes: RawSpan) throws {
    stream.append(bytes)
    while let part = try stream.next() { try content.take(part) }
  }

  func finish(_ context: RequestContext) throws -> Response {
    try stream.finish()
    return try content.finish(context)
  }
}

/// What is kept of a document that is read part by part.
protocol StreamedContent {
  static var division: JSONDivision { get }
  mutating func take(_ part: JSONStream.Part) throws
  func finish(_ context: RequestContext) throws -> Response
}
