import Manifests
import XCacheDevice

extension FleetDevice {
  /// What apps say of themselves, by their place in `FleetMix.apps`.
  static var apps: [AppTraits] { FleetMix.apps.map { AppTraits(version: $0.version) } }
}

extension FleetRun {
  /// The part of polls that fail though there is a network.
  private static let lostPolls = 0.01
  /// The part of updates that aren't there before the app is left.
  private static let slowUpdates = 0.05
  /// The part of pages that are followed by another one, within ten minutes.
  static let followed = 0.5
  /// The part of devices that fail later than with their first page.
  static let late = 0.5

  /// A device opens a page, polls, goes to what it is offered, and reports.
  mutating func open(_ number: Int) throws {
    var device = devices[number]
    let time = Int(device.at)
    let now = FleetMix.start + Int64(time) * 1_000
    var state = device.state(
      mix.id(number), origin.rules[Int(device.rule)], share: origin.rules[Int(device.lastOpen)]?.share,
      seed: seed)
    if device.held > 0 { page(&device, &state, at: now) }
    if !mix.isCutOff(number, at: time), !chance.happens(Self.lostPolls) {
      poll(&device, &state)
      // As `Device.tellEvidence`: only after a poll that was answered.
      if let report = state.takeReport(at: now) {
        counts.reports += 1
        try origin.receive(report.body, from: mix.network(of: device, &chance), at: now)
      }
    }
    device.keep(state)
    devices[number] = device
    let isFollowed = chance.happens(Self.followed)
    schedule(
      number,
      at: isFollowed ? time + 60 + chance.below(540) : mix.nextOpening(after: time, device, &chance))
  }

  private mutating func page(_ device: inout FleetDevice, _ state: inout RolloutState, at now: Int64) {
    counts.pages += 1
    let taken = device.marks.contains(.taken) ? seed : nil
    let opening = state.awaitedOpening(for: apps[Int(device.app)], taken: taken, isOfHeld: true)
    let isNew = device.held == FleetOrigin.candidate && !device.marks.contains(.tried)
    var hasFailed = device.marks.contains(.failsNext)
    device.set(.failsNext, false)
    if isNew || opening != nil { hasFailed = first(&device, isNew: isNew) }
    if let opening {
      state.countOpening(opening, at: now, hasFailed: false)
      if opening.arm == .candidate { counts.openedCandidate += 1 } else { counts.openedControl += 1 }
    }
    if hasFailed { fail(&device, &state, taken, at: now) }
    // "Of a version on trial, two first pages that fail in a row MUST lead back."
    if device.marks.contains(.broken), !isNew, device.held == FleetOrigin.candidate, device.before > 0 {
      state.countReturn(from: seed, for: apps[Int(device.app)], hasOpened: true, at: now)
      counts.returned += 1
      hold(device.before, &device)
      device.set(.broken, false)
      device.set(.skips, true)
    }
  }

  /// The first page of the candidate, or the first that counts: whether it fails. If it is the device that fails, and not this page, the
  /// next one does.
  private mutating func first(_ device: inout FleetDevice, isNew: Bool) -> Bool {
    device.set(.tried, isNew || device.marks.contains(.tried))
    let factor = FleetMix.models[Int(device.model)].factor
    let rate = device.held == FleetOrigin.candidate ? options.fails : options.base
    guard chance.happens(rate * factor) else { return false }
    if isNew { counts.hit += 1 }
    if chance.happens(Self.late) {
      device.set(.failsNext, true)
      return false
    }
    // What fails more often than the version before is the release's own fault, and stays so.
    device.set(.broken, isNew && chance.unit() * rate < rate - options.base)
    return true
  }

  private mutating func fail(
    _ device: inout FleetDevice, _ state: inout RolloutState, _ taken: String?, at now: Int64
  ) {
    let before = state.evidence.counts.first?.isFailed ?? false
    state.countFailure(at: now, taken: taken)
    guard !before, let count = state.evidence.counts.first, count.isFailed else { return }
    if count.arm == .candidate { counts.failedCandidate += 1 } else { counts.failedControl += 1 }
  }

  /// A poll that is answered, and the update that follows it.
  private mutating func poll(_ device: inout FleetDevice, _ state: inout RolloutState) {
    counts.polls += 1
    device.rule = UInt16(clamping: origin.rule)
    var isIn = false
    if origin.rules[origin.rule]?.share != 0 { device.lastOpen = device.rule }
    if let rule = origin.rules[origin.rule] {
      isIn = state.decide(
        rule, for: apps[Int(device.app)], taken: device.marks.contains(.taken) ? seed : nil)
    } else {
      state.end()
    }
    let offered = isIn ? FleetOrigin.candidate : origin.fullVersion
    guard offered != device.held, !(device.marks.contains(.skips) && offered == FleetOrigin.candidate),
      !chance.happens(Self.slowUpdates)
    else { return }
    device.before = device.held
    hold(offered, &device)
    if isIn { counts.took += 1 }
    device.set(.taken, isIn)
    for mark in [FleetDevice.Marks.tried, .failsNext, .broken] { device.set(mark, false) }
    if offered > FleetOrigin.candidate { device.set(.skips, false) }
  }

  private mutating func hold(_ version: UInt8, _ device: inout FleetDevice) {
    counts.held[Int(device.held)] -= 1
    counts.held[Int(version)] += 1
    device.held = version
    if version != FleetOrigin.candidate { device.set(.taken, false) }
  }
}
