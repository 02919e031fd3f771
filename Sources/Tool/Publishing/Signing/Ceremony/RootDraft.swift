import Manifests
import System
import Trust
import Values

/// A root while it is made or changed: the next one of an app, or its first.
package struct RootDraft: Sendable {
  /// Who may sign which releases.
  package struct Grant: Hashable, Sendable {
    package var keys: Set<KeyID>
    package var threshold: Int
    package var channels: ReleaseGrant.Scope<ChannelName>
    package var bundles: ReleaseGrant.Scope<ReleaseGrant.BundlePattern>
    package var prefixes: ReleaseGrant.Scope<ReleaseGrant.URLPrefix>

    package init(
      keys: Set<KeyID>, threshold: Int = 1, channels: ReleaseGrant.Scope<ChannelName> = .all,
      bundles: ReleaseGrant.Scope<ReleaseGrant.BundlePattern> = .all,
      prefixes: ReleaseGrant.Scope<ReleaseGrant.URLPrefix> = .all
    ) {
      self.keys = keys
      self.threshold = threshold
      self.channels = channels
      self.bundles = bundles
      self.prefixes = prefixes
    }
  }

  package let app: AppName
  package let environment: TrustEnvironment?
  package let number: RootNumber
  package private(set) var rootKeys: Set<KeyID>
  package private(set) var rootThreshold: Int
  package private(set) var grants: [Grant]
  package private(set) var prefetch: Set<KeyID>
  package private(set) var heads: Set<KeyID>
  package private(set) var floors: [BundleName: Serial]
  package private(set) var prefetchFloor: Serial?
  package var scriptKey: [UInt8]?
  package var isOff: Bool
  /// Keys by id, also ones that no list has any more.
  private var keys: [KeyID: TrustKey]

  /// An app's first root.
  package init(
    app: AppName, environment: TrustEnvironment?, roots: [TrustKey], releases: [TrustKey],
    grant: Grant, head: TrustKey
  ) {
    self.app = app
    self.environment = environment
    number = .first
    keys = Dictionary((roots + releases + [head]).map { ($0.id, $0) }) { key, _ in key }
    rootKeys = Set(roots.map(\.id))
    rootThreshold = 1
    grants = [grant]
    prefetch = grant.keys
    heads = [head.id]
    (floors, prefetchFloor, scriptKey, isOff) = ([:], nil, nil, false)
  }

  /// A root with the content of another one.
  package init(editing root: TrustRoot) { self.init(root, number: root.number, keepsFloors: true) }

  /// The root that follows `root`; nil after the highest number.
  ///
  /// Its floors aren't those of `root`. What a root says of floors holds from when it comes into force, also after roots that don't
  /// name them (docs/protocol.md, section 14); said again, it would lower what has risen since.
  package init?(after root: TrustRoot) {
    guard let next = root.number.next else { return nil }
    self.init(root, number: next, keepsFloors: false)
  }

  private init(_ root: TrustRoot, number: RootNumber, keepsFloors: Bool) {
    app = root.app
    environment = root.environment
    self.number = number
    keys = root.keys
    rootKeys = Set(root.roots.keys)
    rootThreshold = root.roots.threshold
    grants = root.grants.map {
      Grant(
        keys: Set($0.signers.keys), threshold: $0.signers.threshold, channels: $0.channels,
        bundles: $0.bundles, prefixes: $0.prefixes)
    }
    prefetch = Set(root.prefetch)
    heads = Set(root.heads)
    floors = keepsFloors ? root.floors : [:]
    prefetchFloor = keepsFloors ? root.prefetchFloor : nil
    scriptKey = root.scriptKey
    isOff = root.isOff
  }

  /// The root.
  /// - Throws: `tooFewKeys`, `noReader`.
  package func root() throws(CeremonyError) -> TrustRoot {
    let roots = try group(rootKeys, rootThreshold, "roots")
    var list: [ReleaseGrant] = []
    for grant in grants {
      list.append(
        ReleaseGrant(
          signers: try group(grant.keys, grant.threshold, "releases"), channels: grant.channels,
          bundles: grant.bundles, prefixes: grant.prefixes))
    }
    let named = rootKeys.union(prefetch).union(heads).union(grants.flatMap(\.keys))
    do {
      return try TrustRoot(
        app: app, environment: environment, number: number,
        keys: keys.values.filter { named.contains($0.id) }, roots: roots, grants: list, prefetch: prefetch,
        heads: heads, floors: floors, prefetchFloor: prefetchFloor, scriptKey: scriptKey, isOff: isOff)
    } catch {
      throw .noReader(error)
    }
  }

  private func group(_ keys: Set<KeyID>, _ threshold: Int, _ what: String) throws(CeremonyError) -> KeyGroup {
    if let group = KeyGroup(keys, threshold: threshold) { return group }
    guard keys.count <= KeyGroup.limit else { throw .tooMany("keys for \(what)", limit: KeyGroup.limit) }
    guard threshold <= KeyGroup.thresholdLimit else {
      throw .tooMany("signatures of \(what)", limit: KeyGroup.thresholdLimit)
    }
    throw .tooFewKeys(of: what, left: keys.count, threshold: threshold)
  }
}

// MARK: - Changes

extension RootDraft {
  /// How many digits of a key's id have to be given.
  static let fewestDigits = 4

