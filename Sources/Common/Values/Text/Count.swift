/// Counts of things in messages.
package enum Count {
  /// Returns `1 file`, `2 files`.
  package static func text(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// Returns `1,204`.
  package static func grouped(_ count: some BinaryInteger) -> String {
    let digits = Array(String(count.magnitude))
    let groups = stride(from: digits.count, to: 0, by: -3).map { String(digits[max(0, $0 - 3)..<$0]) }
    return (count < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
  }
}

extension String {
  /// The text with line breaks replaced by `⏎`, for a list of one line each.
  package var onOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline).joined(separator: " ⏎ ")
  }
}
