import Manifests
import Store

/// Makes versions of a channel's documents: durably in the store first, then in the catalog that polls are answered from.
final class DocumentService: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let renderer: AnswerRenderer
  private let heads: HeadService
  /// How shared caches keep answers; nil if no cache takes polls.
  let edge: EdgePolicy?

  init(
    store: Store, catalog: Published<Catalog>, renderer: AnswerRenderer, heads: HeadService,
    edge: EdgePolicy? = nil
  ) {
    self.store = store
    self.catalog = catalog
    self.renderer = renderer
    self.heads = heads
    self.edge = edge
  }

  /// Makes a new version; once this returns, every new poll gets its number.
  func change(
    _ request: DocumentRequest, record: AnswerRecord<DocumentOutcome>? = nil,
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws(StoreError) -> DocumentOutcome {
    let outcome = try store.change(request, change: change, committed: show, record: record)
    // A kill switch waits for no other transaction: whoever makes an answer, or asks for the head, looks after it.
    if case .changed = outcome, request.document != .policy,
      let channel = catalog.current.channel(request.app, request.channel)
    {
      heads.ensure(channel)
    }
    return outcome
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
    show(before.with(channel, rendered(state)))
  }

  /// Returns a channel's documents, and what every answer carries about them.
  func rendered(_ state: ChannelExtras) -> ChannelDocuments { ChannelDocuments(state, edge: edge?.ttl) }

  /// Updates the catalog after an act that changed the rule of a rollout, or ended it by completing it.
  func show(_ channel: ChannelInfo) {
    guard let before = catalog.current.channel(id: channel.id) else { return }
    show(before.with(channel, before.documents))
  }

  /// Has heads signed where one is due, and the answers made again that carry the one before, if they are in memory.
  func renewHeads() {
    heads.renewDue(catalog.current) { channel in
      catalog.update { $0.renew(channel.channel.id) }
      if channel.answered.contains(where: { $0.held.isInMemory }) { renderer.add(channel.channel.id) }
    }
  }

  private func show(_ next: ChannelCatalog) {
    // With a root, answers are made after the commit: signatures are verified for them, while other acts would wait.
    for state in next.answered where next.trustEdition == 0 {
      guard state.held.whole == nil, let map = state.held.map,
        map.byteCount <= ReleaseService.maxCodedInCommit
      else { continue }
      state.held.keep(whole: WholeManifest(state.channel, map, state.extras))
    }
    catalog.update { $0.put(next) }
    renderer.add(next.channel.id)
  }
}
