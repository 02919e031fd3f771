import HTTP

/// Remembers the answers to recent queries for configure.json while the catalog stays the same.
///
/// A fleet sends few different queries: devices at the newest version all send the same one. Finding the answer by the
/// query's bytes takes a tenth of the time of parsing it. Each event loop has its own, so no lock is needed.
struct PollMemo {
  /// A query and its answer; a class, so that a lookup costs only one retain.
  final class Entry {
    let edition: Int
    let query: [UInt8]
    let document: CodedDocument
    /// The same answer with what tells shared caches how long they keep it, if they may.
    let shared: CodedDocument
    /// The version that the poll is counted for.
    let version: Int64
    let channel: Int64
    /// Whether the poll is counted at all.
    let isCounted: Bool
    /// The edition of the patch cache that the patch is from, or `noPatch` for other answers. A patch served from here is
    /// thus looked up, and marked as used, once per edition.
    let patches: Int

    init(
      edition: Int, query: [UInt8], document: CodedDocument, shared: CodedDocument, version: Int64,
      channel: Int64, isCounted: Bool, patches: Int
    ) {
      self.edition = edition
      self.query = query
      self.document = document
      self.shared = shared
      self.version = version
      self.channel = channel
      self.isCounted = isCounted
      self.patches = patches
    }
  }

  /// A direct-mapped table: a query evicts the one in its slot.
  private var entries = [Entry?](repeating: nil, count: Self.count)
  private static let count = 64
  /// The catalog's edition when an entry was last kept.
  private var edition = 0
  /// Stands for an answer that isn't a patch.
  static let noPatch = -1
  /// Larger answers aren't kept: on an idle loop they would stay in memory after they were evicted elsewhere, or after the
  /// channel got another version.
  private static let largest = 256 << 10
  /// No device sends a longer query.
  private static let longest = 512

  /// Returns the entry kept for a query in this edition of the catalog.
  @inline(__always)
  func entry(for query: RawSpan, edition: Int) -> Entry? {
    guard let entry = entries[Self.slot(query)], entry.edition == edition, query.equals(entry.query) else {
      return nil
    }
    return entry
  }

  mutating func keep(
    _ document: CodedDocument, shared: CodedDocument? = nil, version: Int64, channel: Int64,
    isCounted: Bool = true, for query: RawSpan, edition: Int, patches: Int = PollMemo.noPatch
  ) {
    guard query.byteCount <= Self.longest, document.byteCount <= Self.largest else { return }
    if edition != self.edition {
      // Entries of an older catalog would keep its manifests in memory.
      for slot in entries.indices { entries[slot] = nil }
      self.edition = edition
    }
    entries[Self.slot(query)] = Entry(
      edition: edition, query: query.array, document: document, shared: shared ?? document,
      version: version, channel: channel, isCounted: isCounted, patches: patches)
  }

  private static func slot(_ query: RawSpan) -> Int {
    Int(truncatingIfNeeded: query.fingerprint & UInt64(count - 1))
  }
}
