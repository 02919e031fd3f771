/// Lists in messages, cut before they fill the screen.
package enum Listing {
  /// The maximum number of lines shown.
  package static let limit = 40

  /// Returns the lines to show; for a long list, the first ones and how many more there are.
  ///
  /// - Parameters:
  ///   - lines: the lines of the list.
  ///   - head: the number of heading lines, which don't count.
  ///   - hint: how to see them all, such as `--all lists them`.
  package static func shown(_ lines: [String], head: Int = 0, hint: String) -> [String] {
    // A single line more is shown instead of the hint.
    guard lines.count > limit + head + 1 else { return lines }
    return lines.prefix(limit + head) + ["… and \(lines.count - limit - head) more; \(hint)"]
  }

  /// Returns the lines to show below a sentence, each preceded by a line break and two spaces.
  package static func below(_ lines: [String], hint: String) -> String {
    shown(lines, hint: hint).map { "\n  \($0)" }.joined()
  }
}
