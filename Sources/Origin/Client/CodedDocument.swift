import Compression
import HTTP
import Platform

/// A document in the codings that it is kept in, each with its heads rendered (RFC 9110 §12.5.3).
final class CodedDocument: Sendable {
  private let identity: Representation
  private let gzip: Representation?
  private let zstd: Representation?
  /// There is more than one coding to choose from.
  private let isCoded: Bool

  private init(identity: Representation, gzip: Representation?, zstd: Representation?) {
    isCoded = gzip != nil || zstd != nil
    self.identity = identity
    self.gzip = gzip
    self.zstd = zstd
  }

  /// A JSON document that is asked for again and again.
  ///
  /// - Parameters:
  ///   - parts: its bytes, in order.
  ///   - coded: the same bytes coded, where that is worth it.
  static func json(_ parts: [SharedBytes], tag: String, gzip: [UInt8]? = nil, zstd: [UInt8]? = nil)
    -> CodedDocument
  {
    func representation(_ body: Body, _ coding: BodyCoding?) -> Representation {
      var fields = HeadFields(Self.documentFields)
      if let coding { fields.add("Content-Encoding", "\(coding.name)") }
      // A coded body is another representation, hence another tag (RFC 9110 §8.8.3.3).
      let tag = EntityTag(coding.map { "\(tag)-\($0.name)" } ?? tag)
      return Representation(fields, tag: tag, body: body, allowsRanges: false)
    }
    return CodedDocument(
      identity: representation(parts.count == 1 ? .bytes(parts[0]) : .pieces(parts), nil),
      gzip: gzip.map { representation(.bytes(SharedBytes($0)), .gzip) },
      zstd: zstd.map { representation(.bytes(SharedBytes($0)), .zstd) })
  }

  /// A small JSON document, coded here where that is worth it.
  static func json(_ bytes: [UInt8]) -> CodedDocument {
    let tag = String(SHA256.of(bytes).hex.prefix(32))
    guard bytes.count >= worthCoding else { return json([SharedBytes(bytes)], tag: tag) }
    return json(
      [SharedBytes(bytes)], tag: tag, gzip: Gzip.encode([bytes]), zstd: Zstd.encode([bytes]))
  }

  /// The bytes of a file, in the codings it has.
  static func file(identity: Representation, gzip: Representation?, zstd: Representation?) -> CodedDocument {
    CodedDocument(identity: identity, gzip: gzip, zstd: zstd)
  }

  /// Below this a coded body and its fields take as many packets as the plain one.
  private static let worthCoding = 512

  static let documentFields: [(StaticString, String)] = [
    ("Content-Type", "application/json"), ("Cache-Control", "no-cache"), ("Access-Control-Allow-Origin", "*"),
    ("Vary", "Accept-Encoding"),
  ]

  /// What it is kept in.
  var codings: [BodyCoding] { [.identity] + (gzip == nil ? [] : [.gzip]) + (zstd == nil ? [] : [.zstd]) }

  /// The answer to a GET or HEAD, after its conditions, in the coding that the client likes best.
  func response(to request: borrowing Request) -> Response {
    guard isCoded else { return identity.response(to: request) }
    return preferred(AcceptEncoding(request)).response(to: request)
  }

  private func preferred(_ accepted: AcceptEncoding) -> Representation {
    var best = identity
    var weight = accepted.weight(.identity)
    // Weights being equal, the smaller body wins: zstd, then gzip, then none.
    if let gzip, accepted.accepts(.gzip), accepted.weight(.gzip) >= weight {
      best = gzip
      weight = accepted.weight(.gzip)
    }
    if let zstd, accepted.accepts(.zstd), accepted.weight(.zstd) >= weight { best = zstd }
    return best
  }
}
