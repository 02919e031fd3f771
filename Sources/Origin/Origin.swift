import HTTP
import Manifests
import Store
import Synchronization
import System

/// Everything that an origin answers, over one store.
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
  private let keeper: MaintenanceService
  private let scrubber: Scrubber?
  let pages = Pages.embedded
  /// What `/metrics` shows.
  let metrics: @Sendable () -> String
  let openFiles: Int
  private let stopping = Atomic<Bool>(false)

  /// How an origin is set up.
  package struct Options: Sendable {
    /// Where devices download from, for channels that are new.
    package var publicURL: BaseURL
    /// Files that one event loop keeps open; as many again until they make way (see ``DescriptorBudget``).
    package var openFiles = 256
    /// Seconds that a release waits for its deltas, and threads for those on older versions; nil: the defaults.
    package var deltaWait: Double?
    package var deltaThreads: Int?
    /// Bytes of one published file at most.
    package var largestUpload: UInt64 = 64 << 30
    /// What the zips of all channels may take of the disk.
    package var zipRoom = ZipRoom.standard
    /// What packs may take.
    package var packs = PackLimits()
    /// Tells the deltas of an update's zip; nil: those that this origin makes.
    package var zipDeltas: ZipDeltas.Source?
    package var metrics: @Sendable () -> String = { "" }
    /// Seconds in which every file is read back once; nil: none is.
    package var scrub: Double?
    /// When garbage is collected each day; nil: only when asked.
    package var gc: DailyCollection?
    /// Brings a release's files to where devices download them before any device is told of it; nil: the CDN fetches
    /// what it lacks. What it throws, the release is refused with.
    package var push: ReleasePush?
    /// Where errors of the origin itself are told, one line each.
    package var log: @Sendable (String) -> Void = { _ in }

    package init(publicURL: BaseURL) { self.publicURL = publicURL }
  }

  /// Reads what polls with nothing new need, for every channel; manifests are read when they are asked for, or in the
  /// background.
  package init(store: Store, options: Options) throws(StoreError) {
    self.store = store
    catalog = Published(try Catalog(store))
    var wishes = DeltaService.Options()
    if let wait = options.deltaWait { wishes.wait = wait }
    if let threads = options.deltaThreads { wishes.threads = threads }
    (wishes.packs, wishes.isPushing, wishes.log) = (options.packs, options.push != nil, options.log)
    let service = DeltaService(store: store, options: wishes)
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
    packs = PackEndpoint(store: store, log: options.log)
    let adoption = AdoptionService(store: store, log: options.log)
    deltas = DeltaEndpoint(store: store, counters: service.counters, log: options.log)
    downloads = DownloadEndpoint(
      store: store, coded: CodedFiles(store: store, log: options.log), deltas: deltas, log: options.log)
    info = InfoEndpoint(builder: builder)
    let renderer = AnswerRenderer(
      store: store, catalog: catalog, builder: builder, service: service, log: options.log)
    self.renderer = renderer
    let source = DeltaZipSource(store: store, backlog: service.backlog)
    var zipOptions = ZipService.Options(deltas: options.zipDeltas ?? source.deltas) {
      (channel) throws(StoreError) in
      try service.backlogBases(of: channel) + store.pins(of: channel).map(\.version)
    }
    zipOptions.room = options.zipRoom
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
      fleet: FleetService(store: store, adoption: adoption, backlog: service.backlog),
      largestUpload: options.largestUpload, log: options.log)
    self.adoption = adoption
    keeper = MaintenanceService(
      store: store, adoption: adoption, answers: builder, plans: api.plans, gc: options.gc, log: options.log)
    let scrubber = options.scrub.map { Scrubber(store: store, period: $0, log: options.log) }
    self.scrubber = scrubber
    self.service = service
    backlog = BacklogWorker(
      store: store, catalog: catalog, builder: builder, service: service, push: options.push, log: options.log
    )
    // A delta or pack that was found damaged, or gone, is told of no more, and made again.
    store.changes.subscribe { [catalog, service] in
      for channel in catalog.current.channels {
        service.backlog.add(channel.channel.id, at: channel.version, isStale: true)
      }
    }
    metrics = { [attempts = api.attempts, metrics = options.metrics] in
      metrics() + (scrubber?.prometheusText ?? "") + Scrubber.damageText(store) + adoption.prometheusText
        + attempts.metrics + service.counters.prometheusText(pending: service.backlog.pending)
        + service.packs.counters.prometheusText + service.packBytesText + builder.prometheusText
    }
    openFiles = options.openFiles
  }

  /// Makes deltas on older versions, renders what devices will ask for and keeps house from now on, each on a thread of
  /// its own.
  package func startBackgroundWork() throws(SystemError) {
    try renderer.start()
    try backlog.start()
    try keeper.start()
    try scrubber?.start()
  }

  /// Answers for one event loop; called on that loop's thread.
  package func makeHandler() -> any Handler { OriginHandler(self) }

  /// From now on `/readyz` says that this origin takes no more work.
  package func beginStopping() {
    stopping.store(true, ordering: .relaxed)
    service.stop()
    renderer.beginStopping()
    keeper.beginStopping()
    scrubber?.beginStopping()
  }

  /// Writes what was counted last, once no event loop runs any more.
  package func finish() {
    scrubber?.finish()
    keeper.finish()
  }

  var isReady: Bool { !stopping.load(ordering: .relaxed) }
}

extension Catalog {
  /// Every channel of a store, without its manifest.
  init(_ store: Store) throws(StoreError) {
    self.init(defaultApp: try store.defaultApp())
    for (channel, extras) in try store.channelsWithExtras() {
      put(ChannelCatalog(channel: channel, documents: ChannelDocuments(extras)))
    }
  }
}

extension ManifestMap {
  /// The manifest of a kept version, from its rows.
  /// - Throws: `unknownVersion`.
  init(_ store: Store, _ channel: ChannelInfo, at version: ManifestVersion) throws(StoreError) {
    var builder = Builder()
    try store.eachEntry(of: channel, at: version) { url, entry in
      builder.append(url: url.text.utf8) { entry.appendCanonicalJSON(to: &$0) }
    }
    self = builder.finish()
  }
}
