/// The parts of a stack's frame, `FUNCTION@URL:LINE:COLUMN`.
struct FrameParts {
  let function: [Unicode.Scalar]
  let url: [Unicode.Scalar]
  /// As written; nil unless there are both numbers, each of at most 9 digits.
  let position: (line: String, column: String)?

  init(_ text: [Unicode.Scalar]) {
    var rest = text[...]
    var position: (String, String)?
    if let (before, column) = Self.number(rest), let (start, line) = Self.number(before) {
      (rest, position) = (start, (line, column))
    }
    self.position = position
    let marks = rest.indices.filter { rest[$0] == "@" }
    // The first with a scheme behind it: a path may have an `@`, and so may a function.
    let mark = marks.first { SampleURL.endOfScheme(rest[($0 + 1)...]) != nil } ?? marks.last
    function = Array(mark.map { rest[..<$0] } ?? rest)
    url = mark.map { Array(rest[($0 + 1)...]) } ?? []
  }

  /// Splits `:` and 1 to 9 digits from the end of a text.
  private static func number(
    _ text: ArraySlice<Unicode.Scalar>
  ) -> (before: ArraySlice<Unicode.Scalar>, digits: String)? {
    let digits = text.suffix(10).reversed().prefix(while: SampleText.isDigit).count
    let mark = text.endIndex - digits - 1
    guard (1...9).contains(digits), mark >= text.startIndex, text[mark] == ":" else { return nil }
    return (text[..<mark], SampleText.line(text[(mark + 1)...], limit: 9))
  }
}

/// A frame of a stack.
package struct StackFrame: Hashable, Sendable {
  /// The function's name; empty if it has none.
  package let function: String
  /// The script's URL; empty if the engine named none.
  package let url: String
  /// From 1; 0 if it isn't known.
  package let line: Int
  /// From 1; 0 if it isn't known.
  package let column: Int

  /// Reads `FUNCTION@URL:LINE:COLUMN`, as `SampleText.frame(_:listed:)` writes it.
  package init(_ text: String) {
    let parts = FrameParts(SampleText.characters(text))
    function = String(String.UnicodeScalarView(parts.function))
    url = String(String.UnicodeScalarView(parts.url))
    line = parts.position.flatMap { Int($0.line) } ?? 0
    column = parts.position.flatMap { Int($0.column) } ?? 0
  }
}
