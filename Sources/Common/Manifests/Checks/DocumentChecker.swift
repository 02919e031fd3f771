import Values

/// Collects the problems of a document, each with its place.
struct DocumentChecker {
  private(set) var remarks: [DocumentRemark] = []

  var hasErrors: Bool { remarks.contains { $0.severity == .error } }

  mutating func add(_ path: JSONPath, _ problem: DocumentProblem) {
    remarks.append(DocumentRemark(path, problem))
  }

  /// Parses the JSON text; nil, with a remark, if it isn't JSON.
  mutating func parse(_ bytes: [UInt8]) -> JSONValue? {
    if bytes.allSatisfy({ $0 == 0x20 || (0x09...0x0D).contains($0) }) {
      add(.root, .empty)
      return nil
    }
    // Editors on Windows write a byte order mark; RFC 8259, section 8.1: "implementations … MAY ignore" it.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    do {
      return try JSONValue.parse(bytes)
    } catch {
      let position = error.position(in: bytes)
      add(.root, .notJSON(error, line: position?.line, column: position?.column))
      return nil
    }
  }

  // MARK: - Kinds

  /// Returns the object, with a remark for each key that isn't in `keys`.
  mutating func object(_ value: JSONValue, _ path: JSONPath, keys: [String]) -> JSONObject? {
    guard let object = object(value, path) else { return nil }
    for member in object.members where !keys.contains(where: { UTF8Order.areEqual($0, member.key) }) {
      add(
        path.member(member.key),
        .unknownKey(nearest: Spelling.nearest(to: member.key, among: keys), known: keys))
    }
    return object
  }

  mutating func object(_ value: JSONValue, _ path: JSONPath) -> JSONObject? {
    if let object = value.object { return object }
    add(path, .kind(JSONKind(value), needed: [.object]))
    return nil
  }

  mutating func array(_ value: JSONValue, _ path: JSONPath) -> [JSONValue]? {
    if let array = value.array { return array }
    add(path, .kind(JSONKind(value), needed: [.array]))
    return nil
  }

  mutating func string(_ value: JSONValue, _ path: JSONPath) -> String? {
    if let string = value.string { return string }
    add(path, .kind(JSONKind(value), needed: [.string]))
    return nil
  }

  mutating func flag(_ value: JSONValue?, _ path: JSONPath) -> Bool? {
    guard let value else { return nil }
    if let flag = value.bool { return flag }
    add(path, .kind(JSONKind(value), needed: [.boolean]))
    return nil
  }

  // MARK: - Tokens

  /// Returns a required member; `meaning` describes it in the remark if it is missing.
  mutating func required(
    _ key: String, of object: JSONObject, _ path: JSONPath, _ meaning: String
  ) -> JSONValue? {
    if let value = object[key] { return value }
    add(path, .missing(key, meaning: meaning))
    return nil
  }

  /// Returns an absolute http(s) URL without user name and fragment.
  mutating func url(_ value: JSONValue, _ path: JSONPath) -> ResourceURL? {
    guard let text = string(value, path) else { return nil }
    do {
      let url = try ResourceURL(text)
      guard !text.utf8.contains(UInt8(ascii: "#")) else {
        add(path, .fragment)
        return nil
      }
      return url
    } catch {
      add(path, .url(error))
      return nil
    }
  }
}
