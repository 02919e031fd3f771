import Manifests
import System
import Trust
import Values

/// What a device with a root stores, in one file: the trust state, and the statements of the manifests that it may answer from.
///
/// The statements of a new manifest are written before the switch, which is the rename of `index.json`. So the file has those of
/// the manifest before, of the one in force, and, until the switch, of the next one; which is in force is said by the index.
struct TrustNotes: Equatable, Sendable {
  /// A manifest that passed the check.
  struct Manifest: Equatable, Sendable {
    let id: HeldManifest
    /// The statement of each of its bundles.
    var releases: [BundleName: TrustState.Release]
    /// Whether a page that was answered from it has come up.
    var isProven = false
  }

  /// The trust state, with the statements of the manifest in force.
  private(set) var state: TrustState
  /// The manifests, in the order in which they were taken.
  private var manifests: [Manifest] = []
  /// The index of the manifest in force; nil if it never passed the check.
  private var held: Int?
  /// When `head.json` was last requested for its age alone.
  var headRequest: Int64?
  /// When a stale head was last reported.
  var staleReport: Int64?

  /// Begins with the root that the app was built with.
  init(builtIn root: Signed<TrustRoot>) { state = TrustState(builtIn: root) }

  /// Goes on with the root of this build of the app.
  mutating func start(builtIn root: Signed<TrustRoot>) { state.start(builtIn: root) }

  /// Whether the manifest in force passed the check.
  var isHeldChecked: Bool { held != nil }

  /// Takes note of which manifest is in force: it decides which statements are held.
  mutating func hold(_ id: HeldManifest) {
    let index = manifests.lastIndex { $0.id == id }
    if index == held, index != nil { return }
    held = index
    state.take(index.map { manifests[$0].releases } ?? [:])
  }

  /// Takes the state that a check came to.
  mutating func take(_ state: TrustState) {
    self.state = state
    if let held { manifests[held].releases = state.releases }
  }

  /// Adds the statements of a manifest that the device is about to switch to. Those of the one before the one in force stay, too,
  /// in case that nothing comes of it: a device might go back.
  /// - Parameter previous: the version that the device keeps for going back, whose statements stay, too.
  mutating func prepare(
    _ id: HeldManifest, _ releases: [BundleName: TrustState.Release], keeping previous: HeldManifest? = nil
  ) {
    let last = held.map { Array(manifests[max(0, $0 - 1)...$0]) } ?? []
    let kept = manifests.filter { one in one.id == previous && !last.contains { $0.id == one.id } }
    manifests = kept.suffix(1) + last
    if !last.isEmpty { held = manifests.count - 1 }
    manifests.append(Manifest(id: id, releases: releases))
  }

  /// Whether a version in force still has to prove itself.
  func awaitsProof(of version: ManifestVersion) -> Bool {
    held.map { manifests[$0].id.version == version && !manifests[$0].isProven } ?? false
  }

  /// Raises the floors to those that the manifest in force leaves, once.
  mutating func recordProof(in channel: ChannelName) {
    guard let held, !manifests[held].isProven else { return }
    manifests[held].isProven = true
    state.recordProof(in: channel)
  }

  /// Whether a device that goes back by itself may go to a manifest: only to one that passed the check, and none of whose
  /// statements is below a floor by now.
  func allowsReturn(to id: HeldManifest) -> Bool {
    manifests.last { $0.id == id }.map { state.allowsReturn(to: $0.releases) } ?? false
  }
}

/// What identifies a manifest that a device holds.
struct HeldManifest: Hashable, Sendable {
  let version: ManifestVersion
  let digest: SHA256

  init(_ version: ManifestVersion, _ digest: SHA256) {
    self.version = version
    self.digest = digest
  }

  init(_ index: DeviceIndex) { self.init(index.version, index.digest) }
}

// MARK: - On the disk

extension TrustNotes {
  /// Rises when an older device would misread the file.
  private static let format: Int64 = 1

  /// The size in bytes above which the file is damaged.
  static let limit = 64 << 20

  /// The contents of `trust.json`: canonical JSON.
  var stored: [UInt8] {
    var object = JSONObject()
    object["format"] = .integer(Self.format)
    object["headRequest"] = headRequest.map { .integer($0) }
    object["manifests"] = .array(manifests.map(\.json))
    object["staleReport"] = staleReport.map { .integer($0) }
    object["state"] = state.json
    return JSONValue.object(object).canonical
  }

  /// Reads what was stored; nil if anything in it isn't as this version writes it: floors that might be too low, or statements
  /// that nobody checked, are worse than none.
  init?(stored bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), document["format"]?.integer == Self.format,
      let manifests = document["manifests"]?.array?.map({ Manifest(json: $0) }),
      let state = document["state"].flatMap({ try? TrustState(json: $0) })
    else { return nil }
    self.state = state
    self.manifests = manifests.compactMap(\.self)
    headRequest = document["headRequest"]?.integer
    staleReport = document["staleReport"]?.integer
    guard stored == bytes else { return nil }
  }
}

extension TrustNotes.Manifest {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object["digest"] = .string(id.digest.hex)
    object["proven"] = .bool(isProven)
    object["releases"] = .array(releases.sorted { $0.key < $1.key }.map(\.value.json))
    object["version"] = .string(id.version.text)
    return .object(object)
  }

  fileprivate init?(json: JSONValue) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
      let digest = json["digest"]?.string.flatMap({ SHA256(hex: $0) }), let isProven = json["proven"]?.bool,
      let values = json["releases"]?.array
    else { return nil }
    var releases: [BundleName: TrustState.Release] = [:]
    for value in values {
      guard let release = try? TrustState.Release(json: value) else { return nil }
      releases[release.statement.bundle] = release
    }
    self.init(id: HeldManifest(version, digest), releases: releases, isProven: isProven)
  }
}
