import Manifests
import OriginAPI
import System
import Values

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

extension Moment {
  /// The time for people: `2026-11-20 15:17:27 UTC`.
  var formatted: String { Timestamp.words(milliseconds) }
}

extension Moment? {
  /// The time, or a dash if there is none.
  var formatted: String { map(\.formatted) ?? "—" }
}
