import Values

/// The result of a strict check of a prefetch config: the problems with their places, and the config if there
/// are no errors.
package struct PrefetchCheck: Sendable {
  /// The errors, warnings and notes, in the order of the document.
  package let remarks: [DocumentRemark]
  /// The config; nil if there is an error.
  package let config: PrefetchConfig?

  /// Checks a file: the whole document, its `data`, or the `config` array alone.
  package init(_ bytes: [UInt8]) {
    var reader = PrefetchChecker()
    let document = reader.checks.parse(bytes)
    self.init(reader, document)
  }

  /// Checks a document that has already been parsed.
  package init(_ document: JSONValue) { self.init(PrefetchChecker(), document) }

  private init(_ checker: PrefetchChecker, _ document: JSONValue?) {
    var checker = checker
    let config = document.flatMap { checker.config(of: $0) }
    remarks = checker.checks.remarks
    self.config = checker.checks.hasErrors ? nil : config.map { PrefetchConfig(reading: $0) }
  }

  /// The remarks that keep the document from being published.
  package var errors: [DocumentRemark] { remarks.filter { $0.severity == .error } }
}

/// Checks a prefetch config for everything that a device couldn't use, or would use differently from what was
/// meant.
struct PrefetchChecker {
  var checks = DocumentChecker()
  private var pages: [String: JSONPath] = [:]

  /// Checks and returns the `config` array of a document; nil if there is none.
  mutating func config(of document: JSONValue) -> JSONValue? {
    guard let (config, path) = find(document) else { return nil }
    guard let entries = checks.array(config, path) else { return nil }
    for (i, entry) in entries.enumerated() { page(entry, path.element(i)) }
    if !checks.hasErrors {
      let size = PrefetchConfig(reading: config).json.canonical.count
      if size > PrefetchConfig.limit.bytes {
        checks.add(path, .tooLarge(bytes: size, limit: PrefetchConfig.limit.bytes))
      }
    }
    return config
  }

  /// Returns the array without the objects that may enclose it.
  private mutating func find(_ document: JSONValue) -> (JSONValue, JSONPath)? {
    if document.array != nil { return (document, .root) }
    guard let object = document.object else {
      checks.add(.root, .kind(JSONKind(document), needed: [.object, .array]))
      return nil
    }
    if object["config"] != nil, object["data"] == nil { return data(document, .root) }
    guard let frame = checks.object(document, .root, keys: ["code", "data"]) else { return nil }
    if let code = frame["code"], code.integer != 200 {
      checks.add(JSONPath.root.member("code"), .code(String(decoding: code.canonical, as: UTF8.self)))
    }
    let meaning = "the object that holds the config; or give the config array alone"
    guard let inner = checks.required("data", of: frame, .root, meaning) else { return nil }
    return data(inner, JSONPath.root.member("data"))
  }

  private mutating func data(_ value: JSONValue, _ path: JSONPath) -> (JSONValue, JSONPath)? {
    guard let data = checks.object(value, path, keys: ["config", "name", "version"]) else { return nil }
    if let name = data["name"], let text = checks.string(name, path.member("name")), text != "prefetchConfig"
    {
      checks.add(path.member("name"), .documentName(text))
    }
    if let version = data["version"], version.string.flatMap({ ManifestVersion(text: $0) }) == nil {
      checks.add(path.member("version"), .version)
    }
    guard let config = checks.required("config", of: data, path, "the array of pages") else { return nil }
    return (config, path.member("config"))
  }

  // MARK: - Pages

  private mutating func page(_ value: JSONValue, _ path: JSONPath) {
    guard let entry = checks.object(value, path, keys: ["interfaces", "url"]) else { return }
    if let text = checks.required("url", of: entry, path, "the page's address"),
      let url = checks.url(text, path.member("url"))
    {
      if let first = pages[url.matchKey] {
        checks.add(path.member("url"), .samePage(first))
      } else {
        pages[url.matchKey] = path.member("url")
      }
    }
    let place = path.member("interfaces")
    guard let list = checks.required("interfaces", of: entry, path, "the array of calls to send"),
      let values = checks.array(list, place)
    else { return }
    if values.isEmpty { checks.add(place, .noCalls) }
    if values.count > PrefetchConfig.limit.calls {
      checks.add(place, .tooManyCalls(values.count, limit: PrefetchConfig.limit.calls))
    }
    calls(values.prefix(PrefetchConfig.limit.calls), place)
  }

