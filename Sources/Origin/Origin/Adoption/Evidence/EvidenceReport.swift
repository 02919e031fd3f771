import Manifests
import Values

/// What a device reports about a rollout, in the member `evidence` of a report (docs/protocol.md, section 12):
/// `{"age":3,"arm":"candidate","failed":1,"opened":0,"version":"554"}`.
package struct EvidenceReport: Hashable, Sendable {
  /// The candidate that the device's answers named.
  package let version: ManifestVersion
  /// The part of the fleet that the device counts in.
  package let arm: RolloutArm
  /// 1 if the device opened its first page.
  package let opened: Int64
  /// 1 if it failed.
  package let failed: Int64
  /// How many whole hours ago it opened its first page.
  package let age: Int64

  /// A failure counts for a day.
  static let oldest: Int64 = 24

  /// Parses the member.
  /// - Throws: `member` for one that is missing or out of its range.
  package init(json: JSONValue) throws(JSONError) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .member("version")
    }
    guard let arm = json["arm"]?.string.flatMap({ RolloutArm(rawValue: $0) }) else { throw .member("arm") }
    self.version = version
    self.arm = arm
    opened = try Self.number(json, "opened", 0...1)
    failed = try Self.number(json, "failed", 0...1)
    age = json["age"] == nil ? 0 : try Self.number(json, "age", 0...Self.oldest)
  }

  private static func number(_ json: JSONValue, _ name: String, _ range: ClosedRange<Int64>)
    throws(JSONError) -> Int64
  {
    guard let number = json[name]?.integer, range.contains(number) else { throw .member(name) }
    return number
  }
}
