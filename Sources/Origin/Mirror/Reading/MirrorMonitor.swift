import Manifests
import System

/// Checks a static copy every minute, as devices see it, and reports how stale and how damaged it is.
package final class MirrorMonitor: Sendable {
  /// A channel's newest version at the origin.
  package struct Newest: Sendable {
    package let app: AppName
    package let channel: ChannelName
    package let version: ManifestVersion

    package init(app: AppName, channel: ChannelName, version: ManifestVersion) {
      self.app = app
      self.channel = channel
      self.version = version
    }
  }

  private struct Sample: Sendable {
    var isUp = false
    var at: Int64?
    var behind: [(app: AppName, channel: ChannelName, versions: Int64)] = []
    /// The number of channels that the origin has and the copy doesn't.
    var missing = 0
    var files = 0
    var divergences = 0
  }

  private let reader: any MirrorReader
  private let newest: @Sendable () -> [Newest]
  private let log: @Sendable (String) -> Void
  private let sample = Locked(Sample())
  private let thread = BackgroundThread()

  /// The seconds between two checks, and the files that each reads.
  private static let pause = 60
  private static let files = 20

  package init(
    _ reader: any MirrorReader, newest: @escaping @Sendable () -> [Newest],
    log: @escaping @Sendable (String) -> Void
  ) {
    self.reader = reader
    self.newest = newest
    self.log = log
  }

  /// Starts checking on a thread of its own.
  package func start() throws(SystemError) {
    try thread.start("mirror-watch", nil) { [self] in
      repeat { look() } while thread.pause(for: .seconds(Self.pause))
    }
  }

  /// Stops checking, and waits until the thread has ended.
  package func stop() { thread.stop(within: .seconds(1)) }

  /// Checks `mirror.json`, each channel's first documents, and some files chosen at random.
  package func look() {
    do throws(MirrorError) {
      let (index, _) = try reader.index()
      let divergences = try check(index)
      for divergence in divergences { log("mirror \(reader.name): \(divergence)") }
      var behind: [(app: AppName, channel: ChannelName, versions: Int64)] = []
      var missing = 0
      for now in newest() {
        let name = MirroredChannel(now.app, now.channel)
        let held = index.channels.first { $0.name == name }?.version
        if held == nil { missing += 1 }
        // A channel that the runs leave out on purpose doesn't get staler.
        if held == nil, index.leftOut?.contains(name) ?? false { continue }
        let number = held?.number ?? 0
        behind.append((now.app, now.channel, max(0, now.version.number - number)))
      }
      let (found, lacking) = (behind, missing)
      sample.withLock { sample in
        sample.isUp = true
        sample.at = index.at
        sample.behind = found
        sample.missing = lacking
        sample.files += Self.files
        sample.divergences += divergences.count
      }
    } catch {
      log("mirror \(reader.name): \(error)")
      sample.withLock { $0.isUp = false }
    }
  }

  private func check(_ index: MirrorIndex) throws(MirrorError) -> [Divergence] {
    var found: [Divergence] = []
    for channel in index.channels {
      let first = channel.files.filter {
        ["configure.json", "version.json", "head.json"].map { "\(channel.folder)/\($0)" }.contains($0.path)
      }
      let drawn = (0..<Self.files).compactMap { _ in channel.files.randomElement() }
      for (path, file) in first + drawn {
        guard let facts = try reader.facts(path) else {
          found.append(Divergence(path: path, kind: .missing))
          continue
        }
        if facts.file != file { found.append(Divergence(path: path, kind: .bytes)) }
      }
    }
    // A run that ended while this was reading causes apparent divergences.
    return found.isEmpty ? [] : try reader.index().0.at == index.at ? found : []
  }

  /// The results in Prometheus's text exposition format.
  package var prometheusText: String {
    let sample = sample.withLock { $0 }
    var text = """
      # HELP xcache_mirror_up Whether the last look at the static copy found it.
      # TYPE xcache_mirror_up gauge
      xcache_mirror_up \(sample.isUp ? 1 : 0)
      # HELP xcache_mirror_sampled_files_total Files of the static copy that were read back.
      # TYPE xcache_mirror_sampled_files_total counter
      xcache_mirror_sampled_files_total \(sample.files)
      # HELP xcache_mirror_divergences_total Files of the static copy that were missing or wrong.
      # TYPE xcache_mirror_divergences_total counter
      xcache_mirror_divergences_total \(sample.divergences)

      """
    if let at = sample.at {
      text += """
        # HELP xcache_mirror_age_seconds Time since the last run of the static copy ended.
        # TYPE xcache_mirror_age_seconds gauge
        xcache_mirror_age_seconds \(max(0, (Clock.unixMilliseconds() - at) / 1000))
        # HELP xcache_mirror_missing_channels Channels that the origin has and the static copy doesn't.
        # TYPE xcache_mirror_missing_channels gauge
        xcache_mirror_missing_channels \(sample.missing)
        # HELP xcache_mirror_versions_behind Versions by which the static copy is older than the origin.
        # TYPE xcache_mirror_versions_behind gauge

        """
      for channel in sample.behind {
        text +=
          "xcache_mirror_versions_behind{app=\"\(channel.app)\",channel=\"\(channel.channel)\"} \(channel.versions)\n"
      }
    }
    return text
  }
}
