import Manifests
import Trust
import Values

/// The signatures that a bundle lacks, so that its release waits for them.
package struct LackingSignatures: Hashable, Sendable {
  package let bundle: BundleName
  /// How many more keys must sign.
  package let missing: Int
  /// How many must in all.
  package let needed: Int
  /// The keys that may.
  package let candidates: [KeyID]

  package init(bundle: BundleName, missing: Int, needed: Int, candidates: [KeyID]) {
    self.bundle = bundle
    self.missing = missing
    self.needed = needed
    self.candidates = candidates
  }
}

extension PublisherTrust {
  /// Returns what a bundle lacks in a channel once these keys have signed it; nil if nothing, and if nobody may sign it, which
  /// `check` refuses.
  func lacking(
    _ bundle: BundleName, urls: [ResourceURL], in channel: ChannelName, after signers: [KeyID]
  ) -> LackingSignatures? {
    let groups = root.grants.filter { grant in
      grant.covers(bundle, in: channel) && urls.allSatisfy { grant.covers($0) }
    }.map(\.signers)
    if groups.contains(where: { $0.isMet(by: signers) }) { return nil }
    func missing(_ group: KeyGroup) -> Int { group.threshold - group.keys.count { signers.contains($0) } }
    guard let nearest = groups.min(by: { missing($0) < missing($1) }) else { return nil }
    let fewest = missing(nearest)
    let able = Set(groups.filter { missing($0) == fewest }.flatMap(\.keys)).subtracting(signers)
    return LackingSignatures(
      bundle: bundle, missing: fewest, needed: nearest.threshold, candidates: able.sorted())
  }
}

extension Publisher {
  /// Says that a release waits for signatures: in a dry run that it would, else whether one of the same files does already.
  func tellAwaited(_ signing: ReleaseSigning, _ remote: RemoteChannel, isDryRun: Bool) {
    guard !signing.lacking.isEmpty else { return }
    if isDryRun { progress(.wouldWait(signing.lacking)) }
    let contents = Dictionary(signing.bundles.map { ($0.name, $0.content) }) { first, _ in first }
    let same = remote.overview?.scheduled?.first { act in
      guard act.state == "waiting", let awaited = act.signatures else { return false }
      return awaited.count == contents.count
        && awaited.allSatisfy { contents[$0.bundle] == $0.content }
    }
    if let same { progress(.waitsAlready(same.id)) }
  }
}