  /// Returns the key with this id, or the one whose id begins like this.
  package func key(_ text: String) throws(CeremonyError) -> KeyID {
    let named = rootKeys.union(prefetch).union(heads).union(grants.flatMap(\.keys))
    let found = named.filter { $0.text.hasPrefix(text.lowercased()) }
    guard text.utf8.count >= Self.fewestDigits else { throw .shortKey(text) }
    guard let key = found.first else { throw .unknownKey(text) }
    guard found.count == 1 else { throw .ambiguousKey(text) }
    return key
  }

  private var online: Set<KeyID> { heads.union(prefetch).union(grants.flatMap(\.keys)) }

  /// Lets a key sign releases and prefetch configs: as the keys do that are there, or with a grant of its own.
  package mutating func addKey(_ key: TrustKey, grant: Grant?, signsPrefetch: Bool) throws(CeremonyError) {
    guard !rootKeys.contains(key.id) else { throw .otherUse(key.id) }
    keys[key.id] = key
    if let grant {
      if !grants.contains(grant) { grants.append(grant) }
    } else if grants.isEmpty {
      grants = [Grant(keys: [key.id])]
    } else {
      for index in grants.indices { grants[index].keys.insert(key.id) }
    }
    if signsPrefetch { prefetch.insert(key.id) }
  }

  /// Takes a key from whatever signs releases, prefetch configs and heads. Grants that nobody is left for end.
  package mutating func removeKey(_ key: KeyID) throws(CeremonyError) {
    guard online.contains(key) else { throw rootKeys.contains(key) ? .rootKey(key) : .unknownKey(key.text) }
    for index in grants.indices { grants[index].keys.remove(key) }
    let left = grants.filter { !$0.keys.isEmpty }
    if left.isEmpty, !grants.isEmpty, !isOff { throw .tooFewKeys(of: "releases", left: 0, threshold: 1) }
    grants = left
    prefetch.remove(key)
    heads.remove(key)
    if heads.isEmpty, !isOff { throw .tooFewKeys(of: "heads", left: 0, threshold: 1) }
  }

  package mutating func addRoot(_ key: TrustKey) throws(CeremonyError) {
    guard !online.contains(key.id) else { throw .otherUse(key.id) }
    keys[key.id] = key
    rootKeys.insert(key.id)
  }

  package mutating func removeRoot(_ key: KeyID) throws(CeremonyError) {
    guard rootKeys.remove(key) != nil else {
      throw online.contains(key) ? .noRootKey(key) : .unknownKey(key.text)
    }
    guard rootKeys.count >= rootThreshold else {
      throw .tooFewKeys(of: "roots", left: rootKeys.count, threshold: rootThreshold)
    }
  }

  /// Makes a key the one that signs heads, or one of those that do.
  package mutating func setHead(_ key: TrustKey, keepsOthers: Bool) throws(CeremonyError) {
    guard !rootKeys.contains(key.id) else { throw .otherUse(key.id) }
    keys[key.id] = key
    heads = keepsOthers ? heads.union([key.id]) : [key.id]
    guard heads.count <= TrustRoot.listLimit else { throw .tooMany("head keys", limit: TrustRoot.listLimit) }
  }

  /// Gives keys a grant of their own, in the place of those that they have.
  package mutating func setScope(_ grant: Grant) throws(CeremonyError) {
    for index in grants.indices { grants[index].keys.subtract(grant.keys) }
    grants = grants.filter { !$0.keys.isEmpty } + [grant]
  }

  package mutating func setRootThreshold(_ threshold: Int) { rootThreshold = threshold }

  package mutating func setReleaseThreshold(_ threshold: Int) {
    for index in grants.indices { grants[index].threshold = threshold }
  }

  /// Sets what a bundle's floor becomes, also where it was higher; nil leaves it as it is.
  package mutating func setFloor(_ floor: Serial?, of bundle: BundleName) { floors[bundle] = floor }

  /// Sets the floors of what a stolen key could sign under a root: of the bundles that are known, and of those that a grant names in
  /// full. Floors that the draft has stay.
  ///
  /// - Parameters:
  ///   - known: bundles that channels have or had; where a root has no room for all, the first ones count.
  ///   - floor: above all serials that the key has signed, as far as these are times.
  /// - Returns: those that there was no room for.
  package mutating func setFloors(
    signedBy key: KeyID, under root: TrustRoot, known: [KnownBundle], to floor: Serial
  ) -> [BundleName] {
    var names: [BundleName] = []
    for (grant, json) in zip(root.grants, root.json["releases"]?.array ?? [])
    where grant.signers.keys.contains(key) {
      names += known.filter { grant.covers($0.bundle, in: $0.channel) }.map(\.bundle)
      names += (json["bundles"]?.array ?? []).compactMap { $0.string.flatMap { try? BundleName($0) } }
    }
    var left: [BundleName] = []
    for name in names where floors[name] == nil && !left.contains(name) {
      if floors.count < TrustRoot.floorLimit { floors[name] = floor } else { left.append(name) }
    }
    if root.prefetch.contains(key), prefetchFloor == nil { prefetchFloor = floor }
    return left
  }

  package mutating func setPrefetchFloor(_ floor: Serial?) { prefetchFloor = floor }
}
