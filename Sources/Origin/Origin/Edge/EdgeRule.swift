/// What a poll is answered.
enum PollOutcome: Sendable {
  case nothingNew
  /// A patch, a pack, or a whole manifest that names its base: for a known version with the digest that the device sent, if it sent one.
  case patch
  case whole
  /// The whole manifest without a base, for what `patch` is for: where no patch leads from the version, the device takes none, or too many
  /// of them wait.
  case wholeForKnown
}

extension PollQuery {
  /// What a whole manifest is for this poll, as far as the digests say that are known without reading them.
  func whole(of channel: ChannelCatalog, _ patches: borrowing PatchCache) -> PollOutcome {
    guard case .number(let version) = version, version > 0, version < channel.version.number,
      let known = patches.digest(of: version, in: channel.channel.id), digest.agrees(with: known)
    else { return .whole }
    return .wholeForKnown
  }

  /// Whether the answer depends on what `PatchCache` has.
  func usesPatches(of channel: ChannelCatalog) -> Bool {
    if case .number(let version) = version { return version > 0 && version < channel.version.number }
    return false
  }

  /// Whether a shared cache may keep an answer: whether it is right for whoever sends the same query until the cache asks again.
  ///
  /// What a device does with an answer must not depend on whether another one asked earlier. Somebody who polls with the next version
  /// before there is one gets the whole manifest of the version before; if a cache kept that, it would send devices back as soon as
  /// they have the next version. The same goes for what a device went back from.
  func mayShare(_ outcome: PollOutcome, of channel: ChannelCatalog) -> Bool {
    if skipped > channel.highest.number { return false }
    switch (outcome, version) {
    case (.patch, _), (.wholeForKnown, _): return true
    case (.whole, .absent):
      // A digest without a version changes nothing, but each one would be another large entry.
      if case .absent = digest { return true }
      return false
    // Also for version 0: a device that holds a manifest asks so, and one that was kept may be older (D-31).
    case (.whole, _): return false
    case (.nothingNew, .absent): return true
    case (.nothingNew, .number(let version)): return version <= channel.version.number
    case (.nothingNew, .unknown): return false
    }
  }
}

extension ConfigureEndpoint {
  /// A request for configure.json.
  struct Poll: Sendable {
    let channel: ChannelCatalog
    let query: PollQuery
    /// Whether it came by the path whose answers shared caches may keep.
    let isShared: Bool
  }
}
