import Manifests
import System
import Values

extension Store {
  /// Brings back what a channel, or one bundle of it, held at an older version, as a new version.
  ///
  /// No bytes are sent, and what comes back has its old resource versions, below the channel's public URL of today: if the
  /// channel was moved since, devices aren't sent back to where it was.
  /// - Parameters:
  ///   - request: the rollback to make.
  ///   - digest: as in `commit`.
  ///   - committed: as in `commit`.
  ///   - record: keeps the answer for retries.
  /// - Throws: the refusals of `StoreError`, with nothing changed; `needsApproval` on a protected channel for what only the devices of a
  ///   rollout had.
  package func rollback(
    _ request: RollbackInput,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)? = nil,
    committed: (ReleaseOutcome) -> Void = { _ in }, record: AnswerRecord<RollbackOutcome>? = nil
  ) throws(StoreError) -> RollbackOutcome {
    if request.dryRun {
      return try connections.reading { (db) throws(StoreError) in
        let plan = try RollbackPlan(request, now: clock(), in: db)
        var outcome = plan.outcome(plan.release(changed: plan.isChange, now: clock()))
        var asRelease: (plan: ReleasePlan, input: ReleaseInput)?
        if let input = try plan.input(request, in: db) {
          let release = try ReleasePlanner.plan(input, in: db)
          asRelease = (release, input)
          if release.comparison != nil { outcome = try plan.outcome(as: release, now: clock(), in: db) }
          if release.acts { outcome.release.rollout = release.forecast(of: input, now: clock()) }
        }
        outcome.release.trust = try db.trust(of: plan, request, as: asRelease)
        if request.breakGlass == nil { outcome.release.freeze = plan.freeze }
        if request.withPrefetch {
          let carryOver = try db.prefetchCarryOver(rollingBack: plan.channel, to: plan.target, request.target)
          outcome.release.prefetch = try db.forecast(
            carryOver, in: plan.channel, by: PrefetchReconciler(request), to: request.rollout,
            opens: outcome.release.rollout?.open != nil,
            completes: outcome.release.rollout?.ended?.state == .completed)
          if request.rollout == nil {
            outcome.release.rollout = try db.forecast(
              outcome.release.rollout, overtaking: outcome.release.prefetch, in: plan.channel)
          }
        }
        return outcome
      }
    }
    return try connections.transaction(
      keeping: record, now: clock(), goesFirst: true,
      then: { (outcome) throws(StoreError) in
        try step("rollback")
        if outcome.release.isToShow { committed(outcome.release) }
      }
    ) { (db) throws(StoreError) in
      try step("rollback")
      let plan = try RollbackPlan(request, now: clock(), in: db)
      if try db.letsOutCandidate(plan, request) { try db.requireApproval(in: plan.channel, for: record) }
      if let input = try plan.input(request, in: db) {
        var release = try writeAsRelease(plan, as: input, of: request, in: db, digest: digest)
        release.headProblem = try renewHead(after: release.channel, in: db)
        return plan.outcome(release)
      }
      guard plan.isChange else {
        var release = plan.release(changed: false, now: clock())
        try follow(request, plan, at: plan.channel.version, in: db, &release)
        release.headProblem = try renewHead(after: release.channel, in: db)
        return plan.outcome(release)
      }
      var release = try write(plan, of: request, in: db, digest: digest)
      release.headProblem = try renewHead(after: release.channel, in: db)
      return plan.outcome(release)
    }
  }

  /// Makes a rollback as a release, which knows what becomes of rollouts.
  private func writeAsRelease(
    _ plan: RollbackPlan, as input: ReleaseInput, of request: RollbackInput, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ReleaseOutcome {
    var release = try write(try ReleasePlanner.plan(input, in: db), of: input, in: db, digest: digest)
    let receipt = release.receipt
    try follow(request, plan, at: release.version, in: db, &release)
    release.receipt = receipt ?? release.receipt
    return release
  }

  private func write(
    _ plan: RollbackPlan, of request: RollbackInput, in db: Database,
    digest: ((PreparedRelease) throws(StoreError) -> SHA256)?
  ) throws(StoreError) -> ReleaseOutcome {
    let channel = plan.channel
    let version = channel.nextVersion
    let at = max(clock(), channel.at ?? 0)
    let prepared = PreparedRelease(channel: channel, version: version, at: at, changes: plan.changes)
    let digest = if let digest { try digest(prepared) } else { try db.digest(of: prepared) }
    try ReleaseRow(
      channel: channel.id, version: version, kind: .rollback, at: at, author: request.actor.name,
      message: request.message, digest: digest, counts: plan.counts, newBytes: plan.newBytes,
      resources: plan.resources, bytes: plan.bytes
    ).insert(in: db)
    if channel.bundlesSince == version { try db.nameBundles(of: channel.id, since: version) }
    try step("rollback")
    let source = ReleaseSource(channel: channel, version: plan.target, bundle: request.bundle)
    try db.note(source, of: version, in: channel.id)
    try db.recordOverride(request.breakGlass, plan.freeze, version, in: channel.id)
    for bundle in plan.bundles {
      try EntryRow.end(of: bundle.info.id, rolledBackTo: plan.target, at: version, in: db)
    }
    try step("rollback")
    for bundle in plan.bundles {
      try EntryRow.insert(
        of: bundle.info.id, rolledBackTo: plan.target, at: version, publicURL: channel.publicURLID, in: db)
    }
    try step("rollback")
    for bundle in plan.bundles { try bundle.row(at: version, in: channel.id).insert(in: db) }
    var release = plan.release(changed: true, now: at)
    release.channel = channel.after(
      version, at: at, digest: digest, resources: plan.resources, bytes: plan.bytes
    ).rolledBack()
    release.trust = try db.sign(
      channel, at: version, after: channel.version, with: request.statements, goingBackTo: plan.target,
      by: request.actor.name, now: at)
    try follow(request, plan, at: version, in: db, &release)
    var act = AuditEvent(
      "rollback", app: channel.app, channel: channel.name,
      parameters: [
        "breakGlass": request.breakGlass.map { .string($0) } ?? .null,
        "bundle": request.bundle.map { .string($0.text) } ?? .null, "message": .string(request.message),
        "to": .string(plan.target.text), "withPrefetch": request.withPrefetch ? true : .null,
      ],
      result: [
        "added": .integer(plan.counts.added), "changed": .integer(plan.counts.changed),
        "digest": .string(digest.hex), "previous": .string(channel.version.text),
        "removed": .integer(plan.counts.removed), "version": .string(version.text),
      ])
    act.note(release.trust)
    release.receipt = try db.audit(act, by: request.actor, now: clock())
    try step("rollback")
    return release
  }

  /// Brings back the prefetch config of the target version, if requested.
  private func follow(
    _ request: RollbackInput, _ plan: RollbackPlan, at version: ManifestVersion, in db: Database,
    _ release: inout ReleaseOutcome
  ) throws(StoreError) {
    guard request.withPrefetch else { return }
    let carryOver = try db.prefetchCarryOver(rollingBack: plan.channel, to: plan.target, request.target)
    try release.follow(
      carryOver, in: release.channel ?? plan.channel, at: version, by: PrefetchReconciler(request),
      to: request.rollout, now: clock(), in: db)
  }
}

