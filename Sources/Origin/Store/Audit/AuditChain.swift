/// Verifies the trail from its first row and finds the first place where it was changed.
package struct AuditChain: Sendable {
  /// What is wrong with a trail, at the first row that shows it.
  package enum Break: Hashable, Sendable {
    /// The row's hash doesn't fit its content and the row before: one of them was altered, or rows were swapped.
    case altered(Int64)
    /// The row is missing, though a later row or a receipt refers to it.
    case missing(Int64)
    /// The row comes after one with a higher number.
    case reordered(Int64)
    /// A receipt has another hash for the row: the trail was rewritten from some row on.
    case rewritten(Int64)
  }

  /// The newest correct row.
  package private(set) var head = AuditHead.none
  /// What is wrong; nil if nothing was found so far.
  package private(set) var found: Break?
  /// Receipts whose rows haven't come yet, by row.
  private var receipts: [AuditHead]

  /// Creates a verifier of a trail from its first row on, which has to match these receipts.
  package init(receipts: [AuditHead] = []) {
    self.receipts = receipts.sorted { $0.row < $1.row }
  }

  /// Verifies the next row; does nothing after the first break.
  package mutating func append(_ row: AuditRow) {
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

  /// What is wrong after the last row; nil if nothing is, and every receipt is in the trail.
  package func finish() -> Break? {
    found ?? receipts.first.map { _ in .missing(head.row + 1) }
  }
}

extension AuditChain.Break: CustomStringConvertible {
  /// What is wrong, in words.
  package var description: String {
    switch self {
    case .altered(let row): "row \(row) was changed, or doesn't follow the row before it"
    case .missing(let row): "row \(row) was removed"
    case .reordered(let row): "row \(row) was moved"
    case .rewritten(let row):
      "row \(row) doesn't match the receipt: history was rewritten"
    }
  }

  /// The row that shows it.
  package var row: Int64 {
    switch self {
    case .altered(let row), .missing(let row), .reordered(let row), .rewritten(let row): row
    }
  }
}
