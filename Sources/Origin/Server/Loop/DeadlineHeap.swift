/// The times at which connections must be checked next, soonest first.
///
/// Lazy: a connection keeps its actual deadline; an entry only says when to check. So a request that extends the deadline
/// costs nothing here. Entries of closed connections stay until their time, or until `keep`.
struct DeadlineHeap {
  struct Entry {
    let time: UInt64
    let token: UInt64
  }

  private var entries: [Entry] = []

  var count: Int { entries.count }

  /// The soonest time, or nil if there is none.
  var next: UInt64? { entries.first?.time }

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var index = entries.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard entries[index].time < entries[parent].time else { return }
      entries.swapAt(index, parent)
      index = parent
    }
  }

  /// Removes the entries that aren't `wanted`.
  mutating func keep(_ wanted: (Entry) -> Bool) {
    let all = entries
    entries = []
    // They are roughly in order, so few have far to rise.
    for entry in all where wanted(entry) { insert(entry) }
  }

  /// Removes and returns the soonest entry if its time has come.
  mutating func pop(_ now: UInt64) -> Entry? {
    guard let first = entries.first, first.time <= now else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return first }
    entries[0] = last
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < entries.count && entries[child].time < entries[least].time {
        least = child
      }
      guard least != index else { return first }
      entries.swapAt(index, least)
      index = least
    }
  }
}
