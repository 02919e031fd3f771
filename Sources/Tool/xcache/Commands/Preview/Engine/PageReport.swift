import Values

/// The engine program's report on a page.
struct PageReport: Hashable, Sendable {
  /// Where the answer to a request came from.
  enum Source: String, CaseIterable, Sendable {
    case device, network, missing, failed, engine
  }

  struct Request: Hashable, Sendable {
    let url: String
    let source: Source
    let status: Int64?
    let bytes: Int64
    /// `document`, `script`, `style`, `image`, `font`, `fetch` or `other`.
    let kind: String
    let milliseconds: Int64?
  }

  struct Message: Hashable, Sendable {
    /// `error`, `warning`, `log`, …; empty for a script error.
    let level: String
    let text: String
    let url: String
    let line: Int64?
    let column: Int64?

    /// `https://…/app.js:12:3`; empty if unknown.
    var place: String {
      guard !url.isEmpty else { return "" }
      return ([url] + [line, column].compactMap { $0 }.map(String.init)).joined(separator: ":")
    }
  }

  let id: Int
  let finalURL: String?
  let title: String?
  let status: Int64?
  /// Why the page didn't load; nil if it did.
  let failure: String?
  let requests: [Request]
  let console: [Message]
  let scriptErrors: [Message]
  /// In milliseconds from the start.
  let firstContentfulPaint: Int64?
  let load: Int64?
  let isBlank: Bool

  /// What is wrong with the page's own answer; nil if nothing.
  var problem: String? {
    failure ?? status.flatMap { $0 >= 400 ? "status \($0)" : nil }
  }

  func requests(from source: Source) -> [Request] { requests.filter { $0.source == source } }

  var consoleErrors: [Message] { console.filter { $0.level == "error" } }
}

extension PageReport {
  /// Creates the report of a page that didn't load.
  init(id: Int, failure: String) {
    self.init(
      id: id, finalURL: nil, title: nil, status: nil, failure: failure, requests: [], console: [],
      scriptErrors: [],
      firstContentfulPaint: nil, load: nil, isBlank: true)
  }

  /// Parses an answer; unknown members are ignored.
  /// - Throws: `member` with the name of the missing or invalid one.
  init(json: JSONValue) throws(JSONError) {
    guard let id = json["id"]?.integer else { throw .member("id") }
    self.id = Int(id)
    finalURL = try json.text("finalURL")
    title = try json.text("title")
    status = try json.number("status")
    failure = try json.text("failure")
    requests = try json.list("requests") { (value) throws(JSONError) in try Request(json: value) }
    console = try json.list("console") { (value) throws(JSONError) in try Message(json: value) }
    scriptErrors = try json.list("scriptErrors") { (value) throws(JSONError) in try Message(json: value) }
    firstContentfulPaint = try json.number("firstContentfulPaint")
    load = try json.number("load")
    // It is unknown for a page that didn't load.
    guard let isBlank = json["isBlank"]?.bool ?? (failure == nil ? nil : true) else {
      throw .member("isBlank")
    }
    self.isBlank = isBlank
  }
}

extension PageReport.Request {
  /// The URL, shortened if it is a data: URL, which contains a whole file.
  private var shortURL: String {
    url.hasPrefix("data:") && url.utf8.count > 100 ? url.prefix(100) + "…" : url
  }

  fileprivate init(json: JSONValue) throws(JSONError) {
    url = try json.string("url")
    guard let source = json["source"]?.string.flatMap(PageReport.Source.init) else { throw .member("source") }
    self.source = source
    status = try json.number("status")
    bytes = max(0, try json.number("bytes") ?? 0)
    kind = try json.text("kind") ?? "other"
    milliseconds = try json.number("ms")
  }

  fileprivate var json: JSONValue {
    [
      "bytes": .integer(bytes), "kind": .string(kind), "ms": milliseconds.json,
      "source": .string(source.rawValue),
      "status": status.json, "url": .string(shortURL),
    ]
  }
}

extension PageReport.Message {
  fileprivate init(json: JSONValue) throws(JSONError) {
    level = try json.text("level") ?? ""
    text = try json.string("text")
    url = try json.text("url") ?? ""
    line = try json.number("line")
    column = try json.number("column")
  }

  fileprivate var json: JSONValue {
    var members: JSONObject = JSONObject()
    if !level.isEmpty { members["level"] = .string(level) }
    members["column"] = column.json
    members["line"] = line.json
    members["text"] = .string(text)
    members["url"] = .string(url)
    return .object(members)
  }
}

extension PageReport {
  /// The page's report for `--json`.
  var json: JSONObject {
    var members = JSONObject()
    members["console"] = .array(console.map(\.json))
    members["failure"] = failure.map { .string($0) } ?? .null
    members["finalURL"] = finalURL.map { .string($0) } ?? .null
    members["firstContentfulPaint"] = firstContentfulPaint.json
    members["isBlank"] = .bool(isBlank)
    members["load"] = load.json
    members["requests"] = .array(requests.map(\.json))
    members["scriptErrors"] = .array(scriptErrors.map(\.json))
    members["status"] = status.json
    members["title"] = title.map { .string($0) } ?? .null
    return members
  }
}

extension Int64? {
  fileprivate var json: JSONValue { map { .integer($0) } ?? .null }
}

extension JSONValue {
  /// Returns a string that may be null or missing.
  fileprivate func text(_ key: String) throws(JSONError) -> String? {
    guard let value = self[key], !value.isNull else { return nil }
    guard let text = value.string else { throw .member(key) }
    return text
  }

  /// Returns a number that may be null or missing, rounded.
  fileprivate func number(_ key: String) throws(JSONError) -> Int64? {
    guard let value = self[key], !value.isNull else { return nil }
    guard case .number(let text) = value, let number = Double(text), number.magnitude < 1e15 else {
      throw .member(key)
    }
    return Int64(number.rounded())
  }

  fileprivate func list<Element>(
    _ key: String, _ read: (JSONValue) throws(JSONError) -> Element
  ) throws(JSONError) -> [Element] {
    guard let values = self[key]?.array else { throw .member(key) }
    var elements: [Element] = []
    elements.reserveCapacity(values.count)
    for value in values { elements.append(try read(value)) }
    return elements
  }
}
