/// Which calls a device sends ahead for which page (docs/protocol.md §9).
package struct PrefetchConfig: Hashable, Sendable {
  /// In the document's order.
  package let pages: [PrefetchPage]

  /// What a channel has before its first push.
  package static let empty = PrefetchConfig(reading: .array([]))

  /// Calls under one page, and bytes of the whole as canonical JSON, that an origin takes.
  package static let limit = (calls: 64, bytes: 1_000_000)

  /// Reads a `config` array as a device does: what it can't use it passes over.
  package init(reading config: JSONValue) {
    pages = (config.array ?? []).compactMap(PrefetchPage.init(reading:))
  }

  /// The `config` array, its members in their one form: methods in capitals, no member that says nothing.
  package var json: JSONValue { .array(pages.map(\.json)) }

  /// Calls of all pages.
  package var callCount: Int { pages.reduce(0) { $0 + $1.calls.count } }

  /// The entry for a page that opens: one that names the page's query goes before one without a query.
  package func entry(for page: ResourceURL) -> PrefetchPage? {
    pages.first { $0.url.query != nil && page.isPage(of: $0.url) }
      ?? pages.first { $0.url.query == nil && page.isPage(of: $0.url) }
  }
}

/// A page and the calls that are sent ahead when it opens.
package struct PrefetchPage: Hashable, Sendable {
  /// The page's address.
  package let url: ResourceURL
  /// What is fetched before the page asks for it.
  package let calls: [PrefetchCall]

  /// Reads an entry as a device does; nil where it names no page.
  init?(reading value: JSONValue) {
    guard let url = value["url"]?.string.flatMap({ try? ResourceURL($0) }) else { return nil }
    self.url = url
    calls = (value["interfaces"]?.array ?? []).compactMap(PrefetchCall.init(reading:))
  }

  /// As the document has it.
  package var json: JSONValue {
    ["interfaces": .array(calls.map(\.json)), "url": .string(url.text)]
  }
}

/// A request that a device sends ahead when a page opens.
package struct PrefetchCall: Hashable, Sendable {
  /// The address that is called.
  package let api: ResourceURL
  /// How it is called.
  package let method: PrefetchMethod
  /// What is sent as JSON; nil: nothing, unless `bodyParam`.
  package let body: JSONObject?
  /// The page's query is appended to the api's.
  package let urlParam: Bool
  /// The page's query parameters are merged into `body`.
  package let bodyParam: Bool
  /// Names of parameters whose values go into the body as numbers, where they are numbers.
  package let numbers: JSONObject

  /// Reads a call as a device does; nil where it can't be sent.
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

  /// Two calls with one of these are one.
  var identity: Identity {
    // The body of a GET isn't sent everywhere, so it doesn't tell two apart.
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

  /// Reads a method in any case.
  package init?(_ text: String) {
    self.init(rawValue: text.uppercased())
  }
}
