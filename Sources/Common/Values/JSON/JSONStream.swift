/// Which containers of a document are read part by part, from the outermost inwards.
package indirect enum JSONDivision: Sendable {
  /// Read as one value.
  case whole
  /// An object, member by member; members that aren't named are read whole.
  case members([String: JSONDivision] = [:])
  /// An array, element by element.
  case elements(JSONDivision = .whole)

  fileprivate func divides(_ bracket: UInt8) -> Bool {
    switch self {
    case .whole: false
    case .members: bracket == UInt8(ascii: "{")
    case .elements: bracket == UInt8(ascii: "[")
    }
  }

  /// Returns the division of the member `key`, or of the next element.
  fileprivate func part(_ key: String?) -> JSONDivision {
    switch self {
    case .whole: .whole
    case .members(let named): key.flatMap { named[$0] } ?? .whole
    case .elements(let element): element
    }
  }
}

/// Parses a JSON text (RFC 8259) as it arrives, strictly. Memory holds only what has just arrived, and one part.
///
/// Duplicate keys aren't detected in objects that are read part by part; that is up to the caller.
package struct JSONStream {
  /// A part of the document.
  package enum Part: Hashable, Sendable {
    /// The beginning of a container whose parts follow, with its key if it is a member.
    case begin(String?)
    /// A whole member or element.
    case value(String?, JSONValue)
    /// The end of the innermost open container.
    case end
  }

  /// The maximum bytes of a part read whole, of a key, or of the white space between them.
  package static let partLimit = 65_536

  private struct Container {
    let isObject: Bool
    let division: JSONDivision
    var hasParts = false
    /// The key of the member whose value comes next.
    var key: String?
    /// Whether the colon after the key has been read.
    var isBehindKey = false
  }

  private let division: JSONDivision
  private var open: [Container] = []
  private var hasBegun = false
  private var buffer: [UInt8] = []
  private var at = 0
  /// The number of bytes before the buffer.
  private var dropped = 0
  /// The number of white space bytes since the last other byte.
  private var spaces = 0
  private var scan = PartScan()

  /// - Parameter division: the division of the whole document, which must be an object or array of that form.
  package init(_ division: JSONDivision) { self.division = division }

  /// Adds bytes that arrived. After each call, call `next` until it returns nil.
  package mutating func append(_ bytes: RawSpan) {
    buffer.removeFirst(at)
    dropped += at
    at = 0
    bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
  }

  /// Returns the next part; nil if it hasn't arrived yet, or the document has ended.
  package mutating func next() throws(JSONError) -> Part? {
    while let byte = try peek() {
      guard let container = open.last else {
        guard !hasBegun else { throw .trailing(at: dropped + at) }
        guard division.divides(byte) else { throw .unexpected(at: dropped + at) }
        hasBegun = true
        return begin(nil, division)
      }
      if container.isBehindKey { return try value(container.key, container.division) }
      if container.key != nil {
        try expect(UInt8(ascii: ":"), byte)
        open[open.count - 1].isBehindKey = true
      } else if byte == (container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")), !isBehindComma {
        at += 1
        open.removeLast()
        return .end
      } else if container.hasParts, !isBehindComma {
        try expect(UInt8(ascii: ","), byte)
        isBehindComma = true
      } else if container.isObject {
        guard byte == UInt8(ascii: "\"") else { throw .unexpected(at: dropped + at) }
        guard let key = try whole()?.string else { return nil }
        open[open.count - 1].key = key
      } else {
        return try value(nil, container.division)
      }
    }
    return nil
  }

  /// Whether a part must follow, because a comma was read.
  private var isBehindComma = false

  /// Checks that the text is complete.
  /// - Throws: `ended`, if it isn't.
  package func finish() throws(JSONError) {
    guard hasBegun, open.isEmpty else { throw .ended }
  }

  // MARK: - Pieces

  private mutating func value(_ key: String?, _ division: JSONDivision) throws(JSONError) -> Part? {
    let inner = division.part(key)
    if inner.divides(buffer[at]) { return begin(key, inner) }
    guard let value = try whole() else { return nil }
    recordPart()
    return .value(key, value)
  }

  private mutating func begin(_ key: String?, _ division: JSONDivision) -> Part {
    if !open.isEmpty { recordPart() }
    open.append(Container(isObject: buffer[at] == UInt8(ascii: "{"), division: division))
    at += 1
    return .begin(key)
  }

  /// Records that the innermost container has one more part.
  private mutating func recordPart() {
    open[open.count - 1].hasParts = true
    open[open.count - 1].key = nil
    open[open.count - 1].isBehindKey = false
    isBehindComma = false
  }

  /// Returns the value that begins here; nil if its end hasn't arrived.
  private mutating func whole() throws(JSONError) -> JSONValue? {
    let count = scan.count(in: buffer, from: at)
    guard (count ?? buffer.count - at) <= Self.partLimit else { throw .tooLarge(at: dropped + at) }
    guard let count else { return nil }
    guard count > 0 else { throw .unexpected(at: dropped + at) }
    defer { at += count }
    scan = PartScan()
    do {
      return try JSONValue.parse(Array(buffer[at..<at + count]))
    } catch {
      throw error.moved(by: dropped + at)
    }
  }

  /// Returns the next byte that isn't white space; nil if none has arrived.
  private mutating func peek() throws(JSONError) -> UInt8? {
    let start = at
    var next: UInt8?
    while at < buffer.count {
      let byte = buffer[at]
      guard byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D else {
        next = byte
        break
      }
      at += 1
    }
    spaces += at - start
    // Under a content coding, a few bytes can stand for a whole body of white space.
    guard spaces <= Self.partLimit else { throw .tooLarge(at: dropped + at) }
    if next != nil { spaces = 0 }
    return next
  }

  private mutating func expect(_ byte: UInt8, _ found: UInt8) throws(JSONError) {
    guard found == byte else { throw .unexpected(at: dropped + at) }
    at += 1
  }
}

/// Finds the end of a value, continuing where it stopped once more bytes have arrived. The value itself is checked
/// when it is complete.
private struct PartScan {
  private var seen = 0
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  /// Returns the length of the value that begins at `start`; nil if its end hasn't arrived.
  ///
  /// Quotes, backslashes, brackets, commas and white space are written as numbers: this runs for each byte of a body,
  /// and tests of 20 MB run unoptimised.
  package mutating func count(in bytes: [UInt8], from start: Int) -> Int? {
    var at = start + seen
    defer { seen = at - start }
    while at < bytes.count {
      let byte = bytes[at]
      if isInString {
        at += 1
        if isEscaped {
          isEscaped = false
        } else if byte == 0x5C {
          isEscaped = true
        } else if byte == 0x22 {
          isInString = false
          if depth == 0 { return at - start }
        }
        continue
      }
      switch byte {
      case 0x22: isInString = true
      case 0x7B, 0x5B: depth += 1
      case 0x7D, 0x5D:
        // The end of a number or a word.
        if depth == 0 { return at - start }
        depth -= 1
        if depth == 0 { return at + 1 - start }
      case 0x2C, 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return at - start }
      default: break
      }
      at += 1
    }
    return nil
  }
}
