import Compression
import HTTP
import Store
import System

/// A document in each coding that is kept, with its heads rendered (RFC 9110 §12.5.3).
final class CodedDocument: Sendable {
  private let identity: Representation
  private let gzip: Representation?
  private let zstd: Representation?
  /// Whether there is more than one coding to choose from.
  private let isCoded: Bool

  private init(identity: Representation, gzip: Representation?, zstd: Representation?) {
    isCoded = gzip != nil || zstd != nil
    self.identity = identity
    self.gzip = gzip
    self.zstd = zstd
  }

  /// Makes a JSON document that is requested repeatedly. `gzip` and `zstd` are the same bytes coded, where that is
  /// worthwhile.
  static func json(_ plain: Body, tag: String, gzip: [SharedBytes]? = nil, zstd: [SharedBytes]? = nil)
    -> CodedDocument
  {
    func representation(_ body: Body, _ coding: BodyCoding?) -> Representation {
      var fields = HeadFields(Self.documentFields)
      if let coding { fields.add("Content-Encoding", "\(coding.name)") }
      // A coded body is another representation and needs another tag (RFC 9110 §8.8.3.3).
      let tag = EntityTag(coding.map { "\(tag)-\($0.name)" } ?? tag)
      return Representation(fields, tag: tag, body: joined(body), allowsRanges: false)
    }
    return CodedDocument(
      identity: representation(plain, nil), gzip: gzip.map { representation(.pieces($0), .gzip) },
      zstd: zstd.map { representation(.pieces($0), .zstd) })
  }

  /// Joins a small body into one piece, so that it is sent together with its head; a large one stays shared, or to be
  /// produced later.
  private static func joined(_ body: Body) -> Body {
    if case .bytes = body { return body }
    guard body.count <= worthSharing else { return body }
    var joined: [UInt8] = []
    joined.reserveCapacity(Int(body.count))
    for case .bytes(let bytes, let range) in body.part(0..<body.count) {
      joined.append(contentsOf: bytes.address[range])
    }
    return .bytes(SharedBytes(joined))
  }

  private static let worthSharing: UInt64 = 32 << 10

  /// Makes a small JSON document, coded here if that is worthwhile. `gzip` is its gzip body, if there is one already.
  static func json(_ bytes: [UInt8], gzip: [UInt8]? = nil) -> CodedDocument {
    let tag = String(SHA256.of(bytes).hex.prefix(32))
    guard bytes.count >= Coding.sizes.lowerBound else { return json(.bytes(SharedBytes(bytes)), tag: tag) }
    return json(
      .bytes(SharedBytes(bytes)), tag: tag, gzip: [SharedBytes(gzip ?? Gzip.encode([bytes]))],
      zstd: [SharedBytes(Zstd.encode([bytes]))])
  }

  /// Makes a document from a file's bytes, in the codings that exist.
  static func file(identity: Representation, gzip: Representation?, zstd: Representation?) -> CodedDocument {
    CodedDocument(identity: identity, gzip: gzip, zstd: zstd)
  }

  /// Returns the same document with other fields; the bodies are shared.
  func with(_ change: (HeadFields) -> HeadFields) -> CodedDocument {
    CodedDocument(identity: identity.with(change), gzip: gzip?.with(change), zstd: zstd?.with(change))
  }

  static let documentFields: [(StaticString, String)] = [
    ("Content-Type", "application/json"), ("Cache-Control", "no-cache"), ("Access-Control-Allow-Origin", "*"),
    ("Vary", "Accept-Encoding"),
  ]

  /// The size of its bodies in all codings, in bytes.
  var byteCount: Int {
    [identity, gzip, zstd].reduce(0) { $0 + Int(clamping: $1?.body.count ?? 0) }
  }

  /// The size in bytes of its body for a client that accepts every coding.
  var codedCount: Int { Int(clamping: (zstd ?? gzip ?? identity).body.count) }

  /// The codings that are kept.
  var codings: [BodyCoding] { [.identity] + (gzip == nil ? [] : [.gzip]) + (zstd == nil ? [] : [.zstd]) }

  /// Answers a GET or HEAD, after its conditions, in the coding that the client prefers.
  func response(to request: borrowing Request) -> Response {
    guard isCoded else { return identity.response(to: request) }
    return preferred(AcceptEncoding(request)).response(to: request)
  }

  private func preferred(_ accepted: AcceptEncoding) -> Representation {
    var best = identity
    var weight = accepted.weight(.identity)
    // On equal weights the smaller body wins: zstd, then gzip, then none.
    if let gzip, accepted.accepts(.gzip), accepted.weight(.gzip) >= weight {
      best = gzip
      weight = accepted.weight(.gzip)
    }
    if let zstd, accepted.accepts(.zstd), accepted.weight(.zstd) >= weight { best = zstd }
    return best
  }
}
