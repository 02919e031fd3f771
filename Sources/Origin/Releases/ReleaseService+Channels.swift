import Manifests
import Store

extension ReleaseService {
  /// Makes a channel; when this returns, polls are answered for it.
  /// - Parameter publicURL: where devices download from; nil: as other new channels do.
  func create(
    _ app: AppName, _ name: ChannelName, publicURL: BaseURL?, by actor: Actor,
    record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    let show = { [store, catalog] (channel: ChannelInfo) in
      // One that was removed held nothing, and what it says beside its manifest is told with the next change.
      let documents = (try? store.extras(of: channel)).map { ChannelDocuments($0) } ?? .none
      catalog.update { $0.put(ChannelCatalog(channel: channel, map: .empty, documents: documents)) }
    }
    return try store.createChannel(
      app, name, publicURL: publicURL ?? self.publicURL, by: actor, committed: show, record: record)
  }

  /// Removes an empty channel; when this returns, nobody is answered for it.
  func remove(
    _ app: AppName, _ name: ChannelName, by actor: Actor, record: AnswerRecord<ChannelInfo>? = nil
  ) throws(StoreError) -> ChannelInfo {
    let hide = { [catalog, builder] (channel: ChannelInfo) in
      catalog.update { $0.remove(channel.id) }
      builder.patches.update { $0.remove(channel.id) }
    }
    return try store.removeChannel(app, name, by: actor, committed: hide, record: record)
  }

  /// Names the app that answers where none is named; when this returns, polls are answered so.
  /// - Returns: the one before.
  func setDefault(_ app: AppName, by actor: Actor, record: AnswerRecord<AppName?>? = nil) throws(StoreError)
    -> AppName?
  {
    let show = { [catalog] in catalog.update { $0.setDefault(app) } }
    return try store.setDefaultApp(app, by: actor, committed: show, record: record)
  }
}
