/// A zip of a channel's files: `553.zip`, all files of a version; `552-553.zip`, those new since another
/// version; or `552-553.delta.zip`, the same with deltas instead of files where there are any.
package enum BundleZip: Hashable, Sendable, CustomStringConvertible {
  case whole(ManifestVersion)
  case update(from: ManifestVersion, to: ManifestVersion)
  case deltas(from: ManifestVersion, to: ManifestVersion)

  private static let ending = ".zip"
  private static let deltaEnding = ".delta.zip"

  /// Parses the last segment of a path; nil unless it is exactly what `fileName` would be.
  package init?(fileName: String) {
    let isLean = fileName.hasSuffix(Self.deltaEnding)
    let ending = isLean ? Self.deltaEnding : Self.ending
    guard fileName.hasSuffix(ending) else { return nil }
    let versions = fileName.dropLast(ending.utf8.count).split(
      separator: "-", omittingEmptySubsequences: false
    )
    .map { ManifestVersion(text: String($0)) }
    switch versions.count {
    case 1:
      guard !isLean, let version = versions[0], version > .none else { return nil }
      self = .whole(version)
    case 2:
      guard let from = versions[0], let to = versions[1], from > .none, from < to else { return nil }
      self = isLean ? .deltas(from: from, to: to) : .update(from: from, to: to)
    default: return nil
    }
  }

  /// The version that it leads to.
  package var version: ManifestVersion {
    switch self {
    case .whole(let version), .update(_, let version), .deltas(_, let version): version
    }
  }

  /// The version that a device has to hold; nil if it needs none.
  package var base: ManifestVersion? {
    switch self {
    case .whole: nil
    case .update(let from, _), .deltas(let from, _): from
    }
  }

  /// Its name under `bundle/`: `553.zip`, `552-553.zip`, `552-553.delta.zip`.
  package var fileName: String {
    switch self {
    case .whole(let version): "\(version)\(Self.ending)"
    case .update(let from, let to): "\(from)-\(to)\(Self.ending)"
    case .deltas(let from, let to): "\(from)-\(to)\(Self.deltaEnding)"
    }
  }

  package var description: String { "bundle/\(fileName)" }

  /// The name of a whole manifest, the body of configure.json.
  package static let manifestName = "manifest.json"
  /// The name of a patch, the body of configure.json.
  package static let patchName = "patch.json"

  /// Returns the path in the zip of a resource's bytes, given the file name of its download.
  package static func path(ofFile name: String) -> String { "files/\(name)" }
  /// Returns the path in the zip of the delta that produces these bytes.
  package static func path(ofDelta name: String) -> String { "deltas/\(name).dcz" }
}
