import Manifests
import Values

/// The query of a page that is being opened.
struct PageQuery {
  private let text: Substring
  /// The first parameter of each name, in order.
  private let parameters: [(name: String, value: String)]

  init(_ page: ResourceURL) {
    text = page.query ?? ""
    var seen: Set<[UInt8]> = []
    parameters = text.utf8.split(separator: UInt8(ascii: "&")).compactMap { item in
      let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      let name = Self.decoded(parts[0])
      guard !name.isEmpty, seen.insert(Array(name.utf8)).inserted else { return nil }
      return (name, parts.count > 1 ? Self.decoded(parts[1]) : "")
    }
  }

  /// Returns the API's URL with the page's query appended to its own.
  func appended(to api: ResourceURL) -> String {
    if text.isEmpty { return api.text }
    switch api.query {
    case nil: return "\(api.text)?\(text)"
    case let own? where own.isEmpty || own.hasSuffix("&"): return "\(api.text)\(text)"
    case _?: return "\(api.text)&\(text)"
    }
  }

  /// Returns the body with the page's parameters added.
  func merged(into body: JSONObject, of call: PrefetchCall) -> JSONObject {
    var body = body
    for (name, value) in parameters {
      body[name] = call.isNumber(name) ? Self.number(value) ?? .string(value) : .string(value)
    }
    return body
  }

  /// Returns a text as a JSON number, written the same way; nil if it isn't one.
  private static func number(_ text: String) -> JSONValue? {
    guard let value = try? JSONValue.parse(Array(text.utf8)), case .number(let digits) = value, digits == text
    else { return nil }
    return value
  }

  /// The application/x-www-form-urlencoded parser of the WHATWG URL standard, section 5.1: `+` is a space, escapes
  /// are bytes of UTF-8, and what isn't UTF-8 becomes U+FFFD.
  private static func decoded(_ text: Substring.UTF8View.SubSequence) -> String {
    let spaced = text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    return String(decoding: PercentEncoding.decodeLeniently(spaced), as: UTF8.self)
  }
}
