/// Counts of things in messages.
package enum Count {
  /// Returns `1 file`, `2 files`.
  package static func text(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

extension String {
  /// The text with line breaks replaced by `⏎`, for a list of one line each.
  package var onOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline).joined(separator: " ⏎ ")
  }
}
