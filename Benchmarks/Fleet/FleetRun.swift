import Manifests
import System

/// A fleet in virtual time, from one minute to the next.
struct FleetRun {
  let options: FleetOptions
  let mix: FleetMix
  /// What buckets are made from.
  let seed: String
  let origin: FleetOrigin
  let attack: FleetAttack?
  var devices: [FleetDevice]
  var chance: Chance
  var counts = FleetCounts()
  /// The first device of each minute, plus 1.
  private var minutes: [UInt32]
  /// What apps say of themselves: the code of devices takes it as an app gives it.
  let apps = FleetDevice.apps
  /// The minute in which the rollout was first paused, halted or completed, and those in which it was paused and halted.
  private(set) var stopped: Int?
  private(set) var paused: FleetMoment?
  private(set) var halted: FleetMoment?
  private(set) var completed: FleetMoment?
  private(set) var rows: [FleetRow] = []
  private(set) var advances: [FleetMoment] = []
  /// The most bytes of memory that were seen in use.
  private(set) var memory = 0

  init(_ options: FleetOptions) throws {
    self.options = options
    mix = FleetMix(seed: options.seed, offline: options.offline, networks: options.networks)
    seed = "fleet-\(options.seed)"
    origin = try FleetOrigin(options, seed: seed)
    attack =
      options.attackers > 0 ? FleetAttack(aim: options.aim, networks: options.attackers) : nil
    chance = Chance(seed: options.seed)
    minutes = Array(repeating: 0, count: options.days * 1_440)
    devices = []
    devices.reserveCapacity(options.devices)
    for device in 0..<options.devices {
      // Most have the newest version, some an older one, and a few have none yet.
      let past = chance.unit()
      let held = past < 0.01 ? 0 : past < 0.12 ? UInt8(1 + chance.below(3)) : FleetOrigin.full
      devices.append(FleetDevice(chance.below(options.networks), held: held, &chance))
      counts.held[Int(held)] += 1
      schedule(device, at: mix.nextOpening(after: 0, devices[device], &chance))
    }
  }

  /// Puts a device's next page into its minute; what comes after the end is left out.
  mutating func schedule(_ device: Int, at time: Int) {
    let minute = time / 60
    guard minute < minutes.count else { return }
    devices[device].at = UInt32(time)
    devices[device].next = minutes[minute]
    minutes[minute] = UInt32(device + 1)
  }

  /// Runs it, and passes each row on as it is made.
  mutating func run(_ show: (FleetRow) -> Void) throws {
    let every = Int(options.every / 60_000)
    for minute in minutes.indices {
      let now = FleetMix.start + Int64(minute) * 60_000
      if minute % 60 == 0, now - FleetMix.start >= options.attackFrom {
        attack?.report(to: origin, mix, hour: now / 3_600_000)
      }
      // A page may be followed by another one in the same minute.
      while minutes[minute] > 0 {
        let device = Int(minutes[minute]) - 1
        minutes[minute] = devices[device].next
        try open(device)
      }
      let share = origin.share
      if try origin.look(at: now + 59_999) { note(minute, from: share) }
      let isLast = minute + 1 == minutes.count || isSettled(minute)
      if (minute + 1) % every == 0 || isLast {
        rows.append(row(minute + 1))
        memory = max(memory, ProcessMemory.resident ?? 0)
        show(rows[rows.count - 1])
      }
      if isLast { return }
    }
  }

  private func isSettled(_ minute: Int) -> Bool {
    stopped.map { Int64(minute - $0) * 60_000 >= options.settle } ?? false
  }

  private mutating func note(_ minute: Int, from share: Int) {
    let moment = FleetMoment(
      minute: minute + 1, share: share, opened: counts.openedCandidate, e: e, hit: counts.hit,
      took: counts.took)
    switch origin.state {
    case .open: advances.append(moment)
    case .paused: paused = paused ?? moment
    case .halted: halted = moment
    case .completed: completed = moment
    }
    if origin.state == .open { return }
    // A halt after a pause is what the run waits for anew.
    if stopped == nil || origin.state == .halted { stopped = minute }
  }

  private var e: Double { origin.standing.map { EValue($0.evidence.hours).log } ?? 0 }

  private func row(_ minute: Int) -> FleetRow {
    FleetRow(
      minute: minute, share: origin.share, state: origin.state.rawValue,
      candidate: origin.standing?.evidence.sums(.candidate) ?? .none,
      control: origin.standing?.evidence.sums(.control) ?? .none, e: e, counts: counts)
  }
}

/// What is known of a simulated fleet beyond what its origin knows.
struct FleetCounts {
  /// How many devices hold each version.
  var held = Array(repeating: 0, count: Int(FleetOrigin.halted) + 1)
  var pages = 0
  var polls = 0
  var reports = 0
  /// Devices of each arm that opened and failed, whatever counts of them.
  var openedCandidate = 0
  var openedControl = 0
  var failedCandidate = 0
  var failedControl = 0
  /// Devices that took the candidate, that it failed on, and that went back by themselves.
  var took = 0
  var hit = 0
  var returned = 0
}

/// A moment at which something was done about the rollout.
struct FleetMoment {
  /// From the start.
  let minute: Int
  /// The share until then.
  let share: Int
  /// How many devices had opened a page of the candidate.
  let opened: Int
  /// The logarithm of the e-value.
  let e: Double
  /// How many devices it had failed on, and how many had taken it.
  let hit: Int
  let took: Int
}

/// A line of the table.
struct FleetRow {
  let minute: Int
  let share: Int
  let state: String
  /// What the origin counts.
  let candidate: CountedSums
  let control: CountedSums
  /// The logarithm of the e-value.
  let e: Double
  let counts: FleetCounts
}
