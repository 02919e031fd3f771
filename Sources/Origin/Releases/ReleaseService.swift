import Manifests
import Store
import Synchronization
import System

/// Makes releases: the store first, durably, then the catalog that polls are answered from.
final class ReleaseService: Sendable {
  let store: Store
  let catalog: Published<Catalog>
  let builder: AnswerBuilder
  private let renderer: AnswerRenderer
  let log: @Sendable (String) -> Void
  let publicURL: BaseURL
  let deltas: DeltaService
  let packs: PackBuilder
  let documents: DocumentService
  let push: ReleasePush?
  /// Releases that are being pushed.
  let pushing = Atomic<Int>(0)
  static let mostPushing = 2
  let staged: StagedReleases

  /// Manifests up to this many bytes are coded before their release is acknowledged, larger ones right after it, as
  /// the patches from all versions but the one before: 50 MB take about a second, and whoever asks meanwhile waits.
  static let codedAtOnce = 1 << 20

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
  }

  /// Begins to make the deltas of a release and to work out what it costs devices, or joins who does already.
  func prepare(_ request: ReleaseInput, createsApp: Bool) throws(StoreError) -> Preparation {
    var request = request
    request.publicURLForNew = createsApp ? publicURL : nil
    return deltas.prepare(try store.preview(request))
  }

  /// What a release would cost the devices on the version that it replaces; nil where that isn't worked out, as where nobody
  /// waits for deltas.
  func forecast(of request: ReleaseInput, createsApp: Bool) throws(StoreError) -> UpdateCost? {
    guard deltas.options.wait > 0 else { return nil }
    let preparation = try prepare(request, createsApp: createsApp)
    _ = deltas.awaitReady(preparation)
    return preparation.status.costs[1]
  }

  /// What a rollback would do.
  struct RollbackForecast {
    let outcome: RollbackOutcome
    /// What works out its cost; nil where nothing changes, or deltas aren't waited for.
    var preparation: Preparation?
    /// Whether its deltas are stored.
    var hasDeltas = false
    /// What it costs the devices that it takes back; nil where nothing changes, or it isn't worked out.
    var update: UpdateCost?
  }

  /// Works out what a rollback would do, and begins to make the deltas of what it brings back, from the version that it takes
  /// back.
  /// - Parameter waits: for the deltas, as releases do, unless too many others wait here already.
  func forecast(of request: RollbackInput, waits: Bool) throws(StoreError) -> RollbackForecast {
    let isDryRun = request.dryRun
    var request = request
    request.dryRun = true
    var forecast = RollbackForecast(outcome: try store.rollback(request))
    // What is going to be refused waits for nothing.
    guard isDryRun || forecast.outcome.release.freeze == nil else { return forecast }
    guard forecast.outcome.release.changed, deltas.options.wait > 0 else { return forecast }
    let preparation = deltas.prepare(ReleasePreview(forecast.outcome.release))
    forecast.preparation = preparation
    if waits { forecast.hasDeltas = deltas.awaitReady(preparation) == true }
    // A dry run may have worked it out a moment ago.
    forecast.update = preparation.status.costs[1]
    return forecast
  }

  /// Waits for a release's deltas.
  /// - Returns: whether they are stored; nil where too many others wait here already.
  func awaitDeltas(_ request: ReleaseInput, createsApp: Bool) throws(StoreError) -> Bool? {
    deltas.options.wait <= 0 ? false : deltas.awaitReady(try prepare(request, createsApp: createsApp))
  }

  /// Makes a release; when this returns, every poll that begins sees it.
  ///
  /// - Parameters:
  ///   - createsApp: whether an app or channel that doesn't exist is made.
  ///   - caller: the token that it is asked for with.
  /// - Throws: `pushFailed`: then it is staged, and tried again by itself.
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

  /// Brings an older version's content back; when this returns, every poll that begins sees it.
  /// - Throws: `pushFailed`: then it is staged, and tried again by itself.
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

  /// An act of the store that makes a release: it calls `digest` inside its transaction and `committed` right after it.
  private typealias StoreAct<Outcome> =
    @Sendable (
      _ digest: @escaping (PreparedRelease) throws(StoreError) -> SHA256,
      _ committed: (ReleaseOutcome) -> Void
    ) throws(StoreError) -> Outcome

  /// Pushes what a release names, runs the act that makes it, and shows it to polls.
  private func commit<Outcome>(
    _ scope: StagedReleases.Scope, by caller: AccessToken, isDryRun: Bool,
    version: @escaping @Sendable (Outcome) -> ManifestVersion, _ act: @escaping StoreAct<Outcome>
  ) throws(StoreError) -> Outcome {
    // A manifest that isn't in memory is read before the act, which others wait for.
    if !isDryRun, let channel = catalog.current.channel(scope.app, scope.channel) {
      _ = try builder.map(of: channel)
    }
    return try staging(scope, by: caller, isDryRun: isDryRun, version: version) {
      (checkWanted) throws(StoreError) in
      // Written by `digest`, read by `committed`, in that order: the store waits for the one before it calls the other.
      var next = ManifestMap.empty
      return try self.pushing { (check) throws(StoreError) in
        try act(
          { (prepared) throws(StoreError) in
            try checkWanted()
            // Guarantee 6: what it names answers at the public URL before anybody is told of it.
            try check(prepared)
            next = try self.map(after: prepared)
            return next.digest
          },
          {
            self.staged.drop(scope)
            self.show($0, next)
          })
      }
    }
  }

  /// The manifest that a release leads to.
  func map(after prepared: PreparedRelease) throws(StoreError) -> ManifestMap {
    var map = ManifestMap.empty
    if let channel = catalog.current.channel(id: prepared.channel.id) { map = try builder.map(of: channel) }
    return map.applying(prepared.changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) })
  }

  /// Moves the catalog on. The patch from the version before is made here: the whole fleet asks for it at once.
  func show(_ outcome: ReleaseOutcome, _ map: ManifestMap) {
    guard let info = outcome.channel else { return }
    guard outcome.changed else {
      // Only the prefetch config did.
      if let extras = outcome.extras { documents.show(info, extras) }
      return
    }
    let before = catalog.current.channel(id: info.id)
    let said = outcome.extras.map { ChannelDocuments($0) } ?? before?.documents ?? .none
    let channel = ChannelCatalog(channel: info, map: map, documents: said)
    if map.byteCount <= Self.codedAtOnce {
      channel.held.keep(whole: WholeManifest(info, map, channel.extras))
    }
    if let before, let digest = before.channel.digest, before.version != .none {
      builder.patches.update { $0.pin(before.version, of: info.id) }
      let patch = RenderedPatch(
        channel, from: before.version, digest: digest,
        outcome.changes.map { MapChange(url: $0.url, entry: $0.entry, lost: $0.lost) },
        // Without deltas the answer is right, too.
        deltas: (try? DeltaOffers(store: store).render(outcome.changes, info, from: before.version))
          ?? Array("{}".utf8)
      ) { channel.held.whole }
      if let patch {
        let pack = pack(outcome.changes.map { ($0.url, $0.entry) }, channel.channel, on: before)
        let offer = pack.flatMap { builder.packs.offer($0, channel.channel) }
        let patch = builder.offering(offer, patch, channel, from: before.version)
        builder.patches.update {
          $0.insert(patch, from: before.version.number, to: channel, renewal: $0.renewal(of: info.id))
        }
      }
    }
    catalog.update { $0.put(channel) }
    builder.patches.update { $0.forget(info.id, before: info.version) }
    deltas.backlog.add(info.id, at: info.version)
    renderer.add(info.id)
  }
}

/// Whether the deltas of a release are stored when it is committed, asked once: its answer is worked out twice.
final class DeltasAtCommit: Sendable {
  private let deltas: DeltaService
  private let areStored: Locked<Bool?>

  /// - Parameters:
  ///   - wereAwaited: whether it was waited until they were stored.
  ///   - isDryRun: nothing is committed, so that they aren't.
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
