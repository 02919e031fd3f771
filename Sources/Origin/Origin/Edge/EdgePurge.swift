import Manifests

/// What an edge is told to drop: its answers to the polls of one channel.
struct EdgePurge: Hashable, Comparable, Sendable {
  let app: AppName
  let channel: ChannelName

  init(_ app: AppName, _ channel: ChannelName) { (self.app, self.channel) = (app, channel) }

  var tag: EdgeTag { EdgeTag(app, channel) }

  static func < (a: EdgePurge, b: EdgePurge) -> Bool { (a.app, a.channel) < (b.app, b.channel) }
}

/// A channel whose polls are answered differently than before.
struct EdgeChange: Hashable, Sendable {
  let purge: EdgePurge
  /// Whether its policy changed, and with it perhaps the kill switch: this goes before others.
  let isUrgent: Bool
}

extension Catalog {
  /// What an edge is told at the start.
  var firstEdgeChanges: [EdgeChange] { channels.map { EdgeChange(purge: $0.purge, isUrgent: false) } }

  /// The channels whose polls were answered differently in `before`. A channel that wasn't there has none: no edge keeps refusals.
  ///
  /// Called after each change. Channels that didn't change cost a comparison of references each.
  func edgeChanges(since before: Catalog) -> [EdgeChange] {
    var changes: [EdgeChange] = []
    var known = 0
    for (index, channel) in channels.enumerated() {
      guard let old = before.channel(id: channel.channel.id, near: index) else { continue }
      known += 1
      if old === channel || channel.answersPolls(like: old) { continue }
      changes.append(
        EdgeChange(purge: channel.purge, isUrgent: channel.extras.policy != old.extras.policy))
    }
    if known < before.channels.count {
      changes += before.channels.filter { channel(id: $0.channel.id) == nil }
        .map { EdgeChange(purge: $0.purge, isUrgent: false) }
    }
    if let app = before.defaultApp, app != defaultApp {
      // Polls that name no app have the tag of the channel that answered them.
      let apps = [app, defaultApp]
      changes += channels.filter { apps.contains($0.channel.app) }
        .map { EdgeChange(purge: $0.purge, isUrgent: false) }
    }
    return changes
  }

  /// A channel, which is probably at this place.
  private func channel(id: Int64, near index: Int) -> ChannelCatalog? {
    if channels.indices.contains(index), channels[index].channel.id == id { return channels[index] }
    return channel(id: id)
  }
}

extension ChannelCatalog {
  fileprivate var purge: EdgePurge { EdgePurge(channel.app, channel.name) }

  /// Whether each poll gets what it got in another state, but for offers of deltas and packs.
  fileprivate func answersPolls(like other: ChannelCatalog) -> Bool {
    answered.count == other.answered.count
      && zip(answered, other.answered).allSatisfy { $0.answers(as: $1) && $0.digest == $1.digest }
  }
}
