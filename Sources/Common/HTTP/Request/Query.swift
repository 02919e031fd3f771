import Backports

/// Iterates over the `name=value` pairs of a query without allocating.
///
/// Names and values are as they were sent; `formDecoded…` decodes them.
package struct QueryItems: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  /// Starts at the first pair of `query`, which has no `?`.
  @_lifetime(copy query)
  package init(_ query: RawSpan) { bytes = query }

  /// Returns the next pair, or nil at the end. A pair without `=` has an empty value; empty pairs are skipped.
  @_lifetime(copy self)
  package mutating func next() -> QueryItem? {
    while index < bytes.byteCount {
      let end = bytes.firstIndex(of: 0x26, from: index) ?? bytes.byteCount
      let pair = bytes.extracting(index..<end)
      index = end &+ 1
      guard pair.byteCount > 0 else { continue }
      let equals = pair.firstIndex(of: 0x3D) ?? pair.byteCount
      return QueryItem(
        name: pair.extracting(0..<equals),
        value: pair.extracting(min(equals &+ 1, pair.byteCount)..<pair.byteCount))
    }
    return nil
  }
}

/// One pair of a query.
package struct QueryItem: ~Escapable {
  /// The part before the `=`, as it was sent.
  package let name: RawSpan
  /// The part after the `=`, as it was sent.
  package let value: RawSpan

  @_lifetime(copy name, copy value)
  init(name: RawSpan, value: RawSpan) {
    self.name = name
    self.value = value
  }
}

/// Decodes form-encoded bytes one by one: `%XX` is decoded, `+` is a space, and invalid escapes stay as they are.
package struct FormDecoder: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  /// Starts at the first byte.
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  /// Returns the next byte, or nil at the end.
  package mutating func next() -> UInt8? {
    guard index < bytes.byteCount else { return nil }
    let byte = bytes[index]
    index &+= 1
    if byte == 0x2B { return 0x20 }
    guard byte == 0x25, index &+ 1 < bytes.byteCount, let high = bytes[index].hexadecimal,
      let low = bytes[index &+ 1].hexadecimal
    else { return byte }
    index &+= 2
    return high << 4 | low
  }
}

extension RawSpan {
  /// The form-decoded bytes, or nil if they exceed 64 bytes. Doesn't allocate.
  package var formDecoded: ShortText? {
    var decoder = FormDecoder(self)
    var text = ShortText()
    while let byte = decoder.next() {
      guard text.append(byte) else { return nil }
    }
    return text
  }

  /// The form-decoded text, or nil if it isn't UTF-8. Allocates.
  package var formDecodedText: String? {
    var decoder = FormDecoder(self)
    var decoded: [UInt8] = []
    decoded.reserveCapacity(byteCount)
    while let byte = decoder.next() { decoded.append(byte) }
    return String(validating: decoded, as: UTF8.self)
  }

  /// The decimal number that the form-decoded bytes spell.
  package var formDecodedDecimal: UInt64? {
    // Clients hardly ever escape digits, so try the plain form first.
    if let number = decimal { return number }
    guard let decoded = formDecoded else { return nil }
    return decoded.bytes.decimal
  }
}

/// Up to 64 bytes stored inline, for names decoded from a request without allocating.
package struct ShortText: Sendable {
  #if canImport(Darwin)
    // InlineArray needs iOS 26.
    private var storage = [UInt8](repeating: 0, count: 64)
  #else
    private var storage = InlineArray<64, UInt8>(repeating: 0)
  #endif
  /// The number of bytes.
  package private(set) var count = 0

  /// Creates an empty text.
  package init() {}

  /// The bytes.
  package var bytes: RawSpan {
    @_lifetime(borrow self) get { storage.span.bytes.extracting(0..<count) }
  }

  /// Appends a byte. Returns false, and appends nothing, if it is full.
  package mutating func append(_ byte: UInt8) -> Bool {
    guard count < 64 else { return false }
    storage[count] = byte
    count &+= 1
    return true
  }
}