extension RollbackPlan.Bundle {
  fileprivate func row(at version: ManifestVersion, in channel: Int64) -> ReleaseBundleRow {
    ReleaseBundleRow(
      bundle: info.id, version: version, channel: channel, counts: counts,
      resources: info.resources + counts.added - counts.removed, bytes: info.bytes + bytes)
  }
}

extension RollbackPlan {
  /// The same rollback as a release, if it opens a rollout, or one is open; nil also where no bundle is to change.
  fileprivate func input(_ request: RollbackInput, in db: Database) throws(StoreError) -> ReleaseInput? {
    guard request.rollout != nil || channel.rollout != nil else { return nil }
    let limit = min(target, channel.full.version)
    var names = request.bundle.map { [$0] } ?? []
    if request.bundle == nil {
      names = try db.bundles(of: channel.id).filter { $0.version > limit }.map(\.name)
    }
    if names.isEmpty { return nil }
    var input = ReleaseInput(
      app: channel.app, channel: channel.name, author: request.actor.name, message: request.message,
      bundles: names.map { BundleChange($0, .update(base: target, set: [:], remove: [])) },
      dryRun: request.dryRun)
    input.address = request.actor.address
    input.hosts = request.hosts
    input.candidatePrefetch = request.candidatePrefetch
    input.breakGlass = request.breakGlass
    input.source = ReleaseSource(channel: channel, version: target, bundle: request.bundle)
    (input.rollout, input.ifNoRollout) = (request.rollout, request.ifNoRollout)
    input.statements = request.statements
    input.act = .rollback(bundle: request.bundle, withPrefetch: request.withPrefetch)
    return input
  }

