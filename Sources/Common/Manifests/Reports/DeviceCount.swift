/// Something that devices count (docs/protocol.md, "Reports"). The names are part of the protocol, and never
/// change their meaning.
package struct DeviceCount: Hashable, Sendable {
  /// The index of its count.
  let index: Int

  /// The name in batches and in `status`.
  package var name: String { Self.names[index] }

  private init(index: Int) { self.index = index }

  /// Returns the count of a name; nil for an unknown one.
  package init?(name: String) {
    guard let index = Self.indices[name] else { return nil }
    self.index = index
  }

  /// A request that was answered from the device.
  package static var local: DeviceCount { DeviceCount(index: 0) }
  /// A request that was passed on to the network.
  package static var passed: DeviceCount { DeviceCount(index: 1) }
  /// A listed file whose bytes differed from the manifest when it was read.
  package static var damaged: DeviceCount { DeviceCount(index: 2) }
  /// A page that was answered from the device and didn't load in time.
  package static var pageFailed: DeviceCount { DeviceCount(index: 3) }
  /// A script of such a page that failed before the page had loaded.
  package static var scriptFailed: DeviceCount { DeviceCount(index: 4) }
  /// A page's request whose body was lost on its way through the app.
  package static var bodyLost: DeviceCount { DeviceCount(index: 5) }

  /// A poll that was answered while a shared cache takes the polls.
  package static var polls: DeviceCount { DeviceCount(index: 6) }

  /// Returns the count for the status of a request that was passed on to the network; 0 means no answer.
  package static func status(_ status: Int) -> DeviceCount? {
    switch status {
    case 0: DeviceCount(index: classes)
    case 200...599: DeviceCount(index: classes + status / 100 - 1)
    default: nil
    }
  }

  /// A milestone in the loading of a page.
  package enum Milestone: String, CaseIterable, Sendable {
    /// The first paint.
    case paint
    /// The load event.
    case load
  }

  /// Returns the count for the time that a page took to a milestone.
  /// - Parameters:
  ///   - milestone: the milestone.
  ///   - isLocal: whether the page's document came from the device.
  ///   - milliseconds: the time that it took.
  package static func time(_ milestone: Milestone, isLocal: Bool, _ milliseconds: Int64) -> DeviceCount? {
    guard milliseconds >= 0 else { return nil }
    let row = (milestone == .paint ? 0 : 2) + (isLocal ? 0 : 1)
    let column = bounds.firstIndex { milliseconds <= $0 } ?? bounds.count
    return DeviceCount(index: times + row * (bounds.count + 1) + column)
  }

  /// The upper bounds of the histogram of times, in milliseconds; longer times are counted in one more bucket.
  package static let bounds: [Int64] = [128, 256, 512, 1024, 2048, 4096, 8192]

  /// All counts, in order.
  package static var all: [DeviceCount] { names.indices.map { DeviceCount(index: $0) } }

  private static let events = [
    "local", "passed", "damaged", "page-failed", "script-failed", "body-lost", "polls",
  ]
  private static let statuses = ["status-error", "status-2xx", "status-3xx", "status-4xx", "status-5xx"]
  private static let classes = events.count
  private static let times = events.count + statuses.count

  /// `paint-local-128` … `load-network-more`.
  private static let milestones = Milestone.allCases.flatMap { milestone in
    ["local", "network"].flatMap { source in
      (bounds.map { String($0) } + ["more"]).map { "\(milestone.rawValue)-\(source)-\($0)" }
    }
  }

  static let names = events + statuses + milestones
  private static let indices = Dictionary(
    uniqueKeysWithValues: names.enumerated().map { ($0.element, $0.offset) })
}
