import Values

/// The security headers of an entry, which are sent when it is answered from a local file (docs/protocol.md §3): a page from
/// a device's cache must not lose its Content-Security-Policy.
package struct EntryHeaders: Hashable, Sendable {
  /// A header and its value.
  package struct Field: Hashable, Sendable {
    /// The name of the header.
    package let name: Name
    /// The value of the header.
    package let value: Value

    /// Creates a header with this value.
    package init(_ name: Name, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// A header that an entry may have.
  package enum Name: String, Hashable, CaseIterable, Comparable, Sendable {
    case contentSecurityPolicy = "Content-Security-Policy"
    case contentSecurityPolicyReportOnly = "Content-Security-Policy-Report-Only"
    case crossOriginEmbedderPolicy = "Cross-Origin-Embedder-Policy"
    case crossOriginOpenerPolicy = "Cross-Origin-Opener-Policy"
    case crossOriginResourcePolicy = "Cross-Origin-Resource-Policy"
    case permissionsPolicy = "Permissions-Policy"
    case referrerPolicy = "Referrer-Policy"
    case serviceWorkerAllowed = "Service-Worker-Allowed"
    case xFrameOptions = "X-Frame-Options"

    /// Parses a name in any case ("case-insensitive", RFC 9110, section 5.1); nil for any other header.
    package init?(_ text: String) {
      let name = Self.allCases.first { name in
        name.rawValue.utf8.elementsEqual(text.utf8) { ASCII.lowered($0) == ASCII.lowered($1) }
      }
      guard let name else { return nil }
      self = name
    }

    package static func < (a: Name, b: Name) -> Bool { UTF8Order.precedes(a.rawValue, b.rawValue) }
  }

  /// The value of a header: printable ASCII, so that it can't start another field or answer.
  package struct Value: Hashable, Sendable {
    /// The value as sent.
    package let text: String

    /// The maximum length in bytes.
    package static let limit = 8192

    /// Why a text can't be a header's value.
    package enum Fault: Error, Hashable, Sendable {
      /// The text is empty.
      case empty
      /// The text begins or ends with a space.
      case space
      /// The text is too long, with this many bytes.
      case long(Int)
      /// The text has a line break, another control character or one that isn't ASCII.
      case byte(UInt8, at: Int)
    }

    /// Creates a value of `text` as written.
    package init(_ text: String) throws(Fault) {
      guard !text.isEmpty else { throw .empty }
      guard text.utf8.count <= Self.limit else { throw .long(text.utf8.count) }
      for (at, byte) in text.utf8.enumerated() where !(0x20..<0x7F).contains(byte) {
        throw .byte(byte, at: at)
      }
      // RFC 9110, section 5.5: "A field value does not include leading or trailing whitespace."
      guard text.utf8.first != 0x20, text.utf8.last != 0x20 else { throw .space }
      self.text = text
    }
  }

  /// Why something can't be an entry's headers.
  package enum Fault: Error, Hashable, Sendable {
    /// Not an object of strings.
    case form
    /// A header that entries can't have.
    case unknown(String)
    /// A name that occurs twice, in different cases.
    case twice(Name)
    /// A value that can't be sent.
    case value(Name, Value.Fault)
  }

  /// The headers, sorted by name, each once.
  package let fields: [Field]

  /// No headers.
  package init() { fields = [] }

  /// Creates a list of these headers.
  package init(_ values: [Name: Value]) {
    fields = values.map { Field($0.key, $0.value) }.sorted { $0.name < $1.name }
  }

  /// Parses `{"Name":"value"}` as a publisher gives it.
  /// - Throws: the first fault.
  package init(json: JSONValue) throws(Fault) {
    try self.init(json) { (name) throws(Fault) in throw .unknown(name) }
  }

  /// Parses the headers of an entry; those that this version doesn't know are left out.
  /// - Throws: the first fault of a known one.
  package init(known json: JSONValue) throws(Fault) { try self.init(json) { _ in } }

  private init(_ json: JSONValue, unknown: (String) throws(Fault) -> Void) throws(Fault) {
    guard let object = json.object else { throw .form }
    var values: [Name: Value] = [:]
    for member in object.members {
      guard let name = Name(member.key) else {
        try unknown(member.key)
        continue
      }
      guard let text = member.value.string else { throw .form }
      let value: Value
      do throws(Value.Fault) {
        value = try Value(text)
      } catch {
        throw .value(name, error)
      }
      guard values.updateValue(value, forKey: name) == nil else { throw .twice(name) }
    }
    self.init(values)
  }

  /// Whether there are none.
  package var isEmpty: Bool { fields.isEmpty }

  /// The headers as an object of names and values.
  package var json: JSONValue {
    .object(JSONObject(fields.map { .init(key: $0.name.rawValue, value: .string($0.value.text)) }))
  }
}

extension EntryHeaders {
  static let key = "headers"

  /// The member `headers`, or nothing if there are none.
  package var members: JSONObject { isEmpty ? JSONObject() : JSONObject([.init(key: Self.key, value: json)]) }

  /// Parses the headers in an entry's members; nil if a header that this version knows can't be sent.
  init?(of members: JSONObject) {
    guard let json = members[Self.key] else {
      self.init()
      return
    }
    guard let headers = try? EntryHeaders(known: json) else { return nil }
    self = headers
  }
}

extension EntryHeaders.Fault: CustomStringConvertible {
  /// What is wrong, and what to do.
  package var description: String {
    switch self {
    case .form: "headers are an object of names, each with its value as a text"
    case .unknown(let name):
      "\(name.debugDescription) is not a header that an entry can have; known are "
        + EntryHeaders.Name.allCases.map(\.rawValue).joined(separator: ", ")
    case .twice(let name): "\(name.rawValue) appears twice"
    case .value(let name, let fault): "\(name.rawValue): \(fault)"
    }
  }
}

extension EntryHeaders.Value.Fault: CustomStringConvertible {
  /// What is wrong, and what to do.
  package var description: String {
    switch self {
    case .empty: "the value is empty"
    case .space: "the value begins or ends with a space"
    case .long(let bytes): "the value has \(bytes) bytes; the limit is \(EntryHeaders.Value.limit)"
    case .byte(10, let at), .byte(13, let at):
      "the value has a line break at byte \(at); write it on one line"
    case .byte(let byte, let at) where byte < 0x80: "the value has a control character at byte \(at)"
    case .byte(_, let at): "the value has a character that isn't ASCII at byte \(at)"
    }
  }
}
