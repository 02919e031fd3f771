import HTTP
import Manifests
import Store
import Synchronization
import System
import Values

/// The origin: everything that it answers, from one store.
package final class Origin: Sendable {
  let store: Store
  let catalog: Published<Catalog>
  let configure: ConfigureEndpoint
  let downloads: DownloadEndpoint
  let info: InfoEndpoint
  let zips: ZipEndpoint
  let api: APIEndpoint
  let deltas: DeltaEndpoint
  let packs: PackEndpoint
  let adoption: AdoptionService
  private let service: DeltaService
  private let backlog: BacklogWorker
  let builder: AnswerBuilder
  let renderer: AnswerRenderer
  private let maintenance: MaintenanceService
  private let scrubber: Scrubber?
  private let webhooks: WebhookService
  let pages = Pages.embedded
  /// The text of `/metrics`.
  let metrics: RecentText
  let openFiles: Int
  private let stopping = Atomic<Bool>(false)

  /// An origin's configuration.
  package struct Options: Sendable {
    /// The base URL from which devices download, for new channels.
    package var publicURL: BaseURL
    /// The number of files that each event loop keeps open, plus as many again until they are evicted (see
    /// ``DescriptorBudget``).
    package var openFiles = 256
    /// The seconds that a release waits for its deltas, and the number of threads for deltas from older versions; nil means
    /// the defaults.
    package var deltaWait: Double?
    package var deltaThreads: Int?
    /// The maximum size of one published file, in bytes.
    package var largestUpload: UInt64 = 64 << 30
    /// The disk space for the zips of all channels.
    package var zipQuota = ZipQuota.standard
    /// The limits for packs.
    package var packs = PackLimits()
    /// The deltas in an update's zip; nil means those that this origin makes.
    package var zipDeltas: ZipDeltas.Source?
    package var metrics: @Sendable () -> String = { "" }
    /// The period, in seconds, in which every file is read back once; nil disables the scrub.
    package var scrub: Double?
    /// When garbage is collected each day; nil means only on request.
    package var gc: DailyCollection?
    /// Uploads a release's files to where devices download them before any device learns of it; nil if the CDN fetches what
    /// it lacks. An error that it throws refuses the release.
    package var push: ReleasePush?
    /// Receives the origin's own errors, one line each.
    package var log: @Sendable (String) -> Void = { _ in }

    package init(publicURL: BaseURL) { self.publicURL = publicURL }
  }

  /// Creates an origin and loads, for every channel, what polls with nothing new need. Manifests are read on demand or in
  /// the background.
  package init(store: Store, options: Options) throws(StoreError) {
    self.store = store
    catalog = Published(try Catalog(store))
    var deltaOptions = DeltaService.Options()
    if let wait = options.deltaWait { deltaOptions.wait = wait }
    if let threads = options.deltaThreads { deltaOptions.threads = threads }
    (deltaOptions.packs, deltaOptions.isPushing, deltaOptions.log) = (
      options.packs, options.push != nil, options.log
    )
    let service = DeltaService(store: store, options: deltaOptions)
    let builder: AnswerBuilder
    do throws(SystemError) {
      builder = try AnswerBuilder(
        store: store, catalog: catalog, packs: PackOffers(store: store, arePushed: options.push != nil),
        packCounters: service.packs.counters)
    } catch {
      throw StoreError(error)
    }
    self.builder = builder
    configure = ConfigureEndpoint(builder: builder)
    let failures = FailureLog(log: options.log)
    packs = PackEndpoint(store: store, log: options.log, failures: failures)
    let adoption = AdoptionService(store: store, log: options.log)
    deltas = DeltaEndpoint(store: store, counters: service.counters, log: options.log, failures: failures)
    let coded: CodedFiles
    do throws(SystemError) {
      coded = try CodedFiles(store: store, log: options.log)
      downloads = DownloadEndpoint(
        store: store, coded: coded, checker: try BlobChecker(), deltas: deltas, log: options.log,
        failures: failures)
    } catch {
      throw StoreError(error)
    }
    info = InfoEndpoint(builder: builder)
    let renderer = AnswerRenderer(
      store: store, catalog: catalog, builder: builder, service: service, log: options.log)
    self.renderer = renderer
    let source = DeltaZipSource(store: store, backlog: service.backlog)
    var zipOptions = ZipService.Options(deltas: options.zipDeltas ?? source.deltas) {
      (channel) throws(StoreError) in
      try service.backlogBases(of: channel) + store.pins(of: channel).map(\.version)
    }
    zipOptions.quota = options.zipQuota
    zipOptions.log = options.log
    do throws(SystemError) {
      zips = ZipEndpoint(service: try ZipService(store: store, zipOptions), store: store, log: options.log)
    } catch {
      throw StoreError(error)
    }
    let documents = DocumentService(store: store, catalog: catalog, renderer: renderer)
    let releases = ReleaseService(
      store: store, catalog: catalog, builder: builder, renderer: renderer, publicURL: options.publicURL,
      deltas: service, packs: service.packs, documents: documents, push: options.push, log: options.log)
    api = APIEndpoint(
      store: store, releases: releases, deltas: service, documents: documents, adoption: adoption,
      fleet: FleetService(
        store: store, adoption: adoption, backlog: service.backlog, staged: releases.staged),
      largestUpload: options.largestUpload, log: options.log, failures: failures)
    self.adoption = adoption
    maintenance = MaintenanceService(
      store: store, adoption: adoption, answers: builder, plans: api.plans, shared: api.shared,
      failures: failures, gc: options.gc, purges: releases.purges,
      schedules: ScheduleService(api: api, log: options.log), log: options.log)
    let scrubber = options.scrub.map { Scrubber(store: store, period: $0, log: options.log) }
    self.scrubber = scrubber
    let webhooks = WebhookService(store: store, log: options.log)
    self.webhooks = webhooks
    self.service = service
    backlog = BacklogWorker(
      store: store, catalog: catalog, builder: builder, service: service, push: options.push, log: options.log
    )
    // A delta or pack that was found damaged or missing is no longer offered, and is made again.
    // Weak: the store, which both hold, keeps the listener.
    store.changes.subscribe { [weak catalog, weak service] in
      guard let catalog, let service else { return }
      for channel in catalog.current.channels {
        service.backlog.add(channel.channel.id, at: channel.channel.answeredVersions, isStale: true)
      }
    }
    metrics = RecentText { [attempts = api.attempts, metrics = options.metrics] in
      metrics() + (scrubber?.prometheusText ?? "") + Scrubber.damageText(store) + adoption.prometheusText
        + webhooks.prometheusText
        + attempts.metrics + service.counters.prometheusText(pending: service.backlog.pending)
        + service.packs.counters.prometheusText + service.packBytesText + builder.prometheusText
        + coded.prometheusText
    }
    openFiles = options.openFiles
  }

  /// Starts the background threads: deltas from older versions, rendering what devices will ask for, and maintenance.
  package func startBackgroundWork() throws(SystemError) {
    try renderer.start()
    try backlog.start()
    try maintenance.start()
    try scrubber?.start()
    try webhooks.start()
  }

  /// Returns the handler of one event loop; called on that loop's thread.
  package func makeHandler() -> any Handler { OriginHandler(self) }

  /// Makes `/readyz` report from now on that this origin takes no more work.
  package func beginStopping() {
    stopping.store(true, ordering: .relaxed)
    service.stop()
    renderer.beginStopping()
    maintenance.beginStopping()
    scrubber?.beginStopping()
    webhooks.beginStopping()
  }

  /// Writes the last counts, once no event loop is running any more.
  package func finish() {
    scrubber?.finish()
    webhooks.finish()
    maintenance.finish()
  }

  var isReady: Bool { !stopping.load(ordering: .relaxed) }
}

extension Catalog {
  /// Loads every channel of a store, without its manifest.
  init(_ store: Store) throws(StoreError) {
    self.init(defaultApp: try store.defaultApp())
    for (channel, extras) in try store.channelsWithExtras() {
      put(ChannelCatalog(channel: channel, documents: ChannelDocuments(extras)))
    }
    for url in try store.publicURLs() { serve(url) }
  }
}

extension ManifestMap {
  /// Builds the manifest of a kept version from its rows.
  /// - Throws: `unknownVersion`.
  init(_ store: Store, _ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) {
    var builder = Builder()
    try store.eachEntry(of: channel, at: version) { url, entry in
      builder.append(url: url.text.utf8) { entry.appendCanonicalJSON(to: &$0) }
    }
    self = builder.finish()
  }
}
