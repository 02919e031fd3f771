import Manifests
import Store
import System

// Roots and statements (docs/protocol.md §14), and the answers of channels with a root.
extension ReleaseService {
  /// Puts a root in force; once this returns, every new poll names it.
  func push(_ request: RootInput, record: AnswerRecord<RootOutcome>? = nil) throws(StoreError) -> RootOutcome
  {
    if !request.dryRun {
      for channel in catalog.current.channels
      where channel.channel.app == request.app && channel.version != .none {
        _ = try builder.map(of: channel.newest)
      }
    }
    // By channel. Written by `digest`, read by `committed`.
    var made: [Int64: [ManifestVersion: ManifestMap]] = [:]
    func digest(_ prepared: PreparedRelease) throws(StoreError) -> SHA256 {
      let map = try map(after: prepared, made[prepared.channel.id] ?? [:])
      made[prepared.channel.id, default: [:]][prepared.version] = map
      return map.digest
    }
    // The downloads stay what they are, so there is nothing to push to a CDN.
    let outcome = try store.push(
      request, digest: digest, committed: { show($0, made, of: request.app) }, record: record)
    if !request.dryRun { settle(request.app) }
    return outcome
  }

  /// Keeps statements for contents that are stored; once this returns, answers have them.
  /// - Returns: how many weren't known before.
  func keep(_ request: StatementsInput, record: AnswerRecord<Int>? = nil) throws(StoreError) -> Int {
    let kept = try store.keep(
      request, committed: { showTrust(of: request.app, but: []) }, record: record)
    if !request.dryRun { settle(request.app) }
    return kept
  }

  private func show(_ outcome: RootOutcome, _ made: [Int64: [ManifestVersion: ManifestMap]], of app: AppName)
  {
    var shown: Set<Int64> = []
    for channel in outcome.channels {
      guard let release = channel.release, release.changed, let extras = extras(of: channel.info) else {
        continue
      }
      show(release, made[channel.info.id] ?? [:], extras)
      shown.insert(channel.info.id)
    }
    showTrust(of: app, but: shown)
  }

  /// Updates the catalog with the root and the statements that an app's channels have now; called right after a commit.
  private func showTrust(of app: AppName, but shown: Set<Int64>) {
    for channel in catalog.current.channels
    where channel.channel.app == app && !shown.contains(channel.channel.id) {
      let info = channel.newest.channel
      if let extras = extras(of: info) {
        documents.show((try? store.channel(info.app, info.name)) ?? info, extras)
      }
    }
  }

  private func extras(of channel: ChannelInfo) -> ChannelExtras? {
    do throws(StoreError) {
      return try store.extras(of: channel)
    } catch {
      log(
        "error: the root of \(channel.app) is shown to devices of \(channel.name) from the next change on: \(error)"
      )
      return nil
    }
  }

  // MARK: - Before an act is acknowledged

  private func settle(_ app: AppName) {
    for channel in catalog.current.channels where channel.channel.app == app { settle(channel) }
  }

  func settle(_ app: AppName, _ name: ChannelName) {
    if let channel = catalog.current.channel(app, name) { settle(channel) }
  }

  /// Signs the head of a channel with a root, and makes the answers that would otherwise have been made within the commit: the whole
  /// manifest, if it is small, and the patch from the version before.
  private func settle(_ channel: ChannelCatalog) {
    guard channel.trustEdition != 0 else { return }
    builder.heads.ensure(channel)
    for state in channel.answered {
      guard let map = state.held.map, map.byteCount <= Self.maxCodedInCommit else { continue }
      // What fails here is made when it is asked for.
      _ = try? builder.whole(of: state)
      let bases = builder.patches.current.pins(of: state.channel.id)
      if let base = bases.first(where: { $0 < state.version }) {
        builder.preparePatch(to: state, from: base)
      }
    }
  }
}
