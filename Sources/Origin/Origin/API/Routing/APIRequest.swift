import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// A request to the API, copied out of the event loop's buffer.
struct APIRequest: Sendable {
  let method: Method
  /// The path's segments after `/api/v1`, percent-decoded.
  let path: [String]
  private let query: [String: String]
  private let authorization: String?
  /// The token in the console's cookie, for a request without an Authorization field.
  private let session: String?
  private let contentMD5: String?
  let contentType: String?
  /// The body's content coding.
  let coding: RequestCoding
  /// The size of the body as sent, if the head declares it.
  let length: Int64?
  /// Whether the head announces a body, even an empty one.
  let announcesBody: Bool
  /// Whether the request has a precondition that may not hold (RFC 9110 §13.1). If-Unmodified-Since doesn't count: without
  /// a date to compare with, it is ignored (§13.1.4).
  let isConditional: Bool
  /// The answer that the client already has, and the codings that it accepts.
  let reader: AnswerNegotiation
  /// The client's address.
  let peer: IPAddress
  /// The origin of the page whose script sent it, such as `https://xcache.example.com`; nil if no page did.
  let page: String?
  /// The client's name for this act; nil if a retry can't be told from a new act.
  let name: RequestName?

  /// The client's address for the audit trail; empty if it isn't known.
  var address: String { recordedAddress ?? (peer == .unknown ? "" : peer.description) }

  /// The address that a scheduled act was requested from.
  private let recordedAddress: String?

  /// The size of the decoded body, if the head declares it.
  var size: Int64? { if case .none = coding { length } else { nil } }

  /// Parses a request; nil if its path isn't below `/api/v1/` or isn't text.
  init?(_ request: borrowing Request) {
    guard request.path.starts(with: "/api/v1/"), let path = Self.segments(request.path) else { return nil }
    self.path = path
    recordedAddress = nil
    method = request.method
    peer = request.peer
    reader = AnswerNegotiation(request)
    query = Self.query(request)
    name = RequestName(request)
    page = Self.origin(request.field(.origin)?.text)
    authorization = request.field(.authorization)?.text
    session = authorization == nil ? SessionCookie.token(in: request) : nil
    contentMD5 = request.field(named: "content-md5")?.text
    contentType = request.field(.contentType)?.text
    coding = RequestCoding(request)
    announcesBody = request.announcesBody
    isConditional =
      request.head.has(.ifMatch) || request.head.isRepeated(.ifNoneMatch)
      || request.field(.ifNoneMatch)?.equals("*") ?? false
    length = if case .length(let length) = request.bodyLength { Int64(exactly: length) } else { nil }
  }

  /// The request of a scheduled act, which was authorized when it was scheduled.
  /// - Parameters:
  ///   - path: as `path`.
  ///   - address: the address that it was scheduled from.
  init(scheduled path: [String], from address: String) {
    self.path = path
    recordedAddress = address
    method = .post
    peer = .unknown
    reader = AnswerNegotiation()
    (query, name, authorization, session, contentMD5, contentType) = ([:], nil, nil, nil, nil, nil)
    page = nil
    (coding, announcesBody, isConditional, length) = (.none, true, false, nil)
  }

  /// Returns an Origin field's value (RFC 6454 §7) if it is a scheme, a host and perhaps a port, as browsers write them.
  private static func origin(_ text: String?) -> String? {
    guard let text, text.utf8.count <= 300, let url = try? ResourceURL("\(text)/"),
      text == "\(url.scheme)://\(url.authority)"
    else { return nil }
    return text
  }

  /// Returns the path's segments after `/api/v1`, percent-decoded; nil if one isn't text.
  static func segments(_ path: RawSpan) -> [String]? {
    var walk = PathSegments(path)
    var segments: [String] = []
    while let segment = walk.next() {
      // `+` is a plus sign in a path; the form decoder would turn it into a space.
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

  /// The path and the query, as a text that is equal for requests that ask for the same.
  var target: String {
    let items = query.map { "\($0.key)=\($0.value)" }.sorted()
    return (path + items).map { "\($0.utf8.count):\($0)" }.joined()
  }

  /// The bearer token, else the one in the console's cookie; nil if there is none.
  var token: String? { Self.bearer(authorization) ?? session }

  /// Returns the token of an Authorization field (RFC 6750 §2.1), or nil if it has none.
  static func bearer(_ authorization: String?) -> String? {
    guard let authorization, authorization.utf8.count > 7, authorization.prefix(7).lowercased() == "bearer "
    else {
      return nil
    }
    return String(authorization.dropFirst(7))
  }

  /// Returns the digest in Content-MD5 (RFC 1864), which is in base64.
  func md5() throws(Problem) -> MD5 {
    guard let text = contentMD5 else {
      throw .badRequest("the request needs a Content-MD5 field: the MD5 of the bytes in base64")
    }
    guard let bytes = Base64.decode(text), let md5 = MD5(bytes: bytes.span.bytes) else {
      throw .badRequest("Content-MD5 is not 16 bytes in base64: \(text)")
    }
    return md5
  }

  /// Returns a query parameter's text.
  func text(_ name: String) -> String? { query[name] }

  func version(_ name: String) throws(Problem) -> ManifestVersion? {
    guard let text = query[name] else { return nil }
    guard let version = ManifestVersion(text: text) else {
      throw .badRequest("invalid version \(name)=\(text): expected a non-negative integer")
    }
    return version
  }

  /// Returns a version named by its number or by a moment at which it was live.
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
