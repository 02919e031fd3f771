import HTTP

/// What the last queries for configure.json led to, as long as the catalog stays as it is.
///
/// A fleet asks with few different queries: those at the newest version all send the same one. Finding the answer by
/// the query's bytes costs a tenth of reading it. One event loop's own, so it needs no lock.
struct PollMemo {
  /// A query and its answer: a class, so that finding it costs one owner's count.
  final class Entry {
    let edition: Int
    let query: [UInt8]
    let document: CodedDocument
    /// What the poll counts as.
    let version: Int64
    let channel: Int64
    /// Whether it counts at all.
    let isCounted: Bool
    /// The edition of the patches that a patch is of; `noPatch` where it is none. So one that is served from here is
    /// looked up, and thereby used, once in each edition.
    let patches: Int

    init(
      edition: Int, query: [UInt8], document: CodedDocument, version: Int64, channel: Int64, isCounted: Bool,
      patches: Int
    ) {
      self.edition = edition
      self.query = query
      self.document = document
      self.version = version
      self.channel = channel
      self.isCounted = isCounted
      self.patches = patches
    }
  }

  /// Each query has one place; one that falls on another's takes it.
  private var entries = [Entry?](repeating: nil, count: Self.count)
  private static let count = 64
  /// The edition of all that was kept last.
  private var edition = 0
  /// No edition of the patches: the answer isn't one.
  static let noPatch = -1
  /// A larger answer isn't kept: it would stay in memory when its room there was given to others, or its channel has
  /// another version, for as long as the loop is asked for nothing.
  private static let largest = 256 << 10
  /// A longer query is no device's.
  private static let longest = 512

  /// What was kept for a query in this edition of the catalog.
  func entry(for query: RawSpan, edition: Int) -> Entry? {
    guard let entry = entries[Self.place(query)], entry.edition == edition, query.equals(entry.query) else {
      return nil
    }
    return entry
  }

  mutating func keep(
    _ document: CodedDocument, version: Int64, channel: Int64, isCounted: Bool = true, for query: RawSpan,
    edition: Int, patches: Int = PollMemo.noPatch
  ) {
    guard query.byteCount <= Self.longest, document.byteCount <= Self.largest else { return }
    if edition != self.edition {
      // What was kept of an older catalog would hold its manifests in memory.
      for place in entries.indices { entries[place] = nil }
      self.edition = edition
    }
    entries[Self.place(query)] = Entry(
      edition: edition, query: query.array, document: document, version: version, channel: channel,
      isCounted: isCounted, patches: patches)
  }

  private static func place(_ query: RawSpan) -> Int {
    Int(truncatingIfNeeded: query.fingerprint & UInt64(count - 1))
  }
}
