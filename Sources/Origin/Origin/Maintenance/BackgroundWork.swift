import Store
import System

/// What an origin does besides answering, each on threads of its own.
struct BackgroundWork: Sendable {
  /// Renders what devices will ask for.
  let renderer: AnswerRenderer
  private let deltas: DeltaService
  /// Makes the deltas and packs from older versions.
  private let backlog: BacklogWorker
  private let maintenance: MaintenanceService
  /// Reads every file back; nil if that is off.
  let scrubber: Scrubber?
  let webhooks: WebhookService

  init(
    catalog: Published<Catalog>, builder: AnswerBuilder, renderer: AnswerRenderer, api: APIEndpoint,
    failures: FailureLog, _ options: Origin.Options
  ) {
    let (store, log) = (api.store, options.log)
    self.renderer = renderer
    deltas = api.deltas
    backlog = BacklogWorker(
      store: store, catalog: catalog, builder: builder, service: api.deltas, push: options.push, log: log)
    maintenance = MaintenanceService(
      store: store, adoption: api.adoption, answers: builder, plans: api.plans, shared: api.shared,
      failures: failures, gc: options.gc, purges: api.releases.purges,
      schedules: ScheduleService(api: api, log: log),
      rollouts: RolloutWatch(
        store: store, catalog: catalog, releases: api.releases, adoption: api.adoption, log: log),
      documents: api.documents, log: log)
    scrubber = options.scrub.map { Scrubber(store: store, period: $0, log: log) }
    webhooks = WebhookService(store: store, log: log)
    Self.remakeWhatIsLost(store, catalog, api.deltas)
  }

  /// Has deltas and packs that were found damaged or missing made again; they are no longer offered.
  private static func remakeWhatIsLost(
    _ store: Store, _ catalog: Published<Catalog>, _ deltas: DeltaService
  ) {
    // Weak: the store, which both hold, keeps the listener.
    store.changes.subscribe { [weak catalog, weak deltas] in
      guard let catalog, let deltas else { return }
      for channel in catalog.current.channels {
        deltas.backlog.add(channel.channel.id, at: channel.channel.answeredVersions, isStale: true)
      }
    }
  }

  func start() throws(SystemError) {
    try renderer.start()
    try backlog.start()
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
    scrubber?.finish()
    webhooks.finish()
    maintenance.finish()
  }
}
