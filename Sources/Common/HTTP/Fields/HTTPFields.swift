/// A header field (RFC 9110 §5).
public struct HTTPField: Hashable, Sendable {
  /// The name as it is sent; its case doesn't matter.
  public let name: String
  /// The text after the colon, without surrounding blanks.
  public internal(set) var value: String

  /// Creates a field.
  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether its name is `name`, in any case (RFC 9110 §5.1).
  public func isNamed(_ name: String) -> Bool {
    let (own, other) = (self.name.utf8, name.utf8)
    return own.count == other.count && own.elementsEqual(other) { $0.lowercased == $1.lowercased }
  }
}

/// The fields of a request or an answer, in the order in which they are sent; a name may appear several times.
///
/// Names are compared in any case. A literal is a list of pairs: `[("Accept", "*/*"), ("Origin", origin)]`.
public struct HTTPFields: Hashable, Sendable {
  private var all: [HTTPField] = []

  /// Creates an empty list.
  public init() {}

  /// Creates a list of names and values.
  public init(_ pairs: [(name: String, value: String)]) { all = pairs.map { HTTPField($0.name, $0.value) } }

  /// Creates a list of the fields of a dictionary, as Foundation has them, in no order.
  package init(_ dictionary: [String: String]) { all = dictionary.map { HTTPField($0.key, $0.value) } }

  // MARK: Reading

  /// The value of the first field of this name; nil if there is none.
  public subscript(name: String) -> String? { all.first { $0.isNamed(name) }?.value }

  /// Whether there is a field of this name.
  public func contains(_ name: String) -> Bool { all.contains { $0.isNamed(name) } }

  /// Returns the values of every field of this name.
  public func values(_ name: String) -> [String] {
    all.compactMap { $0.isNamed(name) ? $0.value : nil }
  }

  /// Returns the values of every field of this name as one, which means the same (RFC 9110 §5.3); nil if there is none.
  package func combined(_ name: String) -> String? {
    let values = values(name)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Returns the members of the comma-separated list in every field of this name, in lowercase (RFC 9110 §5.6.1); for lists
  /// without quoted strings.
  package func members(_ name: String) -> [String] {
    values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
      .map { HTTPField.trimmed(Substring($0)).lowercased() }.filter { !$0.isEmpty }
  }

  /// The fields as a dictionary, as Foundation has them: several values of one name are joined by commas.
  package var dictionary: [String: String] {
    Dictionary(all.map { ($0.name, $0.value) }) { "\($0), \($1)" }
  }

  // MARK: Changing

  /// Adds a field at the end.
  public mutating func add(_ name: String, _ value: String) { all.append(HTTPField(name, value)) }

  /// Removes every field of this name.
  public mutating func remove(_ name: String) { all.removeAll { $0.isNamed(name) } }

  /// Adds a field at the end in place of every other one of this name.
  public mutating func set(_ name: String, _ value: String) {
    remove(name)
    add(name, value)
  }

  /// Returns the fields whose names aren't among `names`, which are in lowercase.
  package func without(_ names: Set<String>) -> HTTPFields {
    filter { !names.contains($0.name.lowercased()) }
  }

  /// Gives each field the value that `value` returns for its name, in lowercase, and its own value; nil removes the field.
  package mutating func replaceValues(_ value: (_ name: String, _ value: String) -> String?) {
    all = all.compactMap { field in
      value(field.name.lowercased(), field.value).map { HTTPField(field.name, $0) }
    }
  }

  /// Adds a folded line to the value of the last field, after one space (RFC 9112 §5.2).
  package mutating func unfold(_ line: some StringProtocol) {
    guard let last = all.indices.last else { return }
    let text = HTTPField.trimmed(Substring(line))
    guard !text.isEmpty else { return }
    all[last].value.append(all[last].value.isEmpty ? text : " \(text)")
  }

  /// Returns the fields of both lists.
  public static func + (first: HTTPFields, second: HTTPFields) -> HTTPFields {
    var fields = first
    fields.all += second.all
    return fields
  }
}

extension HTTPFields: RandomAccessCollection, RangeReplaceableCollection {
  /// The first field's index.
  public var startIndex: Int { 0 }
  /// The number of fields.
  public var endIndex: Int { all.count }
  /// The field at an index.
  public subscript(index: Int) -> HTTPField { all[index] }

  /// Replaces a part of the list.
  public mutating func replaceSubrange(_ range: Range<Int>, with fields: some Collection<HTTPField>) {
    all.replaceSubrange(range, with: fields)
  }
}

extension HTTPFields: ExpressibleByArrayLiteral {
  /// Creates a list of names and values.
  public init(arrayLiteral pairs: (String, String)...) { all = pairs.map { HTTPField($0.0, $0.1) } }
}

extension HTTPField {
  /// Returns the text without leading and trailing blanks and line ends (OWS of RFC 9110 §5.6.3).
  package static func trimmed(_ text: Substring) -> String {
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
    var rest = text.utf8.drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return String(Substring(rest))
  }
}
