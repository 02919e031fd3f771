import Values

/// Which calls a device sends ahead for which page (docs/protocol.md §9).
package struct PrefetchConfig: Hashable, Sendable {
  /// The pages, in the document's order.
  package let pages: [PrefetchPage]

  /// The config of a channel before its first push.
  package static let empty = PrefetchConfig(reading: .array([]))

  /// The maximum number of calls for one page, and of bytes of the whole config as canonical JSON, that an
  /// origin accepts.
  package static let limit = (calls: 64, bytes: 1_000_000)

  /// Reads a `config` array leniently, as a device does: unusable parts are ignored.
  package init(reading config: JSONValue) {
    pages = (config.array ?? []).compactMap(PrefetchPage.init(reading:))
  }

  /// The `config` array in normal form: methods in uppercase, no member with its default value.
  package var json: JSONValue { .array(pages.map(\.json)) }

  /// The number of calls of all pages.
  package var callCount: Int { pages.reduce(0) { $0 + $1.calls.count } }

  /// Returns the entry for a page that is being opened: one with the page's query takes precedence over one
  /// without a query.
  package func entry(for page: ResourceURL) -> PrefetchPage? {
    pages.first { $0.url.query != nil && page.isPage(of: $0.url) }
      ?? pages.first { $0.url.query == nil && page.isPage(of: $0.url) }
  }
}

/// A page and the calls that are sent ahead when it opens.
package struct PrefetchPage: Hashable, Sendable {
  /// The page's address.
  package let url: ResourceURL
  /// The calls to send before the page makes them.
  package let calls: [PrefetchCall]

  /// Reads an entry leniently, as a device does; nil if it names no page.
  init?(reading value: JSONValue) {
    guard let url = value["url"]?.string.flatMap({ try? ResourceURL($0) }) else { return nil }
    self.url = url
    calls = Array(
      (value["interfaces"]?.array ?? []).lazy.compactMap(PrefetchCall.init(reading:))
        .prefix(DocumentBudget.calls))
  }

  /// The entry as in the document.
  package var json: JSONValue {
    ["interfaces": .array(calls.map(\.json)), "url": .string(url.text)]
  }
}

/// A request that a device sends ahead when a page opens.
package struct PrefetchCall: Hashable, Sendable {
  /// The URL of the call.
  package let api: ResourceURL
  /// The method of the call.
  package let method: PrefetchMethod
  /// The JSON body; nil for none, unless `bodyParam` is set.
  package let body: JSONObject?
  /// Whether the page's query is appended to the API's.
  package let urlParam: Bool
  /// Whether the page's query parameters are merged into `body`.
  package let bodyParam: Bool
  /// The names of parameters that are sent as numbers in the body, if their values can be parsed as such.
  package let numbers: JSONObject

  /// Reads a call leniently, as a device does; nil if it can't be sent.
  init?(reading value: JSONValue) {
    guard let api = value["api"]?.string.flatMap({ try? ResourceURL($0) }),
      let method = value["method"]?.string.flatMap({ PrefetchMethod($0) })
    else { return nil }
    self.api = api
    self.method = method
    body = value["body"]?.object
    urlParam = value["urlParam"]?.bool ?? false
    bodyParam = value["bodyParam"]?.bool ?? false
    numbers = JSONObject(
      sorted: (value["paramTypes"]?.object?.members ?? []).filter { $0.value.string == "number" })
  }

  /// Whether a parameter is sent as a number.
  package func isNumber(_ parameter: String) -> Bool { numbers[parameter] != nil }

  /// What makes two calls the same.
  var identity: Identity {
    // The body of a GET isn't sent on all platforms, so it can't distinguish two calls.
    Identity(method: method, api: api.matchKey, body: method == .get ? nil : body)
  }

  struct Identity: Hashable {
    let method: PrefetchMethod
    let api: String
    let body: JSONObject?
  }

  package var json: JSONValue {
    var object = JSONObject()
    object["api"] = .string(api.text)
    object["body"] = body.map { .object($0) }
    object["bodyParam"] = bodyParam ? true : nil
    object["method"] = .string(method.rawValue)
    object["paramTypes"] = numbers.isEmpty ? nil : .object(numbers)
    object["urlParam"] = urlParam ? true : nil
    return .object(object)
  }
}

/// The methods that a prefetched call may have.
package enum PrefetchMethod: String, Hashable, Sendable, CaseIterable {
  case get = "GET"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"

  /// Parses a method in any case.
  package init?(_ text: String) {
    self.init(rawValue: text.uppercased())
  }
}
