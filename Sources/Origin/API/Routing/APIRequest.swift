import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System

/// What a request to the API says, copied off the event loop's buffer.
struct APIRequest: Sendable {
  let method: Method
  /// Path segments after `/api/v1`, escapes decoded.
  let path: [String]
  private let query: [String: String]
  private let authorization: String?
  private let contentMD5: String?
  let contentType: String?
  /// How the body is coded.
  let coding: RequestCoding
  /// Bytes of the body as it is sent, where the head tells.
  let length: Int64?
  /// The head says that there is a body, be it of no bytes.
  let announcesBody: Bool
  /// It is to be done under a condition that may not hold (RFC 9110 §13.1). If-Unmodified-Since isn't one: without a
  /// date to compare with it is ignored (§13.1.4).
  let isConditional: Bool
  /// What the sender has of an answer already, and the codings that it takes.
  let reader: AnswerReader
  /// Who asks.
  let peer: PeerAddress
  /// What the sender calls this act; nil: a retry can't be told from a new one.
  let name: RequestName?

  /// Where the request comes from, for the audit trail; empty where no network is known.
  var address: String { peer == .unknown ? "" : peer.description }

  /// Bytes of the body without its coding, where the head tells.
  var size: Int64? { if case .none = coding { length } else { nil } }

  /// Reads a request; nil where the path is not below `/api/v1/` or is no text.
  init?(_ request: borrowing Request) {
    guard request.path.starts(with: "/api/v1/"), let path = Self.segments(request.path) else { return nil }
    self.path = path
    method = request.method
    peer = request.peer
    reader = AnswerReader(request)
    query = Self.query(request)
    name = RequestName(request)
    authorization = request.field(.authorization)?.text
    contentMD5 = request.field(named: "content-md5")?.text
    contentType = request.field(.contentType)?.text
    coding = RequestCoding(request)
    announcesBody = request.announcesBody
    isConditional =
      request.head.has(.ifMatch) || request.head.isRepeated(.ifNoneMatch)
      || request.field(.ifNoneMatch)?.equals("*") ?? false
    length = if case .length(let length) = request.bodyLength { Int64(exactly: length) } else { nil }
  }

  private static func segments(_ path: RawSpan) -> [String]? {
    var walk = PathSegments(path)
    var segments: [String] = []
    while let segment = walk.next() {
      // `+` is a plus sign in a path; the form's decoder would make it a space.
      guard segment.firstIndex(of: UInt8(ascii: "+")) == nil, let text = segment.formDecodedText else {
        return nil
      }
      segments.append(text)
    }
    return Array(segments.dropFirst(2))
  }

  private static func query(_ request: borrowing Request) -> [String: String] {
    guard let query = request.query else { return [:] }
    var items = QueryItems(query)
    var pairs: [String: String] = [:]
    while let item = items.next() {
      guard let name = item.name.formDecodedText, let value = item.value.formDecodedText else { continue }
      if pairs[name] == nil { pairs[name] = value }
    }
    return pairs
  }

  /// The bearer token; nil without one.
  var token: String? { Self.bearer(authorization) }

  /// The token of an Authorization field (RFC 6750 §2.1); nil where it has none.
  static func bearer(_ authorization: String?) -> String? {
    guard let authorization, authorization.utf8.count > 7, authorization.prefix(7).lowercased() == "bearer "
    else {
      return nil
    }
    return String(authorization.dropFirst(7))
  }

  /// The digest of Content-MD5 (RFC 1864), in base64.
  func md5() throws(Problem) -> MD5 {
    guard let text = contentMD5 else {
      throw .badRequest("the request needs a Content-MD5 field: the MD5 of the bytes in base64")
    }
    guard let bytes = Base64.decode(text), let md5 = MD5(bytes: bytes.span.bytes) else {
      throw .badRequest("Content-MD5 is not 16 bytes in base64: \(text)")
    }
    return md5
  }

  /// What the query says under a name, as text.
  func text(_ name: String) -> String? { query[name] }

  func version(_ name: String) throws(Problem) -> ManifestVersion? {
    guard let text = query[name] else { return nil }
    guard let version = ManifestVersion(text: text) else {
      throw .badRequest("invalid version \(name)=\(text): expected a non-negative integer")
    }
    return version
  }

  /// A version by its number, or by a moment at which it was live.
  func versionName(_ name: String) throws -> VersionName? {
    guard let text = query[name] else { return nil }
    return try VersionName.read(text, in: "\(name)=")
  }

  func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = query[name] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .badRequest(
        "\(name)=\(text) is not a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
