import HTTP

/// What the last queries for configure.json led to, as long as the catalog stays as it is.
///
/// A fleet asks with few different queries: those at the newest version all send the same one. Finding the answer by
/// the query's bytes costs a tenth of reading it. One event loop's own, so it needs no lock.
struct PollMemo {
  struct Answer {
    let document: CodedDocument
    /// What the poll counts as.
    let version: Int64
    let channel: Int64
  }

  private struct Slot {
    var edition: Int
    var query: [UInt8]
    var answer: Answer
  }

  /// Each query has one place; one that falls on another's takes it.
  private var slots = [Slot?](repeating: nil, count: Self.count)
  private static let count = 64
  /// A longer query is no device's.
  private static let longest = 512

  /// What was kept for a query in this edition of the catalog.
  func answer(to query: RawSpan, edition: Int) -> Answer? {
    guard let slot = slots[Self.place(query)], slot.edition == edition, query.equals(slot.query) else {
      return nil
    }
    return slot.answer
  }

  mutating func keep(_ answer: Answer, for query: RawSpan, edition: Int) {
    guard query.byteCount <= Self.longest else { return }
    slots[Self.place(query)] = Slot(edition: edition, query: query.array, answer: answer)
  }

  /// Eight bytes a step; the whole query is compared after it.
  private static func place(_ query: RawSpan) -> Int {
    var hash = UInt64(truncatingIfNeeded: query.byteCount)
    var index = 0
    while index &+ 8 <= query.byteCount {
      hash = (hash ^ query.word(index)) &* 0xFF51_AFD7_ED55_8CCD
      hash ^= hash &>> 32
      index &+= 8
    }
    while index < query.byteCount {
      hash = (hash ^ UInt64(query[index])) &* 0x100_0000_01B3
      index &+= 1
    }
    return Int(truncatingIfNeeded: (hash ^ hash &>> 29) & UInt64(count - 1))
  }
}
