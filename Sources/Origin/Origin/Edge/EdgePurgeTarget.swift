import HTTP
import HTTPClient
import Manifests
import Values

/// An edge that is told to drop answers: a cache of one's own, or the API of a CDN. It says what is sent, and what an answer to that means.
package struct EdgePurgeTarget: Sendable {
  /// Which edge it is, and so what it is sent.
  package enum Kind: Hashable, Sendable {
    /// Gets `BAN`, which its configuration (deploy/edge) turns into a ban of the tag.
    case varnish(BaseURL)
    /// Gets `PURGE URL/APP/CHANNEL`. nginx knows no tags: what becomes of it is up to its configuration.
    case nginx(BaseURL)
    /// Gets `POST`, at a URL in which `{tag}`, `{app}` and `{channel}` are replaced.
    case http(template: String)
    case fastly(service: String)
    case cloudflare(zone: String)
  }

  package let kind: Kind
  /// What requests are authorized by; nil: nothing.
  private let token: String?
  /// The base URL of the CDN's API.
  private let api: String

  /// - Parameter api: the base URL of the CDN's API, in place of the real one.
  package init(_ kind: Kind, token: String?, api: String? = nil) {
    (self.kind, self.token) = (kind, token)
    self.api =
      switch kind {
      case .fastly: api ?? "https://api.fastly.com"
      case .cloudflare: api ?? "https://api.cloudflare.com/client/v4"
      case .varnish, .nginx, .http: ""
      }
  }

  /// The environment variable with the token.
  package static func variable(of kind: Kind) -> String {
    switch kind {
    case .varnish, .nginx, .http: "XCACHE_PURGE_TOKEN"
    case .fastly: "XCACHE_FASTLY_TOKEN"
    case .cloudflare: "XCACHE_CLOUDFLARE_TOKEN"
    }
  }

  /// Whether purges are authorized by a token.
  package var hasToken: Bool { token != nil }

  /// Its name for people, without a path or query, which may be confidential.
  package var name: String {
    switch kind {
    case .varnish(let url): "varnish \(Self.place(url.text))"
    case .nginx(let url): "nginx \(Self.place(url.text))"
    case .http(let template): "http \(Self.place(template))"
    case .fastly(let service): "fastly \(service)"
    case .cloudflare(let zone): "cloudflare \(zone)"
    }
  }

  /// A URL, or what was given in place of one, up to the end of its host and port.
  package static func place(_ url: String) -> String {
    let start = url.prefix { !"/?#\\".contains($0) }
    guard ["http:", "https:"].contains(start.lowercased()) else { return String(start) }
    let slashes = url[start.endIndex...].prefix { $0 == "/" || $0 == "\\" }
    return String(start) + slashes + url[slashes.endIndex...].prefix { !"/?#\\".contains($0) }
  }

  /// The most purges in one request.
  var batch: Int {
    switch kind {
    case .varnish, .nginx, .http: 1
    case .fastly: 256
    case .cloudflare: 30
    }
  }

  // MARK: - Requests

  /// The request for at most `batch` purges; names have no characters that need an escape in a URL or field.
  func request(for purges: [EdgePurge]) -> HTTPRequest {
    var request =
      switch kind {
      case .varnish(let url): HTTPRequest("BAN", url.text)
      case .nginx(let url): HTTPRequest("PURGE", url.text + "/\(purges[0].app)/\(purges[0].channel)")
      case .http(let template): HTTPRequest("POST", Self.filled(template, purges[0]))
      case .fastly(let service): HTTPRequest("POST", "\(api)/service/\(service)/purge")
      case .cloudflare(let zone): HTTPRequest("POST", "\(api)/zones/\(zone)/purge_cache")
      }
    let tags = purges.map(\.tag.text)
    switch kind {
    case .varnish, .nginx, .http: request.fields.add("xcache-tag", tags[0])
    case .fastly: Self.add(["surrogate_keys": .strings(tags)], to: &request)
    case .cloudflare: Self.add(["tags": .strings(tags)], to: &request)
    }
    if let token {
      if case .fastly = kind {
        request.fields.add("Fastly-Key", token)
      } else {
        request.fields.add("Authorization", "Bearer \(token)")
      }
    }
    // What is dropped twice is fetched twice.
    request.isRepeatable = true
    request.asksBeforeBody = false
    // A cache of one's own is reached directly: what a proxy of the environment answers doesn't say that the cache dropped anything.
    switch kind {
    case .varnish, .nginx, .http: request.usesProxy = false
    case .fastly, .cloudflare: break
    }
    return request
  }

  private static func add(_ document: JSONValue, to request: inout HTTPRequest) {
    request.fields.add("Content-Type", "application/json")
    request.body = .bytes(document.canonical)
  }

  private static func filled(_ template: String, _ purge: EdgePurge) -> String {
    template.replacing("{tag}", with: purge.tag.text).replacing("{app}", with: purge.app.text)
      .replacing("{channel}", with: purge.channel.text)
  }

  // MARK: - Answers

  /// How an attempt ended, by the answer and the beginning of its body.
  func outcome(status: Int, retryAfter: Int?, body: [UInt8]) -> EdgePurgeOutcome {
    switch (kind, status) {
    case (.cloudflare, 200..<300):
      let answer = try? JSONValue.parse(body)
      if answer?["success"]?.bool == true { return .done }
      let message = answer?["errors"]?.array?.first?["message"]?.string
      return .failed("the answer isn't a success\(message.map { ": \(Self.line($0))" } ?? "")")
    case (_, 200..<300): return .done
    case (_, 300..<400):
      return .failed(
        "status \(status): redirects aren't followed; give the URL that it leads to", isRefused: true)
    case (_, 401), (_, 403):
      let variable = Self.variable(of: kind)
      let fault = token == nil ? "\(variable) isn't set" : "\(variable) isn't accepted"
      return .failed("status \(status): \(fault)\(status == 403 ? otherReason : "")", isRefused: true)
    default:
      return .failed(
        "status \(status)", after: retryAfter.map { Int64(min(max(0, $0), 600)) * 1000 },
        isRefused: !RetryPolicy.transient.contains(status) && status < 500)
    }
  }

  /// What else a refusal may mean: the configurations of deploy/edge answer the same to addresses that may not purge.
  private var otherReason: String {
    switch kind {
    case .varnish, .nginx, .http:
      ", or the edge's file doesn't name this origin's address among those that may purge"
    case .fastly, .cloudflare: ""
    }
  }

  /// A message from outside, on one line of the log.
  private static func line(_ text: String) -> String {
    String(
      text.unicodeScalars.filter { $0.isASCII && $0.value >= 0x20 && $0.value != 0x7F }.prefix(200).map(
        Character.init))
  }
}

/// How an attempt to purge ended.
enum EdgePurgeOutcome: Hashable, Sendable {
  case done
  /// With what was wrong, the milliseconds that the edge asks to wait, and whether it isn't expected to pass by itself.
  case failed(String, after: Int64? = nil, isRefused: Bool = false)
}
