/// Follows the trail from its first row and finds the first place where it was changed.
package struct AuditChain: Sendable {
  /// What is wrong with a trail, at the first row where it shows.
  package enum Break: Hashable, Sendable {
    /// The row's hash isn't that of its words after the row before: one of both was altered, or rows changed places.
    case altered(Int64)
    /// The row isn't there, though a later one or a receipt names it.
    case missing(Int64)
    /// The row stands after one with a higher number.
    case reordered(Int64)
    /// A receipt says that the row had another hash: all from some row on was written anew.
    case rewritten(Int64)
  }

  /// The newest row that is right.
  package private(set) var head = AuditHead.none
  /// What is wrong; nil: nothing so far.
  package private(set) var found: Break?
  /// Receipts that are still to be met, the lowest row first.
  private var receipts: [AuditHead]

  /// A trail from its first row on, which must have these receipts.
  package init(receipts: [AuditHead] = []) {
    self.receipts = receipts.sorted { $0.row < $1.row }
  }

  /// Takes the next row; nothing more after the first break.
  package mutating func take(_ row: AuditRow) {
    guard found == nil else { return }
    guard row.id == head.row + 1 else {
      found = row.id > head.row ? .missing(head.row + 1) : .reordered(row.id)
      return
    }
    guard row.hash == row.hash(after: head.hash) else {
      found = .altered(row.id)
      return
    }
    head = AuditHead(row: row.id, hash: row.hash)
    while let receipt = receipts.first, receipt.row == row.id {
      receipts.removeFirst()
      if receipt.hash != row.hash { found = .rewritten(row.id) }
    }
  }

  /// What is wrong after the last row; nil: nothing, and every receipt is in the trail.
  package func finish() -> Break? {
    found ?? receipts.first.map { _ in .missing(head.row + 1) }
  }
}

extension AuditChain.Break: CustomStringConvertible {
  /// In words.
  package var description: String {
    switch self {
    case .altered(let row): "row \(row) was changed, or doesn't follow the row before it"
    case .missing(let row): "row \(row) was removed"
    case .reordered(let row): "row \(row) was moved"
    case .rewritten(let row):
      "row \(row) doesn't match the receipt: history was rewritten"
    }
  }

  /// The row where it shows.
  package var row: Int64 {
    switch self {
    case .altered(let row), .missing(let row), .reordered(let row), .rewritten(let row): row
    }
  }
}
