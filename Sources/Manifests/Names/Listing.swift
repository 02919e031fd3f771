/// Lists within messages, which end before they fill the screen.
package enum Listing {
  /// Lines that a list has before it ends.
  package static let limit = 40

  /// The lines that are shown; of a long list the first, and how many more there are.
  ///
  /// - Parameters:
  ///   - head: lines that are above it and don't count.
  ///   - hint: what shows them all, such as `--all lists them`.
  package static func shown(_ lines: [String], head: Int = 0, hint: String) -> [String] {
    // Nobody is sent for one line more.
    guard lines.count > limit + head + 1 else { return lines }
    return lines.prefix(limit + head) + ["… and \(lines.count - limit - head) more; \(hint)"]
  }

  /// The same below a sentence: each line begins with a line break and two spaces.
  package static func below(_ lines: [String], hint: String) -> String {
    shown(lines, hint: hint).map { "\n  \($0)" }.joined()
  }
}
