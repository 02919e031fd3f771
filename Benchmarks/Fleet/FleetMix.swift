import Manifests
import System
import Values

/// What the devices of a fleet are like. All of it follows from a device's number and the seed.
struct FleetMix: Sendable {
  let seed: UInt64
  let offline: Double
  let networks: Int

  /// The first moment of a run: Monday, 2 March 2026, 00:00 UTC.
  static let start: Int64 = 1_772_409_600_000

  /// Where the devices are: hours from UTC, and how many of 100.
  static let zones: [(hours: Int, part: Int)] = [(8, 50), (9, 8), (1, 20), (0, 7), (-5, 15)]
  /// How often an app is opened in a day, and how many of 100 do so.
  static let habits: [(opens: Double, part: Int)] = [(0.15, 25), (0.6, 30), (2, 30), (5, 15)]
  /// How many times as often as the mean a model fails, and how many of 100 it is: 1 on average.
  static let models: [(factor: Double, part: Int)] = [(0.5, 40), (0.9, 30), (1.5, 20), (2.3, 10)]
  /// What apps say of themselves, and how many of 100 do so.
  static let apps: [(version: String, part: Int)] = [
    ("4.0.3", 5), ("4.1.0", 15), ("4.2.1", 60), ("5.0.0", 20),
  ]
  /// How many times as often as on average an app is opened in each hour of its place, from midnight on.
  static let rhythm: [Double] = [
    0.35, 0.18, 0.1, 0.08, 0.1, 0.25, 0.65, 1.1, 1.2, 1.05, 1, 1.1, 1.35, 1.15, 1, 1, 1.1, 1.3, 1.55, 1.75,
    1.95, 2,
    1.6, 1.09,
  ]
  private static let peak = 2.0
  /// The networks of carriers, the k-th with a traffic like 1/k, and their part of all traffic.
  static let carriers = 40
  static let carried = 0.4
  /// How long a device that has no network for long has none at least, in seconds.
  static let outage = 2 * 86_400

  /// What tells a device from others: 16 bytes that its seed makes, so that nothing has to keep them.
  func id(_ device: Int) -> InstallID {
    var chance = Chance(seed: mixed(device, 1))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(InstallID.byteCount)
    for _ in 0..<2 {
      let word = chance.next()
      for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * shift))) }
    }
    guard let id = InstallID(bytes: bytes) else { fatalError("an install id of another length") }
    return id
  }

  /// Whether a device has no network for days, at a time in seconds from the start. Devices are cut off from one multiple of `outage` to
  /// the next, each by an hour of its own.
  func isCutOff(_ device: Int, at time: Int) -> Bool {
    guard offline > 0 else { return false }
    var phase = Chance(seed: mixed(device, 2))
    let slot = (time + phase.below(Self.outage)) / Self.outage
    var chance = Chance(seed: mixed(device, 3 + UInt64(slot)))
    return chance.unit() < offline
  }

  /// When an app is opened after a time, in seconds: by a Poisson process with a daily rhythm, of which moments are drawn at its highest
  /// rate, and kept in proportion to that of their hour (Lewis and Shedler, 1979).
  func nextOpening(after time: Int, _ device: FleetDevice, _ chance: inout Chance) -> Int {
    let perSecond = Self.habits[Int(device.habit)].opens * Self.peak / 86_400
    let shift = Self.zones[Int(device.zone)].hours + 24
    var time = Double(time)
    while true {
      time += -RealMath.log(1 - chance.unit()) / perSecond
      guard time < Double(Int32.max) else { return Int(Int32.max) }
      let hour = (Int(time) / 3_600 + shift) % 24
      if chance.unit() * Self.peak < Self.rhythm[hour] { return Int(time) }
    }
  }

  /// The network that a device reports from: that of its home, or a carrier's.
  func network(of device: FleetDevice, _ chance: inout Chance) -> FleetNetwork {
    guard chance.unit() < Self.carried else { return FleetNetwork(number: Int(device.network)) }
    // 1/k: the inverse of a logarithm is near enough.
    let place = Int(RealMath.exp(chance.unit() * RealMath.log(Double(Self.carriers) + 1))) - 1
    return FleetNetwork(number: networks + min(place, Self.carriers - 1))
  }

  /// A network of somebody who sends reports that aren't true.
  func network(ofAttacker attacker: Int) -> FleetNetwork {
    FleetNetwork(number: networks + Self.carriers + attacker)
  }

  private func mixed(_ device: Int, _ purpose: UInt64) -> UInt64 {
    var chance = Chance(seed: seed &+ UInt64(device) &* 0xD134_2543_DE82_EF95 &+ purpose << 56)
    return chance.next()
  }

  static let zoneParts = zones.map(\.part)
  static let habitParts = habits.map(\.part)
  static let modelParts = models.map(\.part)
  static let appParts = apps.map(\.part)

  /// Draws a place, with parts of 100.
  static func draw(_ parts: [Int], _ chance: inout Chance) -> UInt8 {
    var left = chance.below(100)
    for (place, part) in parts.enumerated() {
      if left < part { return UInt8(place) }
      left -= part
    }
    return 0
  }
}

/// A /24 network, from 11.0.0.0 on.
struct FleetNetwork: Hashable, Sendable {
  let number: Int

  var address: IPAddress { IPAddress(v4: UInt32(0x0B00_0000 + number << 8 + 1)) }
}
