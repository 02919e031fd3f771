import HTTP
import Identity
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
  let signIn: SignInEndpoint
  let deltas: DeltaEndpoint
  let packs: PackEndpoint
  let adoption: AdoptionService
  let builder: AnswerBuilder
  let background: BackgroundWork
  let pages: Pages
  /// The versions that are looked at; nil if previews are off.
  let previews: PreviewTickets?
  private let failures: FailureLog
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
    /// How shared caches keep the answers of polls; nil if no cache takes polls.
    package var edge: EdgePolicy?
    /// The caches that are told to drop answers when these change; only with `edge`.
    package var purges: [EdgePurgeTarget] = []
    /// How people sign in with a provider; nil if they only use tokens.
    package var signIn: SignInOptions?
    /// Where releases are looked at; nil if nowhere.
    package var preview: PreviewAddress?
    /// The origin of the console's URL, such as `https://xcache.example.com`, if it is known: its pages may frame previews.
    package var consoleOrigin: String?
    /// The issuers of the ID tokens that CI jobs trade.
    package var issuers = IdentityProviders()
    /// Receives the origin's own errors, one line each.
    package var log: @Sendable (String) -> Void = { _ in }

    package init(publicURL: BaseURL) { self.publicURL = publicURL }
  }

  /// Creates an origin and loads, for every channel, what polls with nothing new need. Manifests are read on demand or in
  /// the background.
  package init(store: Store, options: Options) throws(StoreError) {
    let (failures, log) = (FailureLog(log: options.log), options.log)
    let catalog = Published(try Catalog(store, edge: options.edge))
    let service = DeltaService(store: store, options: DeltaService.Options(options))
    let heads = HeadService(store: store, log: log)
    let edge = EdgeService(options)
    let builder = try AnswerBuilder(store, catalog, service, heads, options)
    let renderer = AnswerRenderer(
      store: store, catalog: catalog, builder: builder, service: service, log: log)
    let coded = try StoreError.disk { () throws(SystemError) in try CodedFiles(store: store, log: log) }
    (self.store, self.catalog, self.builder, openFiles) = (store, catalog, builder, options.openFiles)

    // What devices ask for.
    configure = ConfigureEndpoint(builder: builder, edge: options.edge)
    info = InfoEndpoint(builder: builder)
    packs = PackEndpoint(store: store, log: log, failures: failures)
    deltas = DeltaEndpoint(store: store, counters: service.counters, log: log, failures: failures)
    downloads = DownloadEndpoint(
      store: store, coded: coded,
      checker: try StoreError.disk { () throws(SystemError) in try BlobChecker() },
      deltas: deltas, log: log, failures: failures)
    zips = ZipEndpoint(service: try ZipService(store, service, options), store: store, log: log)

    // What publishers do.
    let adoption = AdoptionService(store: store, isBehindCache: options.edge != nil, log: log)
    let documents = DocumentService(
      store: store, catalog: catalog, renderer: renderer, heads: heads, edge: options.edge)
    let releases = ReleaseService(
      store: store, catalog: catalog, builder: builder, renderer: renderer, publicURL: options.publicURL,
      deltas: service, packs: service.packs, documents: documents, push: options.push, log: log)
    signIn = SignInEndpoint(store, options, failures: failures)
    pages = options.preview.map { Pages.embedded.framing($0.pattern) } ?? .embedded
    previews = options.preview.map { address in
      PreviewTickets(address, console: options.consoleOrigin) { store.now }
    }
    self.failures = failures
    api = APIEndpoint(
      store: store, releases: releases, deltas: service, documents: documents, adoption: adoption,
      fleet: FleetService(
        store: store, adoption: adoption, backlog: service.backlog, staged: releases.staged, edge: edge),
      stacks: StackReader(store: store), signIns: signIn.pending, previews: previews,
      largestUpload: options.largestUpload, log: log, failures: failures)
    self.adoption = adoption

    background = BackgroundWork(
      catalog: catalog, builder: builder, renderer: renderer, api: api, failures: failures, options)
    metrics = RecentText {
      [background, edge, attempts = api.attempts, signIns = signIn.counts, metrics = options.metrics] in
      let texts = [
        metrics(), background.scrubber?.prometheusText ?? "", Scrubber.damageText(store),
        adoption.prometheusText, background.webhooks.prometheusText, attempts.metrics, signIns.metrics,
        service.counters.prometheusText(pending: service.backlog.pending),
        service.packs.counters.prometheusText, service.packBytesText, builder.prometheusText,
        coded.prometheusText, TrustMetrics.text(store), edge?.prometheusText ?? "",
      ]
      return texts.joined()
    }
  }

  /// Starts the background threads: deltas from older versions, rendering what devices will ask for, and maintenance.
  package func startBackgroundWork() throws(SystemError) { try background.start() }

  /// Returns the handler of one event loop; called on that loop's thread.
  package func makeHandler() -> any Handler { OriginHandler(self) }

  /// Returns the handler of an event loop of the listener for previews; nil if they are off.
  package func makePreviewHandler() -> (any Handler)? {
    previews.map { PreviewSite($0, store, downloads, failures: failures) }
  }

  /// Makes `/readyz` report from now on that this origin takes no more work.
  package func beginStopping() {
    stopping.store(true, ordering: .relaxed)
    background.beginStopping()
  }

  /// Writes the last counts, once no event loop is running any more.
  package func finish() { background.finish() }

  var isReady: Bool { !stopping.load(ordering: .relaxed) }
}

extension DeltaService.Options {
  fileprivate init(_ options: Origin.Options) {
    self.init()
    if let wait = options.deltaWait { self.wait = wait }
    if let threads = options.deltaThreads { self.threads = threads }
    (packs, isPushing, log) = (options.packs, options.push != nil, options.log)
  }
}

extension AnswerBuilder {
  fileprivate convenience init(
    _ store: Store, _ catalog: Published<Catalog>, _ service: DeltaService, _ heads: HeadService,
    _ options: Origin.Options
  ) throws(StoreError) {
    do throws(SystemError) {
      try self.init(
        store: store, catalog: catalog, packs: PackOffers(store: store, arePushed: options.push != nil),
        heads: heads, packCounters: service.packs.counters)
    } catch {
      throw StoreError(error)
    }
  }
}

extension ZipService {
  fileprivate convenience init(_ store: Store, _ service: DeltaService, _ options: Origin.Options)
    throws(StoreError)
  {
    let made = DeltaZipSource(store: store, backlog: service.backlog)
    var zips = Options(deltas: options.zipDeltas ?? made.deltas) { (channel) throws(StoreError) in
      try service.backlogBases(of: channel) + store.pins(of: channel).map(\.version)
    }
    (zips.quota, zips.log) = (options.zipQuota, options.log)
    do throws(SystemError) {
      try self.init(store: store, zips)
    } catch {
      throw StoreError(error)
    }
  }
}

extension Catalog {
  /// Loads every channel of a store, without its manifest.
  init(_ store: Store, edge: EdgePolicy? = nil) throws(StoreError) {
    self.init(defaultApp: try store.defaultApp())
    for (channel, extras) in try store.channelsWithExtras() {
      put(
        ChannelCatalog(
          channel: channel, documents: ChannelDocuments(extras, edge: edge?.ttl),
          pageOrigins: channel.rollout == nil ? [] : try store.pageOrigins(of: channel)))
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
