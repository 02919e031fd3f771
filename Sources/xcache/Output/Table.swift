import Manifests
import OriginAPI
import System

/// Rows of aligned columns.
struct Table {
  private var rows: [[String]]
  private let rightAligned: Set<Int>

  init(_ titles: [String], rightAligned: Set<Int> = []) {
    rows = [titles]
    self.rightAligned = rightAligned
  }

  /// Whether there are no rows except the titles.
  var isEmpty: Bool { rows.count == 1 }

  /// Adds a row. A cell's text from people may have several lines, none of which may look like another row.
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
  /// The text with line breaks replaced by `⏎`.
  var onOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline).joined(separator: " ⏎ ")
  }
}

/// Formats counts.
enum Count {
  /// Returns `1 file`, `2 files`.
  static func text(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }
}

/// Formats version numbers: `1, 3–5`.
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
  /// The time for people: `2026-11-20 15:17:27 UTC`.
  var formatted: String { Timestamp.words(milliseconds) }
}

extension OriginAPI.Moment? {
  /// The time, or a dash if there is none.
  var formatted: String { map(\.formatted) ?? "—" }
}
