import Manifests
import Store

extension ReleaseService {
  /// Creates a channel; once this returns, polls are answered for it. A nil `publicURL` means that of other new channels.
  func create(
    _ app: AppName, _ name: ChannelName, publicURL: BaseURL?, by actor: Actor,
    record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    let show = { [store, catalog] (channel: ChannelInfo) in
      // A channel that was removed was empty, and its documents are shown with the next change.
      let documents = (try? store.extras(of: channel)).map { ChannelDocuments($0) } ?? .none
      catalog.update { $0.put(ChannelCatalog(channel: channel, map: .empty, documents: documents)) }
    }
    return try store.createChannel(
      app, name, publicURL: publicURL ?? self.publicURL, by: actor, committed: show, record: record)
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
