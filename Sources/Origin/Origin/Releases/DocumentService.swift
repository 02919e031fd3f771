import Manifests
import Store

/// Makes versions of a channel's documents: durably in the store first, then in the catalog that polls are answered from.
final class DocumentService: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let renderer: AnswerRenderer

  init(store: Store, catalog: Published<Catalog>, renderer: AnswerRenderer) {
    self.store = store
    self.catalog = catalog
    self.renderer = renderer
  }

  /// Makes a new version; once this returns, every new poll gets its number.
  func change(
    _ request: DocumentRequest, record: AnswerRecord<DocumentOutcome>? = nil,
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> DocumentOutcome {
    try store.change(request, change: change, committed: show, record: record)
  }

  /// Changes a channel's settings; once this returns, every new poll gets those meant for devices.
  func set(
    _ change: SettingsChange, of app: AppName, _ channel: ChannelName, by actor: Actor,
    record: AnswerRecord<ConfiguredChannel>? = nil
  ) throws(StoreError) -> ConfiguredChannel {
    try store.set(change, of: app, channel, by: actor, committed: show, record: record)
  }

  /// Updates the catalog. The answer for up-to-date devices is ready at once. The whole manifest and the patches carry the
  /// numbers, too: the former is reassembled from its coded map, the latter are made again in the background.
  func show(_ channel: ChannelInfo, _ state: ChannelExtras) {
    guard let before = catalog.current.channel(id: channel.id) else { return }
    show(before.with(channel, ChannelDocuments(state)))
  }

  /// Updates the catalog after an act that changed the rule of a rollout, or ended it by completing it.
  func show(_ channel: ChannelInfo) {
    guard let before = catalog.current.channel(id: channel.id) else { return }
    show(before.with(channel, before.documents))
  }

  private func show(_ next: ChannelCatalog) {
    for state in next.answered {
      guard state.held.whole == nil, let map = state.held.map,
        map.byteCount <= ReleaseService.maxCodedInCommit
      else { continue }
      state.held.keep(whole: WholeManifest(state.channel, map, state.extras))
    }
    catalog.update { $0.put(next) }
    renderer.add(next.channel.id)
  }
}
