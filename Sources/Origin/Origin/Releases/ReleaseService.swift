import Manifests
import Store
import Synchronization
import System
import Values

/// Makes releases: durably in the store first, then in the catalog that polls are answered from.
final class ReleaseService: Sendable {
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  let renderer: AnswerRenderer
  let log: @Sendable (String) -> Void
  let publicURL: BaseURL
  let deltas: DeltaService
  let packs: PackBuilder
  let documents: DocumentService
  let push: ReleasePush?
  /// The number of releases being pushed.
  let activePushes = Atomic<Int>(0)
  static let maxPushes = 2
  let staged: StagedReleases
  let purges: PurgeService

  init(
    store: Store, catalog: Published<Catalog>, builder: AnswerBuilder, renderer: AnswerRenderer,
    publicURL: BaseURL, deltas: DeltaService, packs: PackBuilder, documents: DocumentService,
    push: ReleasePush? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.store = store
    self.catalog = catalog
    self.builder = builder
    self.renderer = renderer
    self.publicURL = publicURL
    self.deltas = deltas
    self.packs = packs
    self.documents = documents
    self.push = push
    self.log = log
    staged = StagedReleases(log: log)
    purges = PurgeService(store: store, push: push, log: log)
    purges.removeLeft()
  }

  /// Begins to make a release's deltas and to work out its cost for devices, or joins a preparation in progress.
  func prepare(_ request: ReleaseInput, createsApp: Bool) throws(StoreError) -> Preparation {
    var request = request
    request.publicURLForNew = createsApp ? publicURL : nil
    let subject = Preparation.Subject(
      owner: request.author, app: request.app, channel: request.channel,
      bundles: request.bundles.map(\.name).sorted())
    return deltas.prepare(try store.preview(request), subject)
  }

  /// Returns what a release brings into the channel's bundles.
  func arrivals(of request: ReleaseInput, createsApp: Bool) throws(StoreError) -> [ReleaseArrival] {
    var request = request
    request.publicURLForNew = createsApp ? publicURL : nil
    return try store.arrivals(of: request)
  }

  /// Returns what a release would cost devices on the version that it replaces; nil if that isn't worked out, e.g. because
  /// nobody waits for deltas.
  func forecast(of request: ReleaseInput, createsApp: Bool) throws(StoreError) -> UpdateCost? {
    try awaitCost(of: request, createsApp: createsApp).cost
  }

  /// Waits for a release's deltas, unless too many others are waiting already; says whether they are stored, and what the release
  /// costs devices on the version that it replaces, if that is worked out by then.
  func awaitCost(of request: ReleaseInput, createsApp: Bool, onWorker: Bool = true) throws(StoreError) -> (
    hasDeltas: Bool, cost: UpdateCost?
  ) {
    guard deltas.options.wait > 0 else { return (false, nil) }
    let preparation = try prepare(request, createsApp: createsApp)
    let hasDeltas = deltas.awaitReady(preparation, onWorker: onWorker) ?? false
    return (hasDeltas, preparation.status.costs[1])
  }

  /// What a rollback would do.
  struct RollbackForecast {
    let outcome: RollbackOutcome
    /// The preparation that works out its cost; nil if nothing changes, or deltas aren't waited for.
    var preparation: Preparation?
    /// Whether its deltas are stored.
    var hasDeltas = false
    /// The cost for devices on the version that is rolled back; nil if nothing changes, or it hasn't been worked out.
    var update: UpdateCost?
  }

  /// Works out what a rollback would do, and begins to make deltas of what it restores, from the version that it replaces.
  ///
  /// If `waits` is true, it waits for the deltas as releases do, unless too many others are waiting already.
  func forecast(of request: RollbackInput, waits: Bool, onWorker: Bool = true) throws(StoreError)
    -> RollbackForecast
  {
    let isDryRun = request.dryRun
    var request = request
    request.dryRun = true
    var forecast = RollbackForecast(outcome: try store.rollback(request))
    // A rollback that will be refused waits for nothing.
    guard isDryRun || forecast.outcome.release.freeze == nil else { return forecast }
    guard forecast.outcome.release.changed, deltas.options.wait > 0 else { return forecast }
    let preparation = deltas.prepare(ReleasePreview(forecast.outcome.release), isUrgent: !isDryRun)
    forecast.preparation = preparation
    if waits { forecast.hasDeltas = deltas.awaitReady(preparation, onWorker: onWorker) == true }
    // An earlier dry run may already have worked it out.
    forecast.update = preparation.status.costs[1]
    return forecast
  }

