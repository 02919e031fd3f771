import Compression
import HTTP
import System

/// Which answer an API client already has, and which codings it accepts: an unchanged answer becomes a 304, a large one is
/// compressed. Answers are made anew each time, so a tag is computed from the bytes alone.
struct AnswerNegotiation: Sendable {
  private let accepted: AcceptEncoding
  /// The tags of If-None-Match, or nil. `*` matches no tag here, so the client gets the answer.
  private let known: [UInt8]?

  /// The sizes, in bytes, worth compressing: smaller answers gain nothing, larger ones cost more time than they save here.
  private static let coded = 1024...(4 << 20)

  /// Whoever accepts anything and has nothing.
  init() {
    accepted = AcceptEncoding(RawSpan("identity"))
    known = nil
  }

  init(_ request: borrowing Request) {
    accepted = AcceptEncoding(request)
    known = request.field(.ifNoneMatch)?.array
  }

  /// Returns the response as this client gets it. Only bodies in memory are changed: a manifest is produced while it is
  /// sent.
  func response(_ response: Response) -> Response {
    guard response.status == .ok, case .bytes(let bytes) = response.body else { return response }
    let coding = coding(of: bytes.count)
    let hash = SHA256.of(Array(bytes.address[0..<bytes.count])).hex.prefix(32)
    let tag = EntityTag(coding == .identity ? "\(hash)" : "\(hash)-\(coding.name)")
    let fields = response.head.fields.adding("ETag", tag.description).adding("Vary", "Accept-Encoding")
    if isKnown(tag) {
      return Response(RenderedHead(.notModified, fields.withoutContentFields, contentLength: nil))
    }
    guard coding != .identity else { return Response(.ok, fields, response.body) }
    let plain = Array(bytes.address[0..<bytes.count])
    let body = coding == .zstd ? Zstd.encode([plain], level: 3) : Gzip.encode([plain])
    return Response(
      .ok, fields.adding("Content-Encoding", "\(coding.name)"), .bytes(SharedBytes(body)))
  }

  private func coding(of count: Int) -> BodyCoding {
    guard Self.coded.contains(count) else { return .identity }
    return accepted.preferred([.zstd, .gzip, .identity]) ?? .identity
  }

  private func isKnown(_ tag: EntityTag) -> Bool {
    known.map { tag.isListed(in: $0.span.bytes, weakly: true) } ?? false
  }
}
