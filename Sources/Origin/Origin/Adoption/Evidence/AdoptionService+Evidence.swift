import Manifests
import Store
import System
import Values

/// The earlier candidates of an open rollout, which were made again: devices go on reporting about these for a while.
struct EarlierCandidates: Sendable {
  let candidate: ManifestVersion
  let versions: Set<ManifestVersion>
}

/// Where a rollout stood when it was last looked up.
struct KnownStanding: Sendable {
  let rollout: Rollout
  let standing: RolloutStanding
  /// The newest row of the audit trail then.
  let row: Int64
}

extension AdoptionService {
  /// Where the open rollout of a channel stands, as of the last flush and act: for a large fleet, finding that out takes a part of a
  /// second. The freeze is that of now: it may begin and end without an act. Nil if no rollout is open.
  func standing(of channel: ChannelInfo) throws(StoreError) -> RolloutStanding? {
    guard let rollout = channel.rollout else { return nil }
    return try standings.withLock { (known) throws(StoreError) in
      let row = try store.auditHead().row
      if let last = known[channel.id], last.rollout == rollout, last.row == row {
        return last.standing.with(freeze: try store.freeze(of: channel))
      }
      let standing = try store.standing(of: channel)
      known[channel.id] = standing.map { KnownStanding(rollout: rollout, standing: $0, row: row) }
      return standing
    }
  }

  /// Counts what a device reports about a rollout, unless it is about none that is open.
  func record(_ report: EvidenceReport, from peer: IPAddress, of channel: ChannelInfo) {
    guard report.opened + report.failed > 0, let rollout = channel.rollout,
      isCandidate(report.version, of: rollout, in: channel)
    else { return }
    let now = store.now / 3_600_000
    // Nobody can have opened before the rollout began. Hours without devices of the fleet would be those of whoever invents some. If the
    // clock was set back since, the beginning lies in the future.
    // At 100 % control's devices go to the candidate, and count no failures any more. So the candidate's, which go on, don't belong to the
    // hours in which both were compared: good releases would be paused.
    let share = rollout.audience.share
    let isAlone = report.arm == .candidate && share == RolloutRule.all
    let hour = max(now - (isAlone ? 0 : report.age), min(now, rollout.startedAt / 3_600_000))
    // Above a half each step takes devices out of control, too. What is told later of openings before it is left out in both arms.
    let isCut =
      RolloutRule.all / 2 < share && share < RolloutRule.all && hour < now
      && hour <= rollout.changedAt / 3_600_000
    let failed = isCut ? 0 : report.failed
    guard report.opened + failed > 0 else { return }
    evidence.withLock {
      $0.add(
        opened: report.opened, failed: failed,
        EvidenceBuffer.Key(
          channel: channel.id, seed: rollout.seed, hour: hour, arm: report.arm, network: NetworkPrefix(peer)))
    }
  }

  private func isCandidate(_ version: ManifestVersion, of rollout: Rollout, in channel: ChannelInfo) -> Bool {
    if version == rollout.candidate { return true }
    guard version > .none, version < rollout.candidate else { return false }
    if let known = earlier.withLock({ $0[channel.id] }), known.candidate == rollout.candidate {
      return known.versions.contains(version)
    }
    // Once for each candidate. What can't be read isn't counted.
    guard let versions = try? store.candidates(ofSeed: rollout.seed, in: channel.id) else { return false }
    let known = EarlierCandidates(candidate: rollout.candidate, versions: Set(versions))
    earlier.withLock { $0[channel.id] = known }
    return known.versions.contains(version)
  }

  /// Writes what was reported about rollouts since the last call. What isn't written is lost, in both arms alike.
  func flushEvidence() {
    do throws(StoreError) {
      // Threads that answer devices wait for the lock: what was counted is made into rows without it.
      var taken = evidence.withLock { buffer in
        defer { buffer = EvidenceBuffer() }
        return buffer
      }
      let reported = taken.take()
      if !reported.isEmpty {
        try store.count(reported)
        standings.withLock { $0 = [:] }
      }
      while try store.closeEvidence() {}
    } catch {
      log("error: what devices reported about rollouts in the last seconds is not counted: \(error)")
    }
  }

  /// What devices reported about open rollouts, in the Prometheus text format.
  func evidenceText(_ channels: [ChannelInfo]) -> String {
    var devices = ""
    var values = ""
    for channel in channels where channel.rollout != nil {
      guard let standing = try? standing(of: channel) else { continue }
      let labels =
        "app=\"\(channel.app)\",channel=\"\(channel.name)\",version=\"\(standing.rollout.candidate)\""
      for arm in RolloutArm.allCases {
        let sums = standing.evidence.sums(arm)
        for (outcome, count) in [("opened", sums.opened), ("failed", sums.failed)] {
          devices +=
            "xcache_rollout_devices{\(labels),arm=\"\(arm)\",outcome=\"\(outcome)\"} \(Int64(count.rounded()))\n"
        }
      }
      values +=
        "xcache_rollout_evalue{\(labels)} \(RolloutStanding.number(EValue(standing.recent.hours).log))\n"
    }
    return """
      # HELP xcache_rollout_devices Devices that reported about the open rollout, as far as their networks count.
      # TYPE xcache_rollout_devices gauge
      \(devices)# HELP xcache_rollout_evalue The e-value that decides about the open rollout: from 100 on its candidate fails too often. After a resume in spite of an alarm, that of what is opened since.
      # TYPE xcache_rollout_evalue gauge
      \(values)# HELP xcache_rollout_foreign_reports_total Evidence from pages of other sites, which doesn't count, since the start.
      # TYPE xcache_rollout_foreign_reports_total counter
      xcache_rollout_foreign_reports_total \(foreignReports.load(ordering: .relaxed))

      """
  }
}
