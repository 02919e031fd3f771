import HTTP
import Manifests
import Values
import XCacheDevice

/// The head of a local answer, derived from the request and the manifest alone.
struct LocalHead {
  let status: Int
  let headers: HTTPFields
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
    let tag = EntityTag(file.md5.hex)
    guard let asked = StoredRequest(Method(request.method), request.headers),
      // Only the server can evaluate conditions on its own state.
      !asked.head.has(.ifMatch), !asked.head.has(.ifUnmodifiedSince),
      let cors = Self.cors(request, allowsOrigin), !Self.widensScope(request, file)
    else { return nil }
    var headers = cors
    headers.add("ETag", tag.description)
    headers.add("X-Content-Type-Options", "nosniff")
    headers += file.headers.filter { Self.ofEntries.contains($0.name) }
    switch Preconditions.evaluate(asked.request, tag: tag) {
    case .failed: return nil
    case .notModified:
      self.init(304, headers, 0..<0)
      return
    case .proceed: break
    }
    headers.add("Content-Type", file.contentType)
    headers.add("Accept-Ranges", "bytes")
    let size = UInt64(clamping: file.size)
    // Several parts are answered with the whole (docs/protocol.md, D-76).
    let part = ByteRanges(asked.request, length: size, tag: tag, limit: 1)
    switch part {
    case .whole, .several:
      headers.add("Content-Length", "\(size)")
      self.init(200, headers, 0..<file.size)
    case .single(let range):
      headers.add("Content-Range", ContentRange(range, of: size).description)
      headers.add("Content-Length", "\(range.count)")
      self.init(206, headers, Int64(range.lowerBound)..<Int64(range.upperBound))
    case .unsatisfiable:
      headers.add("Content-Range", ContentRange.unsatisfied(size))
      headers.add("Content-Length", "0")
      self.init(416, headers, 0..<0)
    }
  }

  private init(_ status: Int, _ headers: HTTPFields, _ range: Range<Int64>) {
    self.status = status
    self.headers = headers
    self.range = range
  }

  /// Whether a service worker would get a scope beyond its script's folder (Service Workers §5.1, "Register"). A worker
  /// outlives the page, the policy and the app's next start, so only the server may allow that, never a manifest.
  private static func widensScope(_ request: PageRequest, _ file: ListedFile) -> Bool {
    guard request.headers.contains("service-worker"),
      let allowed = file.headers["Service-Worker-Allowed"]
    else { return false }
    guard let url = try? ResourceURL(file.url), let slash = url.path.utf8.lastIndex(of: UInt8(ascii: "/"))
    else { return true }
    // Compared literally: a path that would have to be resolved first may lead anywhere.
    return !allowed.hasPrefix(url.path[...slash]) || allowed.contains("..")
  }

  /// Returns the headers that let a page of another origin read the answer (Fetch §3.3). Nil if nothing here shows that it
  /// may, so that the server decides.
  private static func cors(_ request: PageRequest, _ allowsOrigin: (String) -> Bool) -> HTTPFields? {
    guard request.mode == .cors, let origin = request.headers["origin"] else { return [] }
    guard allowsOrigin(origin) else { return nil }
    if !request.hasCredentials { return [("Access-Control-Allow-Origin", "*")] }
    return [
      ("Access-Control-Allow-Origin", origin), ("Access-Control-Allow-Credentials", "true"),
      ("Vary", "Origin"),
    ]
  }
}