  /// Waits for a release's deltas.
  /// - Parameter onWorker: whether an API worker waits.
  /// - Returns: whether they are stored; nil if too many others are waiting already.
  func awaitDeltas(_ request: ReleaseInput, createsApp: Bool, onWorker: Bool) throws(StoreError) -> Bool? {
    guard deltas.options.wait > 0 else { return false }
    return deltas.awaitReady(try prepare(request, createsApp: createsApp), onWorker: onWorker)
  }

  /// Makes a release; once this returns, every new poll sees it.
  ///
  /// `createsApp` is whether a missing app or channel is created; `caller` is the token of the request.
  /// - Throws: `pushFailed`: the release is then staged, and retried automatically.
  func release(
    _ request: ReleaseInput, createsApp: Bool, by caller: AccessToken,
    record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    var request = request
    request.publicURLForNew = createsApp ? publicURL : nil
    let asked = request
    return try commit(request.scope, by: caller, isDryRun: request.dryRun, version: \.version) {
      [store] (digest, committed) throws(StoreError) in
      try store.commit(asked, digest: digest, committed: committed, record: record)
    }
  }

  /// Restores an older version's content; once this returns, every new poll sees it.
  /// - Throws: `pushFailed`: the rollback is then staged, and retried automatically.
  func rollback(
    _ request: RollbackInput, by caller: AccessToken, record: AnswerRecord<RollbackOutcome>? = nil
  ) throws(StoreError) -> RollbackOutcome {
    let scope = StagedReleases.Scope(
      app: request.app, channel: request.channel, bundles: request.bundle.map { [$0] })
    return try commit(scope, by: caller, isDryRun: request.dryRun, version: \.release.version) {
      [store] (digest, committed) throws(StoreError) in
      try store.rollback(request, digest: digest, committed: committed, record: record)
    }
  }

  /// Changes the open rollout of a channel, or completes it; once this returns, every new poll gets the new rule.
  func changeRollout(_ input: RolloutInput, record: AnswerRecord<RolloutOutcome>? = nil) throws(StoreError)
    -> RolloutOutcome
  {
    let outcome = try store.changeRollout(input, committed: showRollout, record: record)
    settle(input.app, input.channel)
    return outcome
  }

  /// Makes a prefetch config that a part of the devices follows first; once this returns, every new poll names it.
  func pushCandidatePrefetch(
    _ request: DocumentRequest, to audience: RolloutAudience, _ content: [UInt8], ifNoRollout: Bool,
    caller: AccessToken, record: AnswerRecord<CandidatePrefetchOutcome>? = nil
  ) throws(StoreError) -> CandidatePrefetchOutcome {
    let scope = StagedReleases.Scope(app: request.app, channel: request.channel, bundles: [])
    return try commit(scope, by: caller, isDryRun: false, version: \.channel.version) {
      [store, documents] (digest, committed) throws(StoreError) in
      try store.pushCandidatePrefetch(
        request, to: audience, content, ifNoRollout: ifNoRollout, digest: digest, committed: committed,
        joined: documents.show, record: record)
    }
  }

  /// Halts the open rollout of a channel; once this returns, every new poll of those that have the candidate takes them back.
  func haltRollout(
    _ names: (app: AppName, channel: ChannelName), _ candidate: ManifestVersion?, reason: String,
    by actor: Actor, caller: AccessToken?, ifIs: (rollout: Rollout, plan: RolloutPlan)? = nil,
    record: AnswerRecord<ReleaseOutcome>? = nil
  ) throws(StoreError) -> ReleaseOutcome {
    let scope = StagedReleases.Scope(app: names.app, channel: names.channel, bundles: nil)
    return try commit(scope, by: caller, isDryRun: false, version: \.version) {
      [store] (digest, committed) throws(StoreError) in
      try store.haltRollout(
        names.app, names.channel, candidate, by: actor, reason: reason, ifIs: ifIs, digest: digest,
        committed: committed, record: record)
    }
  }
}

/// Whether a release's deltas were stored when it was committed. Worked out only once, since the answer is made twice.
final class DeltasAtCommit: Sendable {
  private let deltas: DeltaService
  private let areStored: Locked<Bool?>

  /// `wereAwaited` is whether the deltas were waited for and stored. For a dry run, which commits nothing, the answer is
  /// no.
  init(_ deltas: DeltaService, wereAwaited: Bool, isDryRun: Bool) {
    self.deltas = deltas
    areStored = Locked(isDryRun ? false : wereAwaited ? true : nil)
  }

  func areStored(of outcome: ReleaseOutcome) -> Bool {
    areStored.withLock { known in
      let answer = known ?? deltas.areStored(of: outcome)
      known = answer
      return answer
    }
  }
}