  private mutating func calls(_ values: ArraySlice<JSONValue>, _ path: JSONPath) {
    var seen: [PrefetchCall.Identity: JSONPath] = [:]
    for (i, value) in values.enumerated() {
      call(value, path.element(i))
      guard let identity = PrefetchCall(reading: value)?.identity else { continue }
      if let first = seen[identity] {
        checks.add(path.element(i), .sameCall(first))
      } else {
        seen[identity] = path.element(i)
      }
    }
  }

  // MARK: - Calls

  private static let callKeys = ["api", "body", "bodyParam", "method", "paramTypes", "urlParam"]

  private mutating func call(_ value: JSONValue, _ path: JSONPath) {
    guard let call = checks.object(value, path, keys: Self.callKeys) else { return }
    if let api = checks.required("api", of: call, path, "the address that is asked") {
      _ = checks.url(api, path.member("api"))
    }
    let method = method(call, path)
    if let body = call["body"], checks.object(body, path.member("body")) != nil, method == .get {
      checks.add(path.member("body"), .bodyOfGET)
    }
    if let body = call["body"], body.object != nil { values(body, path.member("body"), depth: 1) }
    let intoBody = checks.flag(call["bodyParam"], path.member("bodyParam")) ?? false
    if intoBody, method == .get { checks.add(path.member("bodyParam"), .bodyParamOfGET) }
    _ = checks.flag(call["urlParam"], path.member("urlParam"))
    paramTypes(call, path.member("paramTypes"), areUsed: intoBody)
  }

  /// The maximum nesting of a body, which leaves room for the enclosing document, and for readers with lower
  /// limits than ours.
  private static let depthLimit = 32

  private mutating func values(_ value: JSONValue, _ path: JSONPath, depth: Int) {
    guard depth <= Self.depthLimit else { return checks.add(path, .tooDeep(limit: Self.depthLimit)) }
    switch value {
    case .array(let list):
      for (i, element) in list.enumerated() { values(element, path.element(i), depth: depth + 1) }
    case .object(let object):
      for member in object.members { values(member.value, path.member(member.key), depth: depth + 1) }
    case .number(let text) where !Self.isInteroperable(text): checks.add(path, .number(text))
    case .number, .null, .bool, .string: break
    }
  }

  private static func isInteroperable(_ text: String) -> Bool {
    let isInteger = text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || ASCII.isDigit($0) }
    // Not as a double, in which 2^53 + 1 becomes 2^53.
    if isInteger { return Int64(text).map { $0.magnitude <= 1 << 53 } ?? false }
    return Double(text)?.isFinite ?? false
  }

  private mutating func method(_ call: JSONObject, _ path: JSONPath) -> PrefetchMethod? {
    let place = path.member("method")
    guard let value = checks.required("method", of: call, path, "GET, POST, PUT or DELETE"),
      let text = checks.string(value, place)
    else { return nil }
    guard let method = PrefetchMethod(text) else {
      let known = PrefetchMethod.allCases.map(\.rawValue)
      checks.add(place, .method(text, nearest: Spelling.nearest(to: text, among: known)))
      return nil
    }
    if method == .put || method == .delete { checks.add(place, .actsBeforeTheUser(method.rawValue)) }
    return method
  }

  private mutating func paramTypes(_ call: JSONObject, _ path: JSONPath, areUsed: Bool) {
    guard let value = call["paramTypes"], let types = checks.object(value, path) else { return }
    for member in types.members {
      let place = path.member(member.key)
      if member.key.isEmpty { checks.add(place, .noParameterName) }
      guard let type = checks.string(member.value, place) else { continue }
      if type != "number" && type != "string" { checks.add(place, .paramType(type)) }
    }
    if !types.isEmpty, !areUsed { checks.add(path, .unusedParamTypes) }
  }
}
