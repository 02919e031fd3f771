/// Who has the writing connection next: whoever came first, but what goes first before all others.
struct WriterTurns: Sendable {
  private var isTaken = false
  private var first: [Int] = []
  private var others: [Int] = []
  private var tickets = 0

  /// Adds one who waits.
  mutating func queue(goesFirst: Bool) -> Int {
    tickets += 1
    if goesFirst { first.append(tickets) } else { others.append(tickets) }
    return tickets
  }

  /// Begins the turn of a ticket; false if it isn't the next one.
  mutating func begin(_ ticket: Int) -> Bool {
    guard !isTaken, (first.first ?? others.first) == ticket else { return false }
    if first.isEmpty { others.removeFirst() } else { first.removeFirst() }
    isTaken = true
    return true
  }

  /// Ends the turn.
  mutating func end() { isTaken = false }
}
