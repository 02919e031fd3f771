import Manifests
import Store
import System

/// Why something couldn't be done about a rollout.
struct RolloutRefusal: Hashable, Sendable {
  let candidate: ManifestVersion
  let words: String
}

/// Looks at what devices report about open rollouts, and does what follows from it: pauses a rollout whose candidate fails too often, halts
/// it where that is wanted, and goes on with a ramp.
///
/// Each act is decided anew from what is stored, and what it was decided for is compared in its transaction. So it is done once, whatever
/// ends the process, and never after a person has changed the rollout.
final class RolloutWatch: Sendable {
  private let store: Store
  private let catalog: Published<Catalog>
  private let releases: ReleaseService
  private let adoption: AdoptionService
  private let log: @Sendable (String) -> Void
  private let state = Locked(State())

  /// The author of these acts.
  static let actor = Actor(name: "xcache", address: "")

  private struct State {
    /// When a channel's rollout is looked at again, in monotonic nanoseconds.
    var next: [Int64: UInt64] = [:]
    /// Whether a thread is looking.
    var isBusy = false
  }

  /// How many times longer than a look the next one waits. One at a large fleet's rows takes a part of a second.
  private let rest: UInt64

  init(
    store: Store, catalog: Published<Catalog>, releases: ReleaseService, adoption: AdoptionService,
    rest: UInt64 = 20, log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.adoption = adoption
    self.catalog = catalog
    self.releases = releases
    self.rest = rest
    self.log = log
  }

  /// Begins to look at all open rollouts; called every 10 seconds. On a thread of its own: halting may wait for the place that files are
  /// pushed to.
  func begin() {
    guard catalog.current.channels.contains(where: { $0.newest.channel.rollout != nil }),
      state.withLock({ state in
        defer { state.isBusy = true }
        return !state.isBusy
      })
    else { return }
    do {
      _ = try OSThread(name: "rollouts") { [self] in
        check()
        state.withLock { $0.isBusy = false }
      }
    } catch {
      state.withLock { $0.isBusy = false }
      log("error: a thread for rollouts can't be started: \(error)")
    }
  }

  /// Looks at all open rollouts.
  func check() {
    for channel in catalog.current.channels where channel.newest.channel.rollout != nil {
      let began = Clock.monotonicNanoseconds()
      guard state.withLock({ ($0.next[channel.channel.id] ?? 0) <= began }) else { continue }
      check(channel.newest.channel)
      let end = Clock.monotonicNanoseconds()
      state.withLock { $0.next[channel.channel.id] = end + (end - began) * rest }
    }
  }

  private func check(_ channel: ChannelInfo) {
    do throws(StoreError) {
      guard let standing = try store.standing(of: channel) else { return }
      let highest = EValue(standing.evidence.hours).log
      if highest > standing.plan.highest {
        try store.note(highest: highest, of: standing.rollout, in: channel)
      }
      try act(standing, in: channel)
      adoption.refusals.withLock { $0[channel.id] = nil }
    } catch {
      switch error {
      // A freeze ends, and after a person's act the next look decides anew. Whatever else refuses it is tried again, too.
      case .frozen, .noRollout, .otherRollout: return
      default: break
      }
      let refusal = RolloutRefusal(candidate: channel.version, words: "\(error)")
      // It is logged once.
      let isNew = adoption.refusals.withLock { refusals in
        defer { refusals[channel.id] = refusal }
        return refusals[channel.id] != refusal
      }
      if isNew {
        log("error: the rollout of \(channel.app) \(channel.name) can't go on by itself: \(refusal.words)")
      }
    }
  }

  private func act(_ standing: RolloutStanding, in channel: ChannelInfo) throws(StoreError) {
    let rollout = standing.rollout
    let decision = standing.decision(now: store.now)
    let place = "\(channel.app) \(channel.name): version \(rollout.candidate)"
    switch decision {
    case .wait: return
    case .pause: _ = try pause(standing, in: channel)
    case .halt:
      // First nobody new is let in: a halt may be refused, or wait for a place that files are pushed to.
      let paused = try rollout.isPaused ? nil : pause(standing, in: channel)
      let reason = "it fails too often: \(standing.alarmText)"
      _ = try releases.haltRollout(
        (channel.app, channel.name), rollout.candidate, reason: reason, by: Self.actor, caller: nil,
        ifIs: (paused ?? rollout, standing.plan))
      log("warning: \(place) is halted: \(reason)")
    case .advance(let share):
      let change = RolloutInput.Change.audience(share: share, groups: nil, app: nil)
      if try releases.changeRollout(input(change, standing, in: channel)).isChanged {
        log("\(place) goes on to \(ShareText.percent(share)) of the devices")
      }
    case .complete:
      if try releases.changeRollout(input(.complete, standing, in: channel)).isChanged {
        log("\(place) is the version of all devices now")
      }
    }
  }

  /// - Returns: the rollout afterwards; nil if it wasn't paused.
  private func pause(_ standing: RolloutStanding, in channel: ChannelInfo) throws(StoreError) -> Rollout? {
    var input = input(.pause, standing, in: channel)
    input.alarm = standing.alarm
    let outcome = try releases.changeRollout(input)
    guard outcome.isChanged else { return nil }
    log(
      "warning: \(channel.app) \(channel.name): version \(standing.rollout.candidate) fails too often, its rollout is paused: \(standing.alarmText)"
    )
    return outcome.after
  }

  private func input(
    _ change: RolloutInput.Change, _ standing: RolloutStanding, in channel: ChannelInfo
  ) -> RolloutInput {
    var input = RolloutInput(app: channel.app, channel: channel.name, change, by: Self.actor)
    (input.candidate, input.ifIs) = (standing.rollout.candidate, (standing.rollout, standing.plan))
    return input
  }
}
