import Manifests
import Store
import Values

extension ReleaseService {
  /// Creates a channel; once this returns, polls are answered for it. A nil `publicURL` means that of other new channels.
  func create(
    _ app: AppName, _ name: ChannelName, publicURL: BaseURL?, by actor: Actor,
    record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    let show = { [store, catalog, documents] (channel: ChannelInfo) in
      // A channel that was removed was empty, and its documents are shown with the next change.
      let documents = documents.rendered((try? store.extras(of: channel)) ?? ChannelExtras())
      catalog.update { $0.put(ChannelCatalog(channel: channel, map: .empty, documents: documents)) }
    }
    return try store.createChannel(
      app, name, publicURL: publicURL ?? self.publicURL, by: actor, committed: show, record: record)
  }

  /// Moves a channel to another public URL; once this returns, every new poll is told the new downloads, and the old ones go on
  /// being answered.
  func rebase(_ request: RebaseInput, by caller: AccessToken, record: AnswerRecord<ReleaseOutcome>? = nil)
    throws(StoreError) -> ReleaseOutcome
  {
    let scope = StagedReleases.Scope(app: request.app, channel: request.channel, bundles: nil)
    let outcome = try commit(scope, by: caller, isDryRun: request.dryRun, version: \.version) {
      [store] (digest, committed) throws(StoreError) in
      try store.rebase(request, digest: digest, committed: committed, record: record)
    }
    if !outcome.changed, !request.dryRun, let info = outcome.channel, info.version == .none {
      catalog.update { catalog in
        guard let before = catalog.channel(id: info.id) else { return }
        catalog.put(ChannelCatalog(channel: info, map: .empty, documents: before.documents))
      }
    }
    return outcome
  }

  /// Removes an empty channel; once this returns, its polls are no longer answered.
  func remove(
    _ app: AppName, _ name: ChannelName, by actor: Actor, record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    let hide = { [catalog, builder] (channel: ChannelInfo) in
      catalog.update { $0.remove(channel.id) }
      builder.patches.update { $0.remove(channel.id) }
    }
    return try store.removeChannel(app, name, by: actor, committed: hide, record: record)
  }

  /// Sets the app that answers when none is named; once this returns, polls are answered accordingly.
  /// - Returns: the previous default app.
  func setDefault(_ app: AppName, by actor: Actor, record: AnswerRecord<AppName?>? = nil) throws(StoreError)
    -> AppName?
  {
    let show = { [catalog] in catalog.update { $0.setDefault(app) } }
    return try store.setDefaultApp(app, by: actor, committed: show, record: record)
  }
}
