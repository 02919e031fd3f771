import Dispatch
import Manifests
import Store

/// Makes versions of a channel's documents: the store first, durably, then the catalog that polls are answered
/// from.
final class DocumentDesk: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let builder: AnswerBuilder

  init(store: Store, catalog: Published<Catalog>, builder: AnswerBuilder) {
    self.store = store
    self.catalog = catalog
    self.builder = builder
  }

  /// Makes a new version; when this returns, every poll that begins is told its number.
  func change(
    _ request: DocumentRequest, record: AnswerRecord<DocumentOutcome>? = nil,
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> DocumentOutcome {
    try store.change(request, change: change, committed: show, record: record)
  }

  /// Sets the interval that every answer asks devices to keep.
  func setInterval(
    _ seconds: Int?, of app: AppName, _ channel: ChannelName, by actor: Actor,
    record: AnswerRecord<ChannelExtras>? = nil
  ) throws(StoreError) -> ChannelExtras {
    try store.setInterval(seconds, of: app, channel, by: actor, committed: show, record: record)
  }

  /// What is answered to a device that is up to date is ready at once. Whole manifest and patches carry the numbers,
  /// too, so they are made again: a small whole here, a large one in the background, patches when they are asked for.
  func show(_ channel: ChannelInfo, _ state: ChannelExtras) {
    guard let before = catalog.current.channel(id: channel.id) else { return }
    var next = before.saying(ChannelDocuments(state))
    let isSmall = next.map.byteCount <= ReleaseDesk.codedAtOnce
    if isSmall { next = next.adding(WholeManifest(next.channel, next.map, next.extras)) }
    catalog.update { [next] in $0.put(next) }
    guard !isSmall else { return }
    DispatchQueue.global(qos: .utility).async { [builder] in builder.prepareWhole(of: channel.id) }
  }
}
