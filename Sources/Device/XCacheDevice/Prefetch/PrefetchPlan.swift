import Manifests
import Values

/// The requests of a prefetch config, for both the app's runtime and `xcache prefetch check --url`.
public struct PrefetchPlan: Hashable, Sendable {
  private let config: PrefetchConfig

  let number: Int64

  init(_ config: PrefetchConfig, version: Int64 = 0) {
    self.config = config
    number = version
  }

  /// The hosts of the calls, each once, in the config's order.
  var hosts: [String] {
    var seen: Set<String> = []
    return config.pages.flatMap(\.calls).map { String($0.api.host) }.filter { seen.insert($0).inserted }
  }

  /// The config's version; `0` if there is none yet.
  public var version: String { String(number) }

  /// Reads a `prefetchConfig.json` leniently, as devices do: unusable parts are ignored. Nil if it isn't such a
  /// document.
  public init?(document bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), document["code"]?.integer == 200,
      let data = document["data"], data["config"]?.array != nil,
      let version = data["version"]?.string.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    self.init(PrefetchConfig(reading: data["config"] ?? .null), version: version.number)
  }

  /// Creates a plan from a checked config without a version.
  package init(checked config: PrefetchConfig) { self.init(config) }

  /// Returns the URL of the entry that matches a page, as the config has it; nil if none does.
  ///
  /// An entry matches by scheme, host, port and path, and by the query only if it has one; an entry with a query
  /// takes precedence.
  public func entry(for page: String) -> String? {
    (try? ResourceURL(page)).flatMap { config.entry(for: $0) }?.url.text
  }

  /// Returns the requests to send when a page opens, in the config's order; none for a page that it doesn't list.
  ///
  /// The page's query is appended verbatim to the API's own. In a body, its parameters are strings, or numbers if
  /// `paramTypes` says so and they can be parsed as such: form-decoded (`+` is a space), the first of each name,
  /// replacing a member of that name in `body`. A `#fragment` is ignored.
  public func requests(for page: String) -> [PrefetchRequest] {
    guard let page = try? ResourceURL(page), let entry = config.entry(for: page) else { return [] }
    let query = PageQuery(page)
    return entry.calls.map { PrefetchRequest($0, query) }
  }
}

extension PrefetchRequest {
  init(_ call: PrefetchCall, _ query: PageQuery) {
    method = call.method.rawValue
    url = call.urlParam ? query.appended(to: call.api) : call.api.text
    let object = call.bodyParam ? query.merged(into: call.body ?? JSONObject(), of: call) : call.body
    body = object.map { String(decoding: JSONValue.object($0).canonical, as: UTF8.self) }
  }
}

/// A request that a device sends when a page opens, before the page asks for it.
public struct PrefetchRequest: Hashable, Sendable {
  /// `GET`, `POST`, `PUT` or `DELETE`.
  public let method: String
  /// An absolute http or https URL.
  public let url: String
  /// The body as canonical JSON; nil if none is sent. iOS never sends one with a GET.
  public let body: String?
  /// The `Content-Type` of the body; nil without one.
  public var contentType: String? { body == nil ? nil : "application/json" }
}
