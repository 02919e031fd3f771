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
  private let state = Monitor(State())

  /// The author of these acts.
  static let actor = Actor(name: "xcache", address: "")

  private struct State {
    /// When a channel's rollout is looked at again, in monotonic nanoseconds.
    var next: [Int64: UInt64] = [:]
    /// Whether a thread is looking.
    var isBusy = false
    /// Channels whose rollouts are being halted, each on a thread of its own.
    var halting: Set<Int64> = []
    var isStopping = false

    var isIdle: Bool { !isBusy && halting.isEmpty }
  }

  /// How many rollouts are halted at a time, in all channels.
  static let maxHalts = 8

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

  /// Begins to look at all open rollouts; called every 10 seconds. On a thread of its own: a look at a large fleet's rows takes a part of
  /// a second.
  func begin() {
    guard catalog.current.channels.contains(where: { $0.newest.channel.rollout != nil }),
      state.withLock({ state in
        guard !state.isBusy, !state.isStopping else { return false }
        state.isBusy = true
        return true
      })
    else { return }
    do {
      _ = try OSThread(name: "rollouts") { [self] in
        check()
        state.broadcasting { $0.isBusy = false }
      }
    } catch {
      state.broadcasting { $0.isBusy = false }
      log("error: a thread for rollouts can't be started: \(error)")
    }
  }

  /// Nothing is begun any more.
  func beginStopping() { state.withLock { $0.isStopping = true } }

  /// Waits until nothing is at work, but only so long. A halt that waits for the place that files are pushed to ends with the process: the
  /// next one decides anew.
  /// - Returns: false if something still is.
  @discardableResult
  func finish(within duration: Duration) -> Bool {
    state.waiting(for: duration) { $0.isIdle ? true : nil } ?? false
  }

  /// Looks at all open rollouts.
  func check() {
    for channel in catalog.current.channels where channel.newest.channel.rollout != nil {
      let began = Clock.monotonicNanoseconds()
      guard
        state.withLock({ !$0.isStopping && ($0.next[channel.channel.id] ?? 0) <= began })
      else { continue }
      check(channel.newest.channel)
      let end = Clock.monotonicNanoseconds()
      state.withLock { $0.next[channel.channel.id] = end + (end - began) * rest }
    }
  }

  private func check(_ channel: ChannelInfo) {
    do throws(StoreError) {
      guard let standing = try store.standing(of: channel) else { return }
      if standing.plan.corrected(for: standing.rollout, now: store.now) != nil {
        try store.correctClock(of: standing.rollout, in: channel)
        adoption.standings.withLock { $0[channel.id] = nil }
        return
      }
      let highest = EValue(standing.evidence.hours).log
      if highest > standing.plan.highest {
        try store.note(highest: highest, of: standing.rollout, in: channel)
      }
      // What became of a halt is told by its own thread.
      if try act(standing, in: channel) { adoption.refusals.withLock { $0[channel.id] = nil } }
    } catch {
      refuse(error, in: channel)
    }
  }

  private func refuse(_ error: StoreError, in channel: ChannelInfo) {
    switch error {
    // A freeze ends, and after a person's act the next look decides anew. Whatever else refuses it is tried again, too.
    case .frozen, .noRollout, .otherRollout: return
    default: refuse("\(error)", in: channel)
    }
  }

  /// Keeps for people what a rollout can't do by itself.
  private func refuse(_ words: String, in channel: ChannelInfo) {
    let refusal = RolloutRefusal(candidate: channel.version, words: words)
    // It is logged once.
    let isNew = adoption.refusals.withLock { refusals in
      defer { refusals[channel.id] = refusal }
      return refusals[channel.id] != refusal
    }
    if isNew {
      log("error: the rollout of \(channel.app) \(channel.name) can't go on by itself: \(refusal.words)")
    }
  }

  /// - Returns: false if a halt was to be begun, which ends later.
  private func act(_ standing: RolloutStanding, in channel: ChannelInfo) throws(StoreError) -> Bool {
    let rollout = standing.rollout
    let decision = standing.decision(now: store.now)
    let place = "\(channel.app) \(channel.name): version \(rollout.candidate)"
    switch decision {
    case .wait: break
    case .pause: _ = try pause(standing, in: channel)
    case .halt:
      // First nobody new is let in: a halt may be refused, or wait for a place that files are pushed to.
      let paused = try rollout.isPaused ? nil : pause(standing, in: channel)
      halt(standing, paused ?? rollout, in: channel)
      return false
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
    return true
  }

  /// Halts a rollout on a thread of its own: it may wait for the place that files are pushed to, and other channels' alarms don't.
  /// - Parameter rollout: what it has to be by then.
  private func halt(_ standing: RolloutStanding, _ rollout: Rollout, in channel: ChannelInfo) {
    let isFree: Bool? = state.withLock { state in
      if state.isStopping || state.halting.contains(channel.id) { return nil }
      guard state.halting.count < Self.maxHalts else { return false }
      state.halting.insert(channel.id)
      return true
    }
    guard let isFree else { return }
    guard isFree else { return refuse("\(Self.maxHalts) other rollouts are being halted", in: channel) }
    do {
      _ = try OSThread(name: "halt") { [self] in
        let reason = "it fails too often: \(standing.alarmText)"
        do throws(StoreError) {
          _ = try releases.haltRollout(
            (channel.app, channel.name), rollout.candidate, reason: reason, by: Self.actor, caller: nil,
            ifIs: (rollout, standing.plan))
          adoption.refusals.withLock { $0[channel.id] = nil }
          log(
            "warning: \(channel.app) \(channel.name): version \(rollout.candidate) is halted: \(reason)")
        } catch {
          refuse(error, in: channel)
        }
        _ = state.broadcasting { $0.halting.remove(channel.id) }
      }
    } catch {
      _ = state.broadcasting { $0.halting.remove(channel.id) }
      log("error: a thread to halt a rollout can't be started: \(error)")
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
