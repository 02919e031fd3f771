import HTTPClient
import Manifests
import System
import Values
import XCacheDevice

/// A real device of the sample: its pages are opened by the simulated fleet's rules.
final class SampledDevice: Sendable {
  private struct State {
    var chance: Chance
    /// The next page, in seconds of virtual time.
    var time: Int
    /// The last version of which a page was opened.
    var tried = ""
    var failsNext = false
  }

  private let number: Int
  private let traits: FleetDevice
  private let mix: FleetMix
  private let options: FleetOptions
  private let device: Device
  private let state: Locked<State>

  init(
    _ number: Int, _ traits: FleetDevice, _ first: Int, _ mix: FleetMix, _ options: FleetOptions,
    _ http: HTTPClient, _ sent: FleetSent, folder: String
  ) throws {
    (self.number, self.traits, self.mix, self.options) = (number, traits, mix, options)
    var settings = DeviceSettings(
      folder: folder, server: options.origin ?? "", app: options.app, hosts: options.hosts,
      channel: options.channel)
    settings.appVersion = FleetMix.apps[Int(traits.app)].version
    let networks = Locked(Chance(seed: options.seed &+ UInt64(number) << 1))
    let transport = FleetTransport(http, sent) { networks.withLock { mix.network(of: traits, &$0) } }
    // The folder has an install id of its own before it gets this one.
    try Device(settings, transport: transport).close()
    try DurableFile.write(RolloutState(id: mix.id(number)).saved, to: "\(folder)/rollout.json")
    device = try Device(settings, transport: transport)
    state = Locked(State(chance: Chance(seed: options.seed ^ UInt64(number) << 20), time: first))
  }

  /// When it opens its next page.
  var time: Int { state.withLock { $0.time } }

  /// The version that it holds.
  var version: String { device.version }

  /// Opens a page, polls, takes what is offered, and reports.
  func run() -> SampledDevice {
    let isCutOff = mix.isCutOff(number, at: time)
    device.conditions.network = isCutOff ? .offline : .unmetered
    if device.version != "0" { page() }
    // A poll that fails is counted by the transport; the next page's comes soon.
    if !isCutOff {
      _ = try? device.update(force: true)
      device.tellEvidence()
    }
    state.withLock { state in
      state.time =
        state.chance.happens(FleetRun.followed)
        ? state.time + 60 + state.chance.below(540)
        : mix.nextOpening(after: state.time, traits, &state.chance)
    }
    return self
  }

  private func page() {
    let (version, now, isCandidate) = (device.version, Clock.unixMilliseconds(), device.holdsCandidate)
    let rate = (isCandidate ? options.fails : options.base) * FleetMix.models[Int(traits.model)].factor
    let isFirst = device.awaitsOpening(from: version)
    let hasFailed = state.withLock { state in
      let fails = state.failsNext
      state.failsNext = false
      guard isFirst || (isCandidate && state.tried != version) else { return fails }
      state.tried = version
      guard state.chance.happens(rate) else { return false }
      state.failsNext = state.chance.happens(FleetRun.late)
      return !state.failsNext
    }
    device.recordOpening(at: now, from: version, hasFailed: false)
    if hasFailed { device.recordPageFailure(at: now, from: version) }
  }

  /// Waits for what is being sent.
  func finish() {
    device.finishReports(milliseconds: 10_000)
    device.close()
  }
}

/// Somebody whose reports aren't true, at a real origin.
final class SampledAttack {
  private let attack: FleetAttack
  private let transports: [FleetTransport]
  private let url: String
  private let version: ManifestVersion?

  /// How many reports of each kind come from a network in a virtual hour.
  private static let perHour = 10

  init(_ sample: FleetSample, _ http: HTTPClient) {
    let (options, mix) = (sample.options, sample.mix)
    attack = FleetAttack(aim: options.aim, networks: options.attackers)
    transports = (0..<options.attackers).map { attacker in
      FleetTransport(http, sample.sent) { mix.network(ofAttacker: attacker) }
    }
    url = "\(options.origin ?? "")/report?app=\(options.app)&channel=\(options.channel)"
    version = try? sample.client.rollouts(of: sample.channel).value.open?.version
  }

  /// Sends a virtual hour's reports; none once the rollout has ended.
  func report() throws {
    guard let version else { return }
    let (failing, opening) = attack.arms
    for transport in transports {
      for _ in 0..<Self.perHour {
        transport.tell(Self.body(version, failing, opened: 0, failed: 1), to: url)
        transport.tell(Self.body(version, opening, opened: 1, failed: 0), to: url)
      }
    }
  }

  private static func body(_ version: ManifestVersion, _ arm: RolloutArm, opened: Int, failed: Int) -> [UInt8]
  {
    let document: JSONValue = [
      "evidence": [
        "arm": .string(arm.rawValue), "failed": .integer(failed), "opened": .integer(opened),
        "version": .string(version.text),
      ]
    ]
    return document.canonical
  }
}
