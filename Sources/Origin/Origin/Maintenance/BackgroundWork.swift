import Store
import System

/// What an origin does besides answering, each on threads of its own.
struct BackgroundWork: Sendable {
  /// Renders what devices will ask for.
  let renderer: AnswerRenderer
  private let deltas: DeltaService
  /// Makes the deltas and packs from older versions.
  private let backlog: BacklogWorker
  private let firsts: FirstPackBacklog
  private let maintenance: MaintenanceService
  /// Reads every file back; nil if that is off.
  let scrubber: Scrubber?
  let webhooks: WebhookService
  private let edge: EdgeService?
  private let catalog: Published<Catalog>

  init(
    catalog: Published<Catalog>, builder: AnswerBuilder, renderer: AnswerRenderer, api: APIEndpoint,
    failures: FailureLog, _ options: Origin.Options
  ) {
    let (store, log) = (api.store, options.log)
    (self.renderer, self.catalog, edge) = (renderer, catalog, api.fleet.edge)
    deltas = api.deltas
    let worker = FirstPackWorker(
      store: store, catalog: catalog, answers: builder, packs: api.deltas.packs, push: options.push)
    backlog = BacklogWorker(
      store: store, catalog: catalog, builder: builder, service: api.deltas, push: options.push,
      firsts: worker,
      log: log)
    firsts = FirstPackBacklog(worker: worker, service: api.deltas, log: log)
    maintenance = MaintenanceService(
      store: store, adoption: api.adoption, answers: builder, plans: api.plans, shared: api.shared,
      failures: failures, gc: options.gc, purges: api.releases.purges,
      schedules: ScheduleService(api: api, log: log),
      rollouts: RolloutWatch(
        store: store, catalog: catalog, releases: api.releases, adoption: api.adoption, log: log),
      documents: api.documents, stacks: api.stacks, fleet: api.fleet, log: log)
    scrubber = options.scrub.map { Scrubber(store: store, period: $0, log: log) }
    webhooks = WebhookService(store: store, log: log)
    Self.remakeWhatIsLost(store, builder, api.deltas, log)
  }

  /// Has deltas and packs that were found damaged or missing made again; they are no longer offered, first packs from now on.
  private static func remakeWhatIsLost(
    _ store: Store, _ builder: AnswerBuilder, _ deltas: DeltaService,
    _ log: @escaping @Sendable (String) -> Void
  ) {
    // Weak: the store keeps the listener, and both others hold the store.
    store.changes.subscribe { [weak store, weak builder, weak deltas] in
      guard let store, let builder, let deltas else { return }
      builder.forgetLostFirsts(store, log)
      for channel in builder.catalog.current.channels {
        deltas.backlog.add(channel.channel.id, at: channel.channel.answeredVersions, isStale: true)
      }
    }
  }

  func start() throws(SystemError) {
    try edge?.start(catalog)
    try renderer.start()
    try backlog.start()
    try firsts.start()
    try maintenance.start()
    try scrubber?.start()
    try webhooks.start()
  }

  /// Tells the threads to end.
  func beginStopping() {
    deltas.stop()
    renderer.beginStopping()
    maintenance.beginStopping()
    scrubber?.beginStopping()
    webhooks.beginStopping()
  }

  /// Waits for what has to end properly, and writes the last counts.
  func finish() {
    edge?.finish()
    scrubber?.finish()
    webhooks.finish()
    maintenance.finish()
  }
}
