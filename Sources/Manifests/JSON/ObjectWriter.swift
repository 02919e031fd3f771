/// Writes one canonical JSON object whose members come in the order of their keys.
struct ObjectWriter {
  private var bytes: [UInt8]
  private var last: String?
  private(set) var count = 0

  init(reserving capacity: Int = 0) {
    bytes = []
    bytes.reserveCapacity(capacity)
    bytes.append(UInt8(ascii: "{"))
  }

  private init(after key: String) {
    bytes = []
    last = key
  }

  /// Appends a member; `value` writes its value. A key that doesn't come after the one before is a bug.
  mutating func append(key: String, _ value: (inout [UInt8]) -> Void) {
    if let last {
      if !UTF8Order.precedes(last, key) { fatalError("\(key) doesn't come after \(last)") }
      bytes.append(UInt8(ascii: ","))
    }
    last = key
    count += 1
    CanonicalJSON.append(string: key, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    value(&bytes)
  }

  mutating func append(key: String, string: String) {
    append(key: key) { CanonicalJSON.append(string: string, to: &$0) }
  }

  mutating func append(key: String, raw: [UInt8]) {
    append(key: key) { $0.append(contentsOf: raw) }
  }

  consuming func finish() -> [UInt8] {
    bytes.append(UInt8(ascii: "}"))
    return bytes
  }

  /// The object cut where the value of a further member, `key`, is to stand: the bytes before it, and a
  /// writer for what follows.
  consuming func split(at key: String) -> (head: [UInt8], tail: ObjectWriter) {
    append(key: key) { _ in }
    return (bytes, ObjectWriter(after: key))
  }
}
