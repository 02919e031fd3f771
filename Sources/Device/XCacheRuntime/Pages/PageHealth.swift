import Values

/// Keeps track of the pages that failed to come up from the files held.
///
/// A page that was opened from a version and neither painted nor reported that it is ready, or whose script failed before
/// that, has failed once. After two failures in a row it goes to the network until the next version. Signals carry the
/// page's id, so a late signal of an older page is ignored.
struct PageHealth: Sendable {
  /// The number of failures in a row after which a page goes to the network.
  static let limit = 2
  /// The most pages that are counted; beyond that, the oldest of those with the fewest failures is dropped.
  static let capacity = 256

  /// How many times in a row a page failed, and the sequence number of the last failure.
  private struct Count {
    var failures = 0
    var sequence = 0
  }

  /// By the page's URL without query and fragment.
  private var counts: [String: Count] = [:]
  private var sequence = 0
  /// The version that the counts belong to.
  private(set) var version: String

  init(version: String) { self.version = version }

  /// Sets the version that pages are opened from; a new version resets the counts.
  mutating func setVersion(_ version: String) {
    guard version != self.version else { return }
    self = PageHealth(version: version)
  }

  /// How many times in a row each page failed.
  var failures: [String: Int] { counts.mapValues(\.failures) }

  /// Whether a page goes to the network.
  func isFailed(_ page: String) -> Bool { (counts[page]?.failures ?? 0) >= Self.limit }

  /// Records that a page opened from `version` came up.
  /// - Returns: whether the counts changed.
  mutating func recordSuccess(_ page: String, from version: String) -> Bool {
    guard version == self.version, !isFailed(page) else { return false }
    return counts.removeValue(forKey: page) != nil
  }

  /// Records that a page opened from `version` didn't come up.
  /// - Returns: whether the page goes to the network from now on.
  mutating func recordFailure(_ page: String, from version: String) -> Bool {
    guard version == self.version else { return false }
    sequence += 1
    counts[page, default: Count()].failures += 1
    counts[page]?.sequence = sequence
    if counts.count > Self.capacity { dropOne(sparing: page) }
    return counts[page]?.failures == Self.limit
  }

  private mutating func dropOne(sparing page: String) {
    let oldest = counts.filter { $0.key != page }
      .min { ($0.value.failures, $0.value.sequence) < ($1.value.failures, $1.value.sequence) }
    if let oldest { counts[oldest.key] = nil }
  }
}

extension PageHealth: Equatable {
  static func == (a: PageHealth, b: PageHealth) -> Bool { a.version == b.version && a.failures == b.failures }
}

extension PageHealth {
  /// The state that survives restarts.
  var saved: [UInt8] {
    var pages = JSONObject()
    for (page, count) in failures.sorted(by: { $0.key < $1.key }) { pages[page] = .integer(count) }
    let document: JSONValue = ["pages": .object(pages), "version": .string(version)]
    return document.canonical
  }

  /// Restores saved state; starts without counts if it can't be read.
  init(saved bytes: [UInt8]?, version: String) {
    self.init(version: version)
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }), document["version"]?.string == version,
      let pages = document["pages"]?.object
    else { return }
    for member in pages.members.prefix(Self.capacity) {
      guard let count = member.value.integer, (1...1000).contains(count) else { continue }
      counts[member.key] = Count(failures: Int(count))
    }
  }
}
