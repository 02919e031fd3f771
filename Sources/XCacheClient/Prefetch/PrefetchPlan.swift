import Manifests

/// The requests of a prefetch config; one code for the app's runtime and for `xcache prefetch check --url`.
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

  /// The config's version; `0`: there is none yet.
  public var version: String { String(number) }

  /// Reads a `prefetchConfig.json` as devices do: what can't be used in it is passed over. Nil where it is no such
  /// document.
  public init?(document bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), document["code"]?.integer == 200,
      let data = document["data"], data["config"]?.array != nil,
      let version = data["version"]?.string.flatMap({ ManifestVersion(text: $0) })
    else { return nil }
    self.init(PrefetchConfig(reading: data["config"] ?? .null), version: version.number)
  }

  /// A config that was checked and has no version yet.
  package init(checked config: PrefetchConfig) { self.init(config) }

  /// The address of the entry that a page is prefetched by, as the config has it; nil where none is.
  ///
  /// A page is an entry's by scheme, host, port and path, and by the query only if the entry has one; such an entry
  /// goes before one without.
  public func entry(for page: String) -> String? {
    (try? ResourceURL(page)).flatMap { config.entry(for: $0) }?.url.text
  }

  /// What is sent when a page opens, in the config's order; nothing for a page that it doesn't list.
  ///
  /// The page's query goes to the api as it is written, behind the api's own. In a body its parameters are strings,
  /// or numbers where `paramTypes` says so and they are: decoded as a form's (`+` is a space), the first of those
  /// with one name, over a member of that name in `body`. A `#fragment` doesn't count.
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
  /// Absolute, http or https.
  public let url: String
  /// Canonical JSON; nil: none is sent. iOS sends none with a GET either way.
  public let body: String?
  /// What Content-Type says of the body; nil without one.
  public var contentType: String? { body == nil ? nil : "application/json" }
}
