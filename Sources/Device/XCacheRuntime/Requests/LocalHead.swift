import Manifests
import Values
import XCacheDevice

/// The head of a local answer, derived from the request and the manifest alone.
struct LocalHead {
  let status: Int
  let headers: [(name: String, value: String)]
  /// The range of the file that the body contains.
  let range: Range<Int64>

  /// The headers of an entry that are copied into its answer: those that say how the page may be used and what it may do
  /// (docs/protocol.md §3). All others are left out, above all `Set-Cookie`, since the engine's cookie store is the only one; headers
  /// that belong to one connection, such as `Transfer-Encoding`; and `Access-Control-Allow-…`, since the app's hosts decide
  /// that. In addition, an answer has the headers that are computed here: `ETag`, `X-Content-Type-Options`, `Content-Type`,
  /// `Accept-Ranges`, `Content-Length`, `Content-Range` and what CORS needs.
  ///
  /// `Service-Worker-Allowed` only has a meaning on a worker's script, and there `widensScope` decides.
  static let ofEntries: Set<String> = [
    "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Cross-Origin-Embedder-Policy",
    "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy", "Permissions-Policy", "Referrer-Policy",
    "Service-Worker-Allowed", "X-Frame-Options",
  ]

  /// Nil if a local file can't answer the request as the server would.
  init?(_ request: PageRequest, _ file: ListedFile, allowsOrigin: (String) -> Bool) {
    let tag = "\"\(file.md5.hex)\""
    // Only the server can evaluate conditions on its own state.
    guard request.header("if-match") == nil, request.header("if-unmodified-since") == nil,
      let cors = Self.cors(request, allowsOrigin), !Self.widensScope(request, file)
    else { return nil }
    var headers = cors
    headers.append(("ETag", tag))
    headers.append(("X-Content-Type-Options", "nosniff"))
    headers += file.headers.filter { Self.ofEntries.contains($0.name) }
    if let tags = request.header("if-none-match"), EntityTags(tags).contains(tag) {
      self.init(304, headers, 0..<0)
      return
    }
    headers.append(("Content-Type", file.contentType))
    headers.append(("Accept-Ranges", "bytes"))
    // "GET is the only method for which range handling is defined" (RFC 9110 §14.2).
    let mayCut = request.method == "GET" && request.header("if-range").map { $0 == tag } ?? true
    let asked = mayCut ? request.header("range") : nil
    switch asked.map({ ByteRange($0, of: file.size) }) ?? .whole {
    case .whole:
      headers.append(("Content-Length", "\(file.size)"))
      self.init(200, headers, 0..<file.size)
    case .part(let range):
      headers.append(("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"))
      headers.append(("Content-Length", "\(range.count)"))
      self.init(206, headers, range)
    case .unsatisfiable:
      headers.append(("Content-Range", "bytes */\(file.size)"))
      headers.append(("Content-Length", "0"))
      self.init(416, headers, 0..<0)
    }
  }

  private init(_ status: Int, _ headers: [(name: String, value: String)], _ range: Range<Int64>) {
    self.status = status
    self.headers = headers
    self.range = range
  }

  /// Whether a service worker would get a scope beyond its script's folder (Service Workers §5.1, "Register"). A worker
  /// outlives the page, the policy and the app's next start, so only the server may allow that, never a manifest.
  private static func widensScope(_ request: PageRequest, _ file: ListedFile) -> Bool {
    guard request.header("service-worker") != nil,
      let allowed = file.headers.first(where: { $0.name == "Service-Worker-Allowed" })?.value
    else { return false }
    guard let url = try? ResourceURL(file.url), let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/"))
    else { return true }
    // Compared literally: a path that would have to be resolved first may lead anywhere.
    return !allowed.hasPrefix(url.path[...slash]) || allowed.contains("..")
  }

  /// Returns the headers that let a page of another origin read the answer (Fetch §3.3). Nil if nothing here shows that it
  /// may, so that the server decides.
  private static func cors(
    _ request: PageRequest, _ allowsOrigin: (String) -> Bool
  ) -> [(name: String, value: String)]? {
    guard request.mode == .cors, let origin = request.header("origin") else { return [] }
    guard allowsOrigin(origin) else { return nil }
    if !request.hasCredentials { return [("Access-Control-Allow-Origin", "*")] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"),
      ("Vary", "Origin"),
    ]
  }
}

/// The part of a file that a `Range` header asks for.
enum ByteRange: Equatable {
  /// There is no range, or one that may be ignored: several parts, another unit, or one that can't be parsed (RFC 9110
  /// §14.2: "A server MAY ignore the Range header field").
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  init(_ text: String, of size: Int64) {
    guard let equals = text.firstIndex(of: "="),
      text[..<equals].trimmingSpaces.lowercased() == "bytes"
    else {
      self = .whole
      return
    }
    let ends = text[text.index(after: equals)...].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else {
      self = .whole
      return
    }
    let (first, last) = (Self.number(ends[0]), Self.number(ends[1]))
    switch (first, last) {
    case (.some(.some(let first)), .some(.some(let last))) where first <= last:
      self = first < size ? .part(first..<(min(last, size - 1) + 1)) : .unsatisfiable
    case (.some(.some(let first)), .some(.none)):
      self = first < size ? .part(first..<size) : .unsatisfiable
    case (.some(.none), .some(.some(let count))):
      self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
    default: self = .whole
    }
  }

  /// Nil for anything that isn't a number; `.some(nil)` for an empty string. A number that is too large becomes the
  /// largest.
  private static func number(_ text: Substring) -> Int64?? {
    let digits = text.trimmingSpaces
    if digits.isEmpty { return .some(nil) }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return .some(Int64(digits) ?? .max - 1)
  }
}

/// The tags of an `If-None-Match` header, compared weakly (RFC 9110 §13.1.2).
struct EntityTags {
  private let text: String

  init(_ text: String) { self.text = text }

  func contains(_ tag: String) -> Bool {
    text.split(separator: ",").contains { item in
      let item = item.trimmingSpaces
      return item == "*" || item == tag || item == "W/" + tag
    }
  }
}

extension Substring {
  /// The string without leading and trailing spaces and tabs.
  var trimmingSpaces: Substring {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }
}
