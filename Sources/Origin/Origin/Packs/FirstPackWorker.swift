import Manifests
import Store
import System

/// Keeps a channel's first pack: decides whether the one that there is still serves, and has another one made and pushed otherwise.
struct FirstPackWorker: Sendable {
  let store: Store
  let catalog: Published<Catalog>
  let answers: AnswerBuilder
  let packs: PackBuilder
  /// Uploads packs to where devices download them; nil if the CDN fetches what it lacks.
  let push: ReleasePush?

  private var firsts: FirstPacks { answers.packs.firsts }

  /// Finds out what whole manifests of a version name, unless that is known and still there.
  func choose(_ channel: ChannelInfo) throws(StoreError) {
    try firsts.choosing.withLock { (_) throws(StoreError) in
      switch firsts.choice(of: channel) {
      case .refused, .wanted: return
      case .stored(let pack): if try store.isStored(pack, firstOf: channel) { return }
      case nil: break
      }
      answers.choose(try store.firstPack(of: channel), of: channel)
    }
  }

  private func choose(_ choice: FirstPackChoice, of channel: ChannelInfo) {
    firsts.choosing.withLock { _ in answers.choose(choice, of: channel) }
  }

  /// Whether there is something to make or to push for a version.
  func hasWork(_ channel: ChannelInfo) -> Bool {
    switch firsts.choice(of: channel) {
    case .wanted: isFull(channel)
    case .stored(let pack): push != nil && !pack.isPushed
    case .refused, nil: false
    }
  }

  /// A candidate names a pack of the full version if that serves; one of its own is made once it is the full version.
  private func isFull(_ channel: ChannelInfo) -> Bool {
    catalog.current.channel(id: channel.id)?.version == channel.version
  }

  /// The result of doing what is to do.
  enum Outcome {
    case done
    /// There was no space for this many bytes.
    case noSpace(Int64)
    /// It could not be pushed; the value is the message to log.
    case isUnpushed(String)
    case stopped
  }

  /// Makes and pushes a version's first pack, as far as that is to do.
  func work(_ channel: ChannelInfo, shouldContinue: () -> Bool) throws(StoreError) -> Outcome {
    guard hasWork(channel) else { return .done }
    if case .stored(let pack) = firsts.choice(of: channel) { return try pushed(pack, channel) }
    switch try FirstPackBuilder(packs: packs).make(channel, shouldContinue: shouldContinue) {
    case .kept(let pack): return try pushed(pack, channel)
    case .notWorthwhile:
      choose(.refused, of: channel)
      return .done
    case .noSpace(let size): return .noSpace(size)
    case .stopped: return .stopped
    }
  }

  /// Pushes a pack, if pushing is configured, and has manifests name it.
  private func pushed(_ pack: StoredPack, _ channel: ChannelInfo) throws(StoreError) -> Outcome {
    var pack = pack
    if let push, !pack.isPushed {
      do throws(StoreError) {
        try push.pack(pack, channel)
      } catch {
        guard case .pushFailed = error else { throw error }
        choose(.stored(pack), of: channel)
        return .isUnpushed(error.message(ofDerivedTo: channel, at: channel.version))
      }
      try store.derived.notePushed(pack, of: channel.id)
      pack = pack.pushed
    }
    // What another release has chosen meanwhile stays.
    guard catalog.current.answers(channel.id, with: channel.version) else { return .stopped }
    choose(.stored(pack), of: channel)
    // An open candidate may name it, too.
    answers.forgetFirsts(of: channel.id, except: channel.version)
    return .done
  }
}