  fileprivate func outcome(_ release: ReleaseOutcome) -> RollbackOutcome {
    // Beside a rollout the release counts what changes for devices with the full version.
    let counts = Dictionary(release.bundles.map { ($0.name, $0.counts) }, uniquingKeysWith: { $1 })
    return RollbackOutcome(
      release: release, target: target,
      bundles: bundles.map {
        .init(name: $0.info.name, counts: counts[$0.info.name] ?? $0.counts, takenBack: $0.takenBack)
      })
  }

  /// What a rollback would do to the devices that don't have the open candidate, which are most.
  fileprivate func outcome(as release: ReleasePlan, now: Int64, in db: Database) throws(StoreError)
    -> RollbackOutcome
  {
    let manifest = release.comparison?.manifest ?? []
    // What comes back is what it was in the target; what only leaves the candidate is what it is in the full version.
    var entries: [ResourceURL: Entry] = [:]
    let wanted = Dictionary(
      manifest.compactMap { change in change.new.map { (change.url, $0.sha256) } }, uniquingKeysWith: { $1 })
    for version in [channel.full.version, target] where version > .none {
      try db.eachEntry(of: channel, at: version, names: channel.bundlesSince != nil) {
        (url, row) throws(StoreError) in
        if let sha256 = wanted[url], row.content.sha256 == sha256 {
          entries[url] = try row.entry(url, in: channel)
        }
      }
    }
    let changes = manifest.compactMap { change -> EntryChange? in
      if change.new != nil, entries[change.url] == nil { return nil }
      return EntryChange(
        url: change.url, entry: change.new == nil ? nil : entries[change.url], old: change.old)
    }
    return outcome(
      ReleaseOutcome(
        changed: true, channel: channel, version: channel.nextVersion, previous: channel.version,
        at: max(now, channel.at ?? 0), changes: changes, counts: release.counts,
        bundles: release.reported.map { ReleaseOutcome.Bundle($0, release) }, newBytes: release.newBytes,
        resources: release.resources, bytes: release.bytes, createdApp: false, createdChannel: false,
        missing: []))
  }

  fileprivate func release(changed: Bool, now: Int64) -> ReleaseOutcome {
    ReleaseOutcome(
      changed: changed, channel: channel, version: changed ? channel.nextVersion : channel.version,
      previous: channel.version, at: changed ? max(now, channel.at ?? 0) : channel.at ?? 0, changes: changes,
      counts: counts,
      bundles: bundles.map { .init(name: $0.info.name, counts: $0.counts, replaced: $0.takenBack.first) },
      newBytes: newBytes, resources: resources, bytes: bytes, createdApp: false, createdChannel: false,
      missing: [])
  }
}
