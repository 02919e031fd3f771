import Manifests
import OriginAPI
import System

/// Rows under each other in columns as wide as they need to be.
struct Table {
  private var rows: [[String]]
  private let rightAligned: Set<Int>

  init(_ titles: [String], rightAligned: Set<Int> = []) {
    rows = [titles]
    self.rightAligned = rightAligned
  }

  /// Whether there is nothing below the titles.
  var isEmpty: Bool { rows.count == 1 }

  /// What people wrote may have several lines; none of them may look like a row of its own.
  mutating func add(_ cells: [String]) { rows.append(cells.map(\.onOneLine)) }

  var lines: [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in
      rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
    }
    return rows.map { row in
      let cells = row.enumerated().map { column, cell in
        let gap = String(repeating: " ", count: widths[column] - cell.count)
        return rightAligned.contains(column) ? gap + cell : cell + gap
      }
      let line = cells.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}

extension String {
  /// The text with `⏎` in place of line breaks.
  var onOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline).joined(separator: " ⏎ ")
  }
}

/// Counts of things as people read them.
enum Count {
  /// `1 file`, `2 files`
  static func text(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

/// Version numbers as people write them: `1, 3–5`.
enum Ranges {
  static func text(_ versions: [ManifestVersion]) -> String {
    var ranges: [ClosedRange<Int64>] = []
    for number in versions.map(\.number).sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)–\($0.upperBound)" }
      .joined(separator: ", ")
  }
}

extension OriginAPI.Moment {
  /// As people read it: `2026-11-20 15:17:27 UTC`.
  var formatted: String { Timestamp.words(milliseconds) }
}

extension OriginAPI.Moment? {
  /// The same; a dash where there is none.
  var formatted: String { map(\.formatted) ?? "—" }
}
