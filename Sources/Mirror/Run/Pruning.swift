import Manifests

/// Decides which files a run may remove: those of channels that it is about, and no others.
struct Pruning {
  /// What the run is about, and may read.
  let selections: [ChannelSelection]
  /// The app of each id, as far as origin and copy tell.
  let apps: [Int64: AppName]
  /// Channels that could not be brought: what their documents name now, a run before may not have told.
  var stopped: Set<MirroredChannel> = []

  private var isAll: Bool { selections.allSatisfy(\.isAll) }

  func mayRemove(_ path: String) -> Bool { !isOfStopped(path) && isChosen(path) }

  private func isOfStopped(_ path: String) -> Bool {
    switch MirrorPath.owner(path) {
    case .document(let channel): stopped.contains(channel)
    case .resource(let channel, let id):
      apps[id].map { stopped.contains(MirroredChannel($0, channel)) } ?? false
    // The apps of a channel's name share them.
    case .delta(let channel): stopped.contains { $0.channel == channel }
    case nil: false
    }
  }

  private func isChosen(_ path: String) -> Bool {
    switch MirrorPath.owner(path) {
    case .document(let channel): selections.allSatisfy { $0.contains(channel) }
    case .resource(let channel, let id):
      // The channels of apps that nobody knows are nobody's; only a run about everything can tell that.
      isAll
        || apps[id].map { app in
          selections.allSatisfy { $0.contains(MirroredChannel(app, channel)) }
        } ?? false
    case .delta(let channel): selections.allSatisfy { $0.apps.isEmpty && $0.contains(channel) }
    case nil: false
    }
  }

  /// Splits what no kept version names into what goes now and what has yet to wait.
  ///
  /// - Parameters:
  ///   - files: everything that is there.
  ///   - leaving: since when files are known to be named no more, in milliseconds since 1970.
  ///   - grace: how long such a file stays, in milliseconds.
  func split(_ files: [String], named: Set<String>, leaving: [String: Int64], now: Int64, grace: Int64)
    -> (gone: [String], leaving: [String: Int64])
  {
    // Of channels that the run isn't about nothing is known anew.
    var rest = leaving.filter { !mayRemove($0.key) && !named.contains($0.key) }
    var gone: [String] = []
    for path in files where !named.contains(path) && mayRemove(path) {
      // A file that no mirror.json listed was perhaps named by documents of a run that was ended, until just now. A
      // time to come is that of a clock which went wrong.
      let since = leaving[path].map { min($0, now) } ?? now
      if now - since >= grace { gone.append(path) } else { rest[path] = since }
    }
    return (gone, rest)
  }
}
