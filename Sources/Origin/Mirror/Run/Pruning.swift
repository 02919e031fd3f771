import Manifests

/// Decides which files a run may remove: only those of channels that it is about.
struct Pruning {
  /// What was requested, and what the token may read.
  let selections: [ChannelSelection]
  /// The app of each ID, as far as origin and copy tell.
  let apps: [Int64: AppName]
  /// Channels that couldn't be updated: an earlier run may not have recorded what their documents name now.
  var stopped: Set<MirroredChannel> = []

  private var isAll: Bool { selections.allSatisfy(\.isAll) }

  func mayRemove(_ path: String) -> Bool { !isOfStopped(path) && isChosen(path) }

  private func isOfStopped(_ path: String) -> Bool {
    switch MirrorPath.owner(path) {
    case .document(let channel): stopped.contains(channel)
    case .resource(let channel, let id):
      apps[id].map { stopped.contains(MirroredChannel($0, channel)) } ?? false
    // All apps of a channel name share them.
    case .delta(let channel): stopped.contains { $0.channel == channel }
    case nil: false
    }
  }

  private func isChosen(_ path: String) -> Bool {
    switch MirrorPath.owner(path) {
    case .document(let channel): selections.allSatisfy { $0.contains(channel) }
    case .resource(let channel, let id):
      // Channels of unknown apps belong to nobody, which only a run about everything can tell.
      isAll
        || apps[id].map { app in
          selections.allSatisfy { $0.contains(MirroredChannel(app, channel)) }
        } ?? false
    case .delta(let channel): selections.allSatisfy { $0.apps.isEmpty && $0.contains(channel) }
    case nil: false
    }
  }

  /// Splits the `files` that no kept version names into those to remove now and those that must wait.
  ///
  /// `leaving` has the time since when files are no longer named, and `now` is the current one, in milliseconds since 1970;
  /// `grace` is how long such a file stays, in milliseconds.
  func split(_ files: [String], named: Set<String>, leaving: [String: Int64], now: Int64, grace: Int64)
    -> (gone: [String], leaving: [String: Int64])
  {
    // Nothing new is known about channels that the run isn't about.
    var rest = leaving.filter { !mayRemove($0.key) && !named.contains($0.key) }
    var gone: [String] = []
    for path in files where !named.contains(path) && mayRemove(path) {
      // Documents of an interrupted run may have named an unlisted file until just now. A time in the future comes from a
      // wrong clock.
      let since = leaving[path].map { min($0, now) } ?? now
      if now - since >= grace { gone.append(path) } else { rest[path] = since }
    }
    return (gone, rest)
  }
}
