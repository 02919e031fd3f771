/// A request that a device sends ahead when a page opens.
package struct PrefetchCall: Hashable, Sendable {
  package let api: ResourceURL
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
