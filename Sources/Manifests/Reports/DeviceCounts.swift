import System

/// What a device counts for its origin: kinds of events by fixed names, never who, when or where.
package struct DeviceCounts: Hashable, Sendable {
  /// The most that one count may say: a batch that says more is none.
  package static let limit: Int64 = 1_000_000
  /// Members that the counts of a batch may have; names that aren't known, a newer device's, are passed over.
  package static let mostNames = 128

  private var counts: [Int64]

  /// Nothing happened.
  package init() { counts = [Int64](repeating: 0, count: DeviceCount.names.count) }

  /// How often it happened.
  package subscript(_ count: DeviceCount) -> Int64 { counts[count.place] }

  /// Whether nothing happened.
  package var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

  /// Each that happened, with how often, in the order of their declaration.
  package var all: [(count: DeviceCount, times: Int64)] {
    DeviceCount.all.compactMap { counts[$0.place] > 0 ? ($0, counts[$0.place]) : nil }
  }

  /// It happened, so many times.
  package mutating func add(_ count: DeviceCount, _ times: Int64 = 1) {
    counts[count.place] = counts[count.place].addingClamped(max(0, times))
  }

  /// All that happened there happened here, too.
  package mutating func add(_ other: DeviceCounts) {
    for (count, times) in other.all { add(count, times) }
  }
}

/// A batch of counts, as `POST /report` takes it: what happened on a device while it held one version.
package struct DeviceBatch: Hashable, Sendable {
  /// The manifest version that was held.
  package let version: ManifestVersion
  /// What happened.
  package let counts: DeviceCounts

  /// A batch of what happened while `version` was held.
  package init(version: ManifestVersion, counts: DeviceCounts) {
    self.version = version
    self.counts = counts
  }

  /// Reads `{"counts":{"local":12,"passed":3},"version":"553"}`.
  /// - Throws: `member` for a version or a count that can't be.
  package init(json: JSONValue) throws(JSONError) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("version")
    }
    guard let members = json["counts"]?.object?.members, members.count <= DeviceCounts.mostNames else {
      throw .member("counts")
    }
    var counts = DeviceCounts()
    for member in members {
      guard let times = member.value.integer, (0...DeviceCounts.limit).contains(times) else {
        throw .member(member.key)
      }
      if let count = DeviceCount(name: member.key) { counts.add(count, times) }
    }
    self.init(version: version, counts: counts)
  }

  /// The body of the request.
  package var body: [UInt8] {
    let members = counts.all.map {
      JSONObject.Member(key: $0.count.name, value: .integer(min($0.times, DeviceCounts.limit)))
    }
    let json: JSONValue = ["counts": .object(JSONObject(members)), "version": .string(version.text)]
    return json.canonical
  }
}
