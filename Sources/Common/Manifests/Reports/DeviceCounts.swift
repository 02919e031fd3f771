import System
import Values

/// A device's counts for its origin: numbers of events under fixed names, never who, when or where.
package struct DeviceCounts: Hashable, Sendable {
  /// The maximum of one count: a batch with a higher one is invalid.
  package static let limit: Int64 = 1_000_000
  /// The maximum number of counts in a batch; unknown names, of newer devices, are ignored.
  package static let maxNames = 128

  private var counts: [Int64]

  /// Creates counts of zero.
  package init() { counts = [Int64](repeating: 0, count: DeviceCount.names.count) }

  /// How often an event happened.
  package subscript(_ count: DeviceCount) -> Int64 { counts[count.index] }

  /// Whether all counts are zero.
  package var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

  /// The counts above zero, in the order of their declaration.
  package var all: [(count: DeviceCount, times: Int64)] {
    DeviceCount.all.compactMap { counts[$0.index] > 0 ? ($0, counts[$0.index]) : nil }
  }

  /// Adds `times` to a count.
  package mutating func add(_ count: DeviceCount, _ times: Int64 = 1) {
    counts[count.index] = counts[count.index].addingClamped(max(0, times))
  }

  /// Adds all counts of `other`.
  package mutating func add(_ other: DeviceCounts) {
    for (count, times) in other.all { add(count, times) }
  }
}

/// A batch of counts for `POST /report`: what happened on a device while it held one version.
package struct DeviceBatch: Hashable, Sendable {
  /// The manifest version that the device held.
  package let version: ManifestVersion
  /// The counts.
  package let counts: DeviceCounts
  /// Whether the device counts its polls, because a shared cache takes them. Its batch then has `polls`, also if there were none:
  /// else it would look like that of a device which doesn't count them.
  package let countsPolls: Bool

  /// Creates a batch of what happened while `version` was held.
  package init(version: ManifestVersion, counts: DeviceCounts, countsPolls: Bool = false) {
    self.version = version
    self.counts = counts
    self.countsPolls = countsPolls || counts[.polls] > 0
  }

  /// Parses `{"counts":{"local":12,"passed":3},"version":"553"}`.
  /// - Throws: `member` for an invalid version or count.
  package init(json: JSONValue) throws(JSONError) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("version")
    }
    guard let members = json["counts"]?.object?.members, members.count <= DeviceCounts.maxNames else {
      throw .member("counts")
    }
    var counts = DeviceCounts()
    var countsPolls = false
    for member in members {
      guard let times = member.value.integer, (0...DeviceCounts.limit).contains(times) else {
        throw .member(member.key)
      }
      guard let count = DeviceCount(name: member.key) else { continue }
      counts.add(count, times)
      if count == .polls { countsPolls = true }
    }
    self.init(version: version, counts: counts, countsPolls: countsPolls)
  }

  /// The body of the request.
  package var body: [UInt8] {
    var members = counts.all.map {
      JSONObject.Member(key: $0.count.name, value: .integer(min($0.times, DeviceCounts.limit)))
    }
    if countsPolls, counts[.polls] == 0 {
      members.append(JSONObject.Member(key: DeviceCount.polls.name, value: 0))
    }
    let json: JSONValue = ["counts": .object(JSONObject(members)), "version": .string(version.text)]
    return json.canonical
  }
}
