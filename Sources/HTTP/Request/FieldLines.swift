/// Walks the header lines of a head that was parsed without error.
package struct FieldLines: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// The value of the next line whose name is `name` in any case, without blanks around it.
  @_lifetime(copy self)
  package mutating func next(named name: RawSpan) -> RawSpan? {
    while index < bytes.byteCount, let end = bytes.firstIndex(of: 0x0A, from: index) {
      let line = bytes.extracting(index..<max(index, end &- 1))
      index = end &+ 1
      guard let colon = line.firstIndex(of: 0x3A) else { continue }
      if line.extracting(0..<colon).equalsIgnoringCase(name) {
        return line.extracting((colon &+ 1)..<line.byteCount).trimmed
      }
    }
    return nil
  }

  /// How many lines from here on have a known name.
  func count(of name: FieldName) -> Int {
    var walk = FieldLines(bytes)
    walk.index = index
    var count = 0
    while walk.next(name) != nil { count += 1 }
    return count
  }

  /// The value of the next line of a known field.
  @_lifetime(copy self)
  package mutating func next(_ name: FieldName) -> RawSpan? { next(named: RawSpan(name.name)) }
}
