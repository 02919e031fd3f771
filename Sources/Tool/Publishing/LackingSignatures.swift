import BuildCheck
import Manifests
import OriginAPI
import OriginClient
import System
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
  /// Says in a dry run by which keys, and for which channels, a release would be signed, and for whom it would wait.
  func tellSigning(_ signing: ReleaseSigning) {
    let keys = signing.signers.map(\.key.id)
    for bundle in signing.bundles where !keys.isEmpty {
      progress(.wouldSign(bundle.name, keys: keys, channels: bundle.statement.document.channels))
    }
    if !signing.lacking.isEmpty { progress(.wouldWait(signing.lacking)) }
  }

  /// Returns the release of the same files that waits for signatures already, if a release would wait and be no different: then
  /// another one is of no use. One that differs in its time, its rollout, its floor or its channels is only named, as in a dry run.
  func waiting(
    for signing: ReleaseSigning, _ remote: RemoteChannel, _ options: ReleaseOptions
  ) throws(PublishError) -> ScheduledInfo? {
    guard !signing.lacking.isEmpty else { return nil }
    let own = Dictionary(signing.bundles.map { ($0.name, $0.statement.document) }) { first, _ in first }
    for act in remote.overview?.unsigned ?? [] {
      let awaited = act.signatures ?? []
      guard awaited.count == own.count, awaited.allSatisfy({ own[$0.bundle]?.content == $0.content }) else {
        continue
      }
      if options.dryRun != true, try isSame(act, own, remote.address, options) { return act }
      progress(.waitsAlready(act.id))
      return nil
    }
    return nil
  }

  /// Whether a release that waits would be made as these options say.
  private func isSame(
    _ act: ScheduledInfo, _ own: [BundleName: ReleaseStatement], _ channel: ChannelAddress,
    _ options: ReleaseOptions
  ) throws(PublishError) -> Bool {
    guard options.schedule.map({ $0 == act.due }) ?? (act.due <= act.at) else { return false }
    for awaited in act.signatures ?? [] {
      guard let wanted = own[awaited.bundle],
        let held = try? Signed<ReleaseStatement>(json: awaited.envelope).document,
        Set(wanted.channels).isSubset(of: held.channels),
        (wanted.floor == wanted.serial) == (held.floor == held.serial)
      else { return false }
    }
    let request: JSONValue
    do {
      request = try api.scheduledRequest(act.id, of: channel)
    } catch {
      // It may have ended in the meantime.
      guard error.problem != nil else { throw .origin(error) }
      return false
    }
    let wanted = JSONValue(encoding: options)
    return ["rollout", "ifNoRollout", "breakGlass"].allSatisfy { member in
      (wanted[member] ?? .null) == (request[member] ?? .null)
    }
  }

  /// Says which releases wait for signatures, and would replace what a release makes, or finds, live.
  func tellWaiting(
    _ bundles: [BundleName], _ remote: RemoteChannel, _ signing: ReleaseSigning? = nil
  ) {
    guard signing?.lacking.isEmpty ?? true else { return }
    for act in remote.overview?.unsigned ?? []
    where act.signatures?.contains(where: { bundles.contains($0.bundle) }) == true {
      progress(.stillWaits(act.id, "\(act.summary) by \(act.author)"))
    }
  }
}

extension ChannelOverview {
  /// The releases that wait for signatures, and can be completed.
  fileprivate var unsigned: [ScheduledInfo] {
    (scheduled ?? []).filter { act in
      guard act.state == "waiting", let awaited = act.signatures, !awaited.isEmpty else { return false }
      return awaited.allSatisfy { $0.problem == nil }
    }
  }
}

extension Publication {
  /// The result of a release that waits for signatures already: nothing is sent, and nothing changes.
  func result(waitingAs act: ScheduledInfo, _ request: ReleaseRequest, _ report: CheckReport?)
    throws(PublishError) -> PublishResult
  {
    var answer = try preview(request)
    answer.value = answer.value.scheduled(as: act)
    var document = answer.document.object ?? JSONObject()
    document["changed"] = .bool(false)
    document["scheduled"] = JSONValue(encoding: act)
    answer.document = .object(document)
    var result = PublishResult(of: self, answer, [], check: report)
    result.isWaitingAlready = true
    return result
  }
}
