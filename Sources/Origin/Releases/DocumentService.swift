import Manifests
import Store

/// Makes versions of a channel's documents: the store first, durably, then the catalog that polls are answered
/// from.
final class DocumentService: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let renderer: AnswerRenderer

  init(store: Store, catalog: Published<Catalog>, renderer: AnswerRenderer) {
    self.store = store
    self.catalog = catalog
    self.renderer = renderer
  }

  /// Makes a new version; when this returns, every poll that begins is told its number.
  func change(
    _ request: DocumentRequest, record: AnswerRecord<DocumentOutcome>? = nil,
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> DocumentOutcome {
    try store.change(request, change: change, committed: show, record: record)
  }

  /// Changes a channel's settings; when this returns, every poll that begins is told those that are for devices.
  func set(
    _ change: SettingsChange, of app: AppName, _ channel: ChannelName, by actor: Actor,
    record: AnswerRecord<ConfiguredChannel>? = nil
  ) throws(StoreError) -> ConfiguredChannel {
    try store.set(change, of: app, channel, by: actor, committed: show, record: record)
  }

  /// What is answered to a device that is up to date is ready at once. Whole manifest and patches carry the numbers,
  /// too: the whole is put together again from its coded map, patches are made again in the background.
  func show(_ channel: ChannelInfo, _ state: ChannelExtras) {
    guard let before = catalog.current.channel(id: channel.id) else { return }
    let next = before.with(ChannelDocuments(state))
    if next.held.whole == nil, let map = next.held.map, map.byteCount <= ReleaseService.codedAtOnce {
      next.held.keep(whole: WholeManifest(next.channel, map, next.extras))
    }
    catalog.update { $0.put(next) }
    renderer.add(channel.id)
  }
}
