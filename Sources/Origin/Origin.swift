import Dispatch
import HTTP
import Manifests
import Platform
import Store
import Synchronization

/// Everything that an origin answers, over one store.
package final class Origin: Sendable {
  let store: Store
  let catalog: Published<Catalog>
  let configure: ConfigureEndpoint
  let downloads: DownloadEndpoint
  let info: InfoEndpoint
  let zips: ZipEndpoint
  let api: APIEndpoint
  let pages = Pages()
  /// What `/metrics` shows.
  let metrics: @Sendable () -> String
  /// Files that one event loop keeps open.
  let openFiles: Int
  private let stopping = Atomic<Bool>(false)

  /// How an origin is set up.
  package struct Options: Sendable {
    /// Where devices download from, for channels that are new.
    package var publicURL: BaseURL
    package var openFiles = 256
    /// Bytes of one published file at most.
    package var largestUpload: UInt64 = 64 << 30
    /// Bytes that the zips of all channels may take on the disk.
    package var zipBytes: Int64 = 20 << 30
    /// Tells the deltas of an update's zip.
    package var zipDeltas: ZipDeltas.Source = { _, _, _ in .done([]) }
    package var metrics: @Sendable () -> String = { "" }
    /// Where errors of the origin itself are told, one line each.
    package var log: @Sendable (String) -> Void = { _ in }

    package init(publicURL: BaseURL) { self.publicURL = publicURL }
  }

  /// Reads every channel's newest manifest into memory.
  package init(store: Store, options: Options) throws(StoreError) {
    self.store = store
    catalog = Published(try Catalog(store))
    let builder = AnswerBuilder(store: store, catalog: catalog)
    configure = ConfigureEndpoint(catalog: catalog, builder: builder)
    downloads = DownloadEndpoint(store: store, coded: CodedFiles(store: store), log: options.log)
    info = InfoEndpoint(catalog: catalog, builder: builder)
    zips = ZipEndpoint(
      desk: ZipDesk(store: store, deltas: options.zipDeltas, limit: options.zipBytes, log: options.log))
    let releases = ReleaseDesk(store: store, catalog: catalog, builder: builder, publicURL: options.publicURL)
    let documents = DocumentDesk(store: store, catalog: catalog, builder: builder)
    api = APIEndpoint(
      store: store, releases: releases, documents: documents, largestUpload: options.largestUpload,
      log: options.log)
    metrics = options.metrics
    openFiles = options.openFiles
  }

  /// Answers for one event loop; called on that loop's thread.
  package func makeHandler() -> any Handler { OriginHandler(self) }

  /// From now on `/readyz` says that this origin takes no more work.
  package func beginStopping() { stopping.store(true, ordering: .relaxed) }

  var isReady: Bool { !stopping.load(ordering: .relaxed) }
}

extension Catalog {
  /// The newest manifest of every channel of a store.
  init(_ store: Store) throws(StoreError) {
    self.init(defaultApp: try store.defaultApp())
    for channel in try store.channels() {
      var entries: [(url: [UInt8], entry: [UInt8])] = []
      entries.reserveCapacity(channel.resources)
      let info = try store.eachLiveEntry(of: channel.app, channel.name) { url, entry in
        entries.append((Array(url.text.utf8), entry.canonicalJSON))
      }
      let documents = ChannelDocuments(try store.extras(of: info))
      put(ChannelCatalog(channel: info, map: ManifestMap(sorted: entries), documents: documents))
    }
  }
}
