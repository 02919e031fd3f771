import HTTPClient
import Manifests
import OriginAPI
import OriginClient
import System
import Values
import XCacheDevice

/// A part of the fleet as real devices of a real origin: they poll, take what they are offered and report over HTTP, in time that runs
/// faster. Their own clock is the real one, since the origin's is.
///
/// Pages are opened by the clock alone; there is no browser. So devices don't go back by themselves: only who opens pages can tell.
struct FleetSample {
  let options: FleetOptions
  let client: OriginClient
  let channel: ChannelAddress
  let sent = FleetSent()
  let mix: FleetMix
  let devices: [SampledDevice]
  private let folder: ScratchFolder
  private let http = HTTPClient()

  init(_ options: FleetOptions) throws {
    self.options = options
    guard let text = options.origin, let server = try? BaseURL(text) else {
      throw UsageError(text: "--origin needs the address of an origin, not \"\(options.origin ?? "")\"")
    }
    guard let app = try? AppName(options.app), let name = try? ChannelName(options.channel) else {
      throw UsageError(text: "\(options.app) \(options.channel) isn't the name of an app and of a channel")
    }
    client = OriginClient(server: server, token: options.token)
    channel = ChannelAddress(app, name)
    mix = FleetMix(seed: options.seed, offline: options.offline, networks: options.networks)
    folder = try ScratchFolder("xcache-fleet")
    // The same devices as in the simulation.
    var chance = Chance(seed: options.seed)
    var devices: [SampledDevice] = []
    for number in 0..<options.devices {
      let past = chance.unit()
      if past >= 0.01, past < 0.12 { _ = chance.below(3) }
      let traits = FleetDevice(chance.below(options.networks), held: 0, &chance)
      let first = mix.nextOpening(after: 0, traits, &chance)
      guard number % options.sample == 0 else { continue }
      devices.append(
        try SampledDevice(
          number, traits, first, mix, options, http, sent, folder: "\(folder.path)/\(number)"))
    }
    self.devices = devices
  }

  /// - Returns: whether the origin says what was sent.
  func run() throws -> Bool {
    let before = try client.rollouts(of: channel).value
    guard let rollout = before.open else {
      throw UsageError(
        text: "\(options.app) \(options.channel) has no open rollout: publish with --rollout or --ramp")
    }
    let polls = try client.adoption(of: channel).value
    say(
      "\(devices.count) devices, a day in \(options.hour * 24 / 1_000) s; the rollout of version \(rollout.version)"
    )
    let queue = SampleQueue(devices)
    let workers = try (0..<8).map { number in
      try OSThread(name: "devices-\(number)") { while let device = queue.next() { queue.put(device.run()) } }
    }
    try drive(queue)
    queue.end()
    for worker in workers { worker.join() }
    for device in devices { device.finish() }
    // An origin writes what it counted every few seconds.
    Clock.sleep(for: .seconds(15))
    let end = SampleEnd(
      sent: sent, rollouts: (before, try client.rollouts(of: channel).value),
      polls: (polls, try client.adoption(of: channel).value), rollout: rollout)
    let outcome = end.compared
    print(options.isJSON ? String(decoding: outcome.json.canonical, as: UTF8.self) : outcome.text)
    return outcome.isExplained
  }

  /// Opens pages when their time has come, and says now and then how far it is.
  private func drive(_ queue: SampleQueue) throws {
    let began = Clock.monotonicNanoseconds()
    let attack = options.attackers > 0 ? SampledAttack(self, http) : nil
    var hour = 0
    while true {
      let passed = Double(Clock.monotonicNanoseconds() - began) / 1_000_000
      let time = Int(passed / Double(options.hour) * 3_600)
      if time >= options.days * 86_400 { return }
      if time / 3_600 >= hour {
        if Int64(hour) * 3_600_000 >= options.attackFrom { try attack?.report() }
        if Int64(hour) * 3_600_000 % options.every == 0 { try show(hour) }
        hour = time / 3_600 + 1
      }
      queue.due(at: time)
      Clock.sleep(for: .milliseconds(20))
    }
  }

  private func show(_ hour: Int) throws {
    let list = try client.rollouts(of: channel).value
    var versions: [String: Int] = [:]
    for device in devices { versions[device.version, default: 0] += 1 }
    let held = versions.sorted { $0.key < $1.key }.map { "\($0.value) on \($0.key)" }.joined(separator: ", ")
    let arms = RolloutArm.allCases.map { arm in
      let sums = sent.sums(arm)
      return "\(arm) \(sums.opened) opened \(sums.failed) failed"
    }
    let state = list.open.map { "\(ShareText.percent($0.share))\($0.paused ? ", paused" : "")" } ?? "ended"
    say(
      "\(FleetTable.time(hour * 60))  \(state); sent: \(arms.joined(separator: ", ")); the origin's e = "
        + "\(list.evidence.map { String($0.e) } ?? "–"); devices: \(held)")
  }

  private func say(_ text: String) { if !options.isJSON { print(text) } }
}

/// The devices that wait for their time, those whose time has come, and those that are at work.
final class SampleQueue: Sendable {
  private struct State {
    /// In descending order of their time: the next one is the last.
    var waiting: [SampledDevice]
    var due: [SampledDevice] = []
    var isOver = false
  }

  private let state: Monitor<State>

  init(_ devices: [SampledDevice]) {
    state = Monitor(State(waiting: devices.sorted { $0.time > $1.time }))
  }

  /// Returns a device whose time has come, and waits until there is one; nil when it is over.
  func next() -> SampledDevice? {
    state.waiting { state -> SampledDevice?? in
      if state.isOver { return .some(nil) }
      return state.due.isEmpty ? nil : .some(state.due.removeFirst())
    }
  }

  /// Puts a device back, which knows its next time.
  func put(_ device: SampledDevice) {
    state.withLock { state in
      var low = 0
      var high = state.waiting.count
      while low < high {
        let middle = (low + high) / 2
        if state.waiting[middle].time > device.time { low = middle + 1 } else { high = middle }
      }
      state.waiting.insert(device, at: low)
    }
  }

  func due(at time: Int) {
    state.broadcasting { state in
      while let next = state.waiting.last, next.time <= time { state.due.append(state.waiting.removeLast()) }
    }
  }

  func end() { state.broadcasting { $0.isOver = true } }
}
