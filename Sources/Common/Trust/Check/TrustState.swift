import Manifests
import System

/// Where a device belongs, which every document must name.
package struct TrustPlace: Hashable, Sendable {
  package let app: AppName
  /// That of the root that the app was built with.
  package let environment: TrustEnvironment?
  package let channel: ChannelName

  package init(app: AppName, environment: TrustEnvironment? = nil, channel: ChannelName) {
    self.app = app
    self.environment = environment
    self.channel = channel
  }
}

/// What a device with a root stores. None of it ever falls, except as `adopt(_:)` says.
package struct TrustState: Hashable, Sendable {
  /// The newest head, and who signed it.
  package struct Head: Hashable, Sendable {
    package let head: TrustHead
    /// Its head keys that have signed it, ordered.
    package let signers: [KeyID]
  }

  /// A release statement under which a bundle of a manifest is held, and who signed it.
  package struct Release: Hashable, Sendable {
    package let statement: ReleaseStatement
    /// The keys that sign releases and have signed it, ordered.
    package let signers: [KeyID]
    /// The floor that it leaves once the version has proved itself: the statement's, unless a root has lowered it since.
    package fileprivate(set) var floor: Serial

    package init(statement: ReleaseStatement, signers: [KeyID]) {
      self.init(statement: statement, signers: signers, floor: statement.floor)
    }

    init(statement: ReleaseStatement, signers: [KeyID], floor: Serial) {
      self.statement = statement
      self.signers = signers
      self.floor = floor
    }
  }

  /// The digest of the root that the app was built with.
  package private(set) var builtIn: SHA256
  /// The root in force.
  package private(set) var root: TrustRoot
  /// The newest head; nil before the first one.
  package private(set) var head: Head?
  /// The lowest serial of each bundle that is still allowed. Bundles without one aren't here.
  package private(set) var floors: [BundleName: Serial] = [:]
  /// The lowest serial of a prefetch config that is still allowed.
  package private(set) var prefetchFloor = Serial.zero
  /// The statement of each bundle of the manifest that the device holds.
  package private(set) var releases: [BundleName: Release] = [:]

  /// Begins with the root that an app was built with.
  package init(builtIn root: Signed<TrustRoot>) {
    builtIn = root.digest
    self.root = root.document
    applyFloors(of: root.document)
  }

  /// Restores what was stored, without the statements.
  init(builtIn: SHA256, root: TrustRoot, head: Head?, floors: [BundleName: Serial], prefetchFloor: Serial) {
    self.builtIn = builtIn
    self.root = root
    self.head = head
    self.floors = floors
    self.prefetchFloor = prefetchFloor
  }

  /// Goes on with the root that this build of the app has. If the build before had another one, that is the root in force from
  /// now on, whatever its number; otherwise nothing changes.
  package mutating func start(builtIn root: Signed<TrustRoot>) {
    guard root.digest != builtIn else { return }
    builtIn = root.digest
    if self.root != root.document { adopt(root.document) }
  }

  /// Puts a root in force: its floors take the place of stored ones, also where these are higher, and a head that none of its
  /// head keys has signed is forgotten, with all that it said.
  mutating func adopt(_ root: TrustRoot) {
    self.root = root
    applyFloors(of: root)
    if let head, !head.signers.contains(where: root.heads.contains) { self.head = nil }
  }

  private mutating func applyFloors(of root: TrustRoot) {
    for (bundle, floor) in root.floors {
      floors[bundle] = floor == .zero ? nil : floor
      // Or what the device holds would raise it again.
      if let release = releases[bundle] { releases[bundle]?.floor = min(release.floor, floor) }
    }
    if let floor = root.prefetchFloor { prefetchFloor = floor }
  }

  mutating func take(_ head: Head) { self.head = head }

  mutating func take(_ prefetch: PrefetchStatement) { prefetchFloor = max(prefetchFloor, prefetch.floor) }

  /// Records what a verdict allows, when the device switches to that manifest.
  package mutating func take(_ releases: [BundleName: Release]) { self.releases = releases }

  /// Raises the floors to those of the manifest that is held, once that has proved itself on this device. Until then it can go
  /// back to the version before. What the root in force wouldn't take any more raises nothing.
  package mutating func recordProof(in channel: ChannelName) {
    for (bundle, release) in releases
    where release.floor > floor(of: bundle) && root.grants(release, in: channel) {
      floors[bundle] = release.floor
    }
  }

  /// The lowest serial of a bundle that is still allowed.
  package func floor(of bundle: BundleName) -> Serial { floors[bundle] ?? .zero }

  /// Whether a manifest that was held under these statements may come back without an answer: whether none is below a floor.
  package func allowsReturn(to releases: [BundleName: Release]) -> Bool {
    releases.allSatisfy { $0.value.statement.serial >= floor(of: $0.key) }
  }
}

extension TrustRoot {
  /// Whether who signed a release may sign this bundle in a channel; which URLs it has isn't asked.
  fileprivate func grants(_ release: TrustState.Release, in channel: ChannelName) -> Bool {
    grants.contains {
      $0.signers.isMet(by: release.signers) && $0.covers(release.statement.bundle, in: channel)
    }
  }
}
