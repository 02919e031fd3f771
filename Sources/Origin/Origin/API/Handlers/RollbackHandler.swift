import Compression
import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `POST /apps/{app}/channels/{channel}/rollback`.
struct RollbackHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  func rollback(_ body: RollbackRequest) throws -> Response {
    let input = try input(body)
    if let bundle = input.bundle, !input.withPrefetch {
      try caller.check(bundle: bundle)
    } else {
      // The prefetch config belongs to the whole channel, too.
      try caller.checkReachesAllBundles()
    }
    if let time = try context.scheduled(body.schedule, dryRun: body.dryRun) {
      return try schedule(input, body, at: time)
    }
    // Looking ahead costs as much as the act, and isn't urgent: the lane is for those that are.
    if input.dryRun {
      return try ThreadTask("preview", priority: .awaited) { try answer(to: input, body) }.value()
    }
    do {
      return try answer(to: input, body)
    } catch StoreError.needsApproval where context.run == nil {
      return try schedule(input, body, at: Moment(milliseconds: store.now))
    }
  }

  /// Records a rollback that is to be made later, to the version that it would go back to now.
  private func schedule(_ input: RollbackInput, _ body: RollbackRequest, at time: Moment) throws -> Response {
    var trial = input
    (trial.dryRun, trial.ifNoRollout) = (true, false)
    let outcome = try releases.forecast(of: trial, waits: false).outcome
    try outcome.release.checkSigned(input.app, input.channel)
    var body = body
    (body.schedule, body.steps) = (nil, nil)
    // By the time, a prefetch config can be that of a moment.
    if body.to == nil || !input.withPrefetch { body.to = outcome.target.text }
    let what = input.bundle.map { "bundle \($0)" } ?? "all bundles"
    var later = try context.schedule(
      "rollback",
      "rollback of \(what) to version \(outcome.target)\(input.withPrefetch ? " with its prefetch config" : "")",
      to: input.rollout,
      message: input.message, at: time, route: "rollback", JSONValue(encoding: body).canonical)
    // What all devices had comes back without approvals.
    (later.obeysFreezes, later.isGated) = (input.breakGlass == nil, try store.letsOutCandidate(trial))
    later.versions = [(channel: try context.channel().id, version: outcome.target)]
    let details = RollbackDetails(
      target: outcome.target, takesBack: outcome.bundles.map { .init($0) }, prefetch: nil)
    return try context.scheduling(later) {
      RollbackAnswer(ReleaseAnswer(outcome.release, deltasStored: false).scheduled(as: $0), details)
    }
  }

  private func answer(to input: RollbackInput, _ body: RollbackRequest) throws -> Response {
    let requester = try context.requester
    if input.dryRun {
      // A rollback brings back what was signed then, or is refused: there is nothing that would still be signed.
      try store.rollback(input).release.checkSigned(input.app, input.channel)
    }
    let forecast = try forecast(of: input, skipsWait: body.now == true)
    forecast?.preparation?.open(to: requester)
    let deltas = DeltasAtCommit(
      releases.deltas, wereAwaited: forecast?.hasDeltas == true, isDryRun: input.dryRun)
    return try context.answering { outcome in
      var details = RollbackDetails(
        target: outcome.target, takesBack: outcome.bundles.map { .init($0) },
        prefetch: outcome.release.prefetch)
      if input.dryRun { (details.patch, details.changes) = (forecast?.patch, forecast?.changes) }
      if input.dryRun || outcome.release.changed { details.cost = forecast?.cost }
      if let cost = details.cost, cost.update == nil { details.preparation = forecast?.preparation?.id }
      var release = ReleaseAnswer(outcome.release, deltasStored: deltas.areStored(of: outcome.release))
      if input.dryRun { release.addTrust(of: outcome.release, in: input.channel) }
      let answer = RollbackAnswer(release, details)
      return APIAnswer(answer, madeBy: outcome.release, dryRun: input.dryRun)
    } to: { record in
      try releases.rollback(input, by: caller, record: record)
    }
  }

  /// Returns what the answer reports in advance; nil if the act can't be worked out, since the act itself reports what is
  /// wrong.
  private func forecast(of input: RollbackInput, skipsWait: Bool) throws -> Forecast? {
    // If too many are waiting already, devices download whole files: a rollback doesn't queue.
    if input.dryRun { return Forecast(try releases.forecast(of: input, waits: true)) }
    let onWorker = context.run == nil
    return (try? releases.forecast(of: input, waits: !skipsWait, onWorker: onWorker)).map { Forecast($0) }
  }

  private struct Forecast: Sendable {
    let hasDeltas: Bool
    /// The preparation that works out the cost.
    let preparation: Preparation?
    /// The patch for a device on the newest version (RFC 7396).
    let patch: JSONValue
    let changes: [String: RollbackDetails.Change]
    let cost: RollbackDetails.Cost

    init(_ forecast: ReleaseService.RollbackForecast) {
      let release = forecast.outcome.release
      hasDeltas = forecast.hasDeltas
      preparation = forecast.preparation
      patch = .object(JSONObject(release.changes.map { .init(key: $0.url.text, value: $0.patch) }))
      changes = Dictionary(
        release.changes.map { ($0.url.text, $0.entry == nil ? .removed : $0.hadEntry ? .changed : .added) },
        uniquingKeysWith: { $1 })
      let bytes = patch.canonical
      var cost = RollbackDetails.Cost(
        fileBytes: release.newBytes, files: release.counts.added + release.counts.changed,
        patchBytes: bytes.count, patchGzipBytes: Gzip.encode([bytes]).count)
      cost.update = forecast.update.map { TransferCost($0) }
      self.cost = cost
    }
  }

  private func input(_ body: RollbackRequest) throws -> RollbackInput {
    let names = try context.names
    let bundle = try body.bundle.map { try BundleName($0) }
    // Forgetting to name the bundle must not roll back the whole channel.
    guard (bundle != nil) != (body.allBundles == true) else {
      throw Problem.badRequest("a rollback needs one \"bundle\", or \"allBundles\"")
    }
    var input = RollbackInput(
      app: names.app, channel: names.channel, bundle: bundle, to: try Self.target(body), by: actor,
      message: try HumanText.checked(body.message, member: "message", .message) ?? "",
      ifVersion: try context.ifVersion(body.ifVersion),
      breakGlass: try ReleaseHandler.breakGlass(body.breakGlass), dryRun: body.dryRun ?? false)
    input.withPrefetch = body.withPrefetch ?? false
    input.rollout = try RolloutHandler.audience(body.rollout)
    input.ifNoRollout = body.ifNoRollout ?? false
    input.statements = try context.statements(body.statements)
    input.prefetchStatement = try context.prefetchStatement(body.prefetchStatement, in: "prefetchStatement")
    input.hosts = caller.hosts
    if caller.bundles != nil { input.candidatePrefetch = .refused }
    if input.rollout != nil { try RolloutHandler(context: context).checkMayEnd() }
    return input
  }

  private static func target(_ body: RollbackRequest) throws -> RollbackInput.Target {
    switch (body.to, body.steps) {
    case (let text?, nil):
      return .version(try VersionName.read(text, in: "\"to\" "))
    case (nil, let steps?) where (1...1_000_000).contains(steps): return .steps(Int(steps))
    default:
      throw Problem.badRequest("a rollback needs \"to\", a version, or \"steps\", 1 or more")
    }
  }
}

extension RollbackDetails.Bundle {
  fileprivate init(_ bundle: RollbackOutcome.Bundle) {
    self.init(
      bundle: bundle.name.text, counts: bundle.counts,
      releases: bundle.takenBack)
  }
}
