import Manifests

/// Which pages didn't come up from what the device holds.
///
/// A page that was opened from a version and neither painted nor said that it is ready, or whose script failed before that,
/// has failed once; twice in a row and it goes to the network until the next version. It is told of each by the page's id,
/// so a late signal of an older page counts for nothing.
struct PageHealth: Sendable {
  /// Failures in a row after which a page goes to the network.
  static let limit = 2
  /// Pages that are counted; of more, those that failed once go first, and the oldest among them.
  static let capacity = 256

  /// How often a page failed in a row, and when it did last, as the number of that failure.
  private struct Count {
    var failures = 0
    var moment = 0
  }

  /// Of pages by their address without query and fragment.
  private var counts: [String: Count] = [:]
  private var moment = 0
  /// The version that the counts are about.
  private(set) var version: String

  init(version: String) { self.version = version }

  /// Takes note of the version that pages are opened from; another one is another chance.
  mutating func holds(_ version: String) {
    guard version != self.version else { return }
    self = PageHealth(version: version)
  }

  /// How often each page failed in a row.
  var failures: [String: Int] { counts.mapValues(\.failures) }

  /// Whether a page goes to the network.
  func isFailed(_ page: String) -> Bool { (counts[page]?.failures ?? 0) >= Self.limit }

  /// Takes note that a page which was opened from `version` came up.
  /// - Returns: whether anything changed.
  mutating func cameUp(_ page: String, from version: String) -> Bool {
    guard version == self.version, !isFailed(page) else { return false }
    return counts.removeValue(forKey: page) != nil
  }

  /// Takes note that a page which was opened from `version` didn't come up.
  /// - Returns: whether it goes to the network from now on.
  mutating func failed(_ page: String, from version: String) -> Bool {
    guard version == self.version else { return false }
    moment += 1
    counts[page, default: Count()].failures += 1
    counts[page]?.moment = moment
    if counts.count > Self.capacity { dropOne(sparing: page) }
    return counts[page]?.failures == Self.limit
  }

  private mutating func dropOne(sparing page: String) {
    let oldest = counts.filter { $0.key != page }
      .min { ($0.value.failures, $0.value.moment) < ($1.value.failures, $1.value.moment) }
    if let oldest { counts[oldest.key] = nil }
  }
}

extension PageHealth: Equatable {
  static func == (a: PageHealth, b: PageHealth) -> Bool { a.version == b.version && a.failures == b.failures }
}

extension PageHealth {
  /// What is kept over restarts.
  var saved: [UInt8] {
    var pages = JSONObject()
    for (page, count) in failures.sorted(by: { $0.key < $1.key }) { pages[page] = .integer(count) }
    let document: JSONValue = ["pages": .object(pages), "version": .string(version)]
    return document.canonical
  }

  /// Reads what was saved; nothing counted where that can't be read.
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
