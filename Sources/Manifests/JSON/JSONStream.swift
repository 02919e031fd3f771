/// Which containers of a document are told part by part, from the outermost inwards.
package indirect enum JSONDivision: Sendable {
  /// Told as one value.
  case whole
  /// An object, member by member; members that aren't named are told whole.
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

  /// How the part under a key, or the next element, is told.
  fileprivate func part(_ key: String?) -> JSONDivision {
    switch self {
    case .whole: .whole
    case .members(let named): key.flatMap { named[$0] } ?? .whole
    case .elements(let element): element
    }
  }
}

/// Reads one JSON text (RFC 8259) as it arrives, strictly. Of a large text no more is in memory than what has just
/// arrived and one part.
///
/// Keys that come twice aren't looked for in what is told part by part: whoever keeps the parts sees them.
package struct JSONStream {
  /// A piece of the document, as it comes by.
  package enum Part: Hashable, Sendable {
    /// A container begins whose parts follow; its key, where it is a member.
    case begin(String?)
    /// A member or an element, whole.
    case value(String?, JSONValue)
    /// The container that began last, of those that haven't ended, ends.
    case end
  }

  /// Bytes of a part that is told whole, of a key, or of white space between them.
  package static let partLimit = 65_536

  private struct Container {
    let isObject: Bool
    let division: JSONDivision
    var hasParts = false
    /// The key of the member whose value comes next.
    var key: String?
    /// A colon stands between it and its value.
    var isBehindKey = false
  }

  private let division: JSONDivision
  private var open: [Container] = []
  private var hasBegun = false
  private var buffer: [UInt8] = []
  private var at = 0
  /// Bytes before the buffer.
  private var dropped = 0
  /// White space that was read since the last byte that is none.
  private var spaces = 0
  private var scan = PartScan()

  /// - Parameter division: of the whole document, which is an object or an array of that shape.
  package init(_ division: JSONDivision) { self.division = division }

  /// Adds what has arrived. Each call is followed by calls of `next` until that gives nil.
  package mutating func append(_ bytes: RawSpan) {
    buffer.removeFirst(at)
    dropped += at
    at = 0
    bytes.withUnsafeBytes { buffer.append(contentsOf: $0) }
  }

  /// The next part; nil where that hasn't arrived yet, or all were told.
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

  /// A part has to follow the comma that was read last.
  private var isBehindComma = false

  /// - Throws: `ended` where the text isn't complete.
  package func finish() throws(JSONError) {
    guard hasBegun, open.isEmpty else { throw .ended }
  }

  // MARK: - Pieces

  private mutating func value(_ key: String?, _ division: JSONDivision) throws(JSONError) -> Part? {
    let inner = division.part(key)
    if inner.divides(buffer[at]) { return begin(key, inner) }
    guard let value = try whole() else { return nil }
    told()
    return .value(key, value)
  }

  private mutating func begin(_ key: String?, _ division: JSONDivision) -> Part {
    if !open.isEmpty { told() }
    open.append(Container(isObject: buffer[at] == UInt8(ascii: "{"), division: division))
    at += 1
    return .begin(key)
  }

  /// The innermost container has one more part.
  private mutating func told() {
    open[open.count - 1].hasParts = true
    open[open.count - 1].key = nil
    open[open.count - 1].isBehindKey = false
    isBehindComma = false
  }

  /// The value that begins here; nil where its end hasn't arrived.
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

  /// The next byte that isn't white space; nil where none has arrived.
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
    // Coded, a few bytes stand for as much of it as a body may have.
    guard spaces <= Self.partLimit else { throw .tooLarge(at: dropped + at) }
    if next != nil { spaces = 0 }
    return next
  }

  private mutating func expect(_ byte: UInt8, _ found: UInt8) throws(JSONError) {
    guard found == byte else { throw .unexpected(at: dropped + at) }
    at += 1
  }
}

/// Looks for the end of a value, and goes on where it stopped once more has arrived. What the value holds is checked
/// when it is complete.
private struct PartScan {
  private var seen = 0
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  /// Bytes of the value that begins at `start`; nil where its end hasn't arrived.
  ///
  /// Quotes, backslashes, brackets, commas and white space are written as numbers: this runs for each byte of a body,
  /// and tests of 20 MB run unoptimised.
  mutating func count(in bytes: [UInt8], from start: Int) -> Int? {
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
        // Behind a number or a word.
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
