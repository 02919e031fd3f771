/// Walks the `name=value` pairs of a query, without allocating.
///
/// Names and values are as they were sent; see `formDecoded…` for what they spell.
package struct QueryItems: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  @_lifetime(copy query)
  package init(_ query: RawSpan) { bytes = query }

  /// The next pair; nil at the end. A pair without `=` has an empty value; empty pairs are left out.
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
  package let name: RawSpan
  package let value: RawSpan

  @_lifetime(copy name, copy value)
  init(name: RawSpan, value: RawSpan) {
    self.name = name
    self.value = value
  }
}
