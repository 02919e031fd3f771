/// Walks the members of a comma-separated list (RFC 9110 §5.6.1), blanks and empty members left out.
///
/// Commas inside quotes don't separate. A backslash there is a byte like any other: entity tags have no escapes
/// (§8.8.3), and no list that is read here takes quoted strings.
package struct ListItems: ~Escapable {
  private let bytes: RawSpan
  private var index = 0

  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan) { self.bytes = bytes }

  /// The next member; nil at the end.
  @_lifetime(copy self)
  package mutating func next() -> RawSpan? {
    while index < bytes.byteCount {
      let start = index
      var quoted = false
      while index < bytes.byteCount, quoted || bytes[index] != 0x2C {
        if bytes[index] == 0x22 { quoted.toggle() }
        index &+= 1
      }
      let item = bytes.extracting(start..<index).trimmed
      index = min(index &+ 1, bytes.byteCount)
      if item.byteCount > 0 { return item }
    }
    return nil
  }
}
