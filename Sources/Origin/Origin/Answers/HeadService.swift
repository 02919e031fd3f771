import Manifests
import Store
import System

/// Sees to it that the newest head says what a channel with a root is (docs/protocol.md §14), before any answer with it is made and
/// before an act is acknowledged; a change of the policy waits for nothing.
///
/// The store signs one with each act. What is left to do here is what it couldn't then, and a new head for each day.
///
/// Signing never fails an act: if it isn't possible, devices keep what they hold, and a kill switch is in force all the same.
final class HeadService: Sendable {
  private let store: Store
  private let log: @Sendable (String) -> Void
  /// The state of each channel (`ChannelCatalog.trustEdition`) for which there is a head.
  private let signed = Locked<[Int64: Int]>([:])
  /// Why the heads of channels can't be signed, so that each fault is logged once.
  private let faults = Locked<[Int64: String]>([:])

  init(store: Store, log: @escaping @Sendable (String) -> Void = { _ in }) {
    self.store = store
    self.log = log
  }

  /// Signs a head for what a channel is, unless it is known that there is one for this state of it.
  func ensure(_ channel: ChannelCatalog) {
    let (id, edition) = (channel.channel.id, channel.trustEdition)
    guard edition != 0, signed.withLock({ $0[id] ?? 0 }) < edition, renew(channel) != nil else { return }
    signed.withLock { $0[id] = max($0[id] ?? 0, edition) }
  }

  /// Signs heads where one is missing, says something else, or is a day old.
  /// - Parameter renewed: called with each channel that has another head than before.
  func renewDue(_ catalog: Catalog, renewed: (ChannelCatalog) -> Void) {
    for channel in catalog.channels where channel.trustEdition != 0 {
      if renew(channel, isDaily: true) == true { renewed(channel) }
    }
  }

  /// - Returns: whether there is another head than before; nil if it can't be signed.
  private func renew(_ channel: ChannelCatalog, isDaily: Bool = false) -> Bool? {
    let info = channel.channel
    do throws(StoreError) {
      if try store.hasDamagedHead(info.id) {
        log(
          "error: the head of \(info.app) \(info.name) is damaged in the database, so another one is signed")
      }
      let isNew = try store.renewHead(of: info.id, isDaily: isDaily)
      if faults.withLock({ $0.removeValue(forKey: info.id) }) != nil {
        log("the head of \(info.app) \(info.name) is signed again")
      }
      return isNew
    } catch {
      let words = error.description
      if faults.withLock({ $0.updateValue(words, forKey: info.id) }) != words {
        log(
          "error: the head of \(info.app) \(info.name) can't be signed, so its devices keep what they hold: \(words)"
        )
      }
      return nil
    }
  }
}

extension ChannelInfo {
  /// Whether entries name their bundle at this version, but not at `base`. Nothing leads from there but the whole manifest.
  func crossesRebase(from base: ManifestVersion) -> Bool { crossesRebase(from: base, to: version) }
}
