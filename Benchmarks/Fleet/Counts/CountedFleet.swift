import System

/// Devices that poll a shared cache and report batches of counts, in quarters of a day.
///
/// What makes counting hard is in it: a few devices poll most of the time; some poll all day and hardly ever do anything else; a tenth
/// is of 0.2.0, counts no polls, and is behind or doesn't get any further; versions differ in who has them.
struct CountedFleet {
  /// A batch that a device sends.
  struct Batch {
    let version: UInt8
    /// Nil from a device that doesn't count them.
    let polls: UInt8?
    let hasEvents: Bool
  }

  private struct Device {
    /// The mean of the batches in a quarter of a day, and e to the power of minus that.
    let mean: Float
    let quiet: Float
    /// How many days after a release it takes it.
    let lag: Float
    /// The newest version that it takes.
    let last: UInt8
    /// Of 256 batches, those with something besides polls.
    let events: UInt8
    let isOld: Bool
  }

  /// How many days there are from one release to the next.
  static let pause = 3.0
  /// Polls of a device's batches, one after the other: none where the app was used between two polls.
  private static let polls: [UInt8] = [0, 2, 4, 4]

  private let devices: [Device]
  private let share: Double
  private var chance: Chance
  /// How many batches come before the next one that is sent.
  private var skipped = 0
  /// All polls since they were taken, and devices now, by version.
  private(set) var polls = [Int](repeating: 0, count: 256)
  private(set) var holders = [Int](repeating: 0, count: 256)

  /// - Parameters:
  ///   - count: how many devices.
  ///   - share: the part of their batches that they send.
  ///   - seed: all that is left to chance.
  init(_ count: Int, share: Double, seed: UInt64) {
    self.share = share
    var chance = Chance(seed: seed)
    devices = (0..<count).map { _ in Self.device(&chance) }
    self.chance = chance
    skipped = skip()
  }

  private static func device(_ chance: inout Chance) -> Device {
    let isOld = chance.happens(0.1)
    // In 100 devices one shows pages all day and polls; the others are used about twice a day, some of them very much.
    let isKiosk = chance.happens(0.01)
    let mean = isKiosk ? 75 : min(75, RealMath.exp(normal(&chance) * 1.2) * 0.75)
    let lag = -RealMath.log(1 - chance.unit()) * (isOld ? 3 : 0.5)
    return Device(
      mean: Float(mean), quiet: Float(RealMath.exp(-mean)), lag: Float(lag), last: last(isOld, &chance),
      events: isKiosk ? 5 : chance.happens(0.3) ? 64 : 205, isOld: isOld)
  }

  /// Three of ten devices of 0.2.0 stay at an old version; of the others, one of a hundred, and every 180th at version 3.
  private static func last(_ isOld: Bool, _ chance: inout Chance) -> UInt8 {
    let place = chance.unit()
    if isOld { return place < 0.2 ? 2 : place < 0.3 ? 5 : .max }
    return place < 0.006 ? 3 : place < 0.016 ? 7 : .max
  }

  /// Passes a quarter of a day, and returns the batches that are sent in it.
  /// - Parameters:
  ///   - time: in days, from the release of version 1.
  ///   - newest: the newest version.
  mutating func pass(_ time: Double, newest: Int) -> [Batch] {
    var sent: [Batch] = []
    for version in holders.indices { holders[version] = 0 }
    for (number, device) in devices.enumerated() {
      let taken = Int(max(0, (time - Double(device.lag)) / Self.pause)) + 1
      let version = min(taken, newest, Int(device.last))
      holders[version] += 1
      let batches = draw(device)
      let first = number & 3
      var sum = batches / 4 * 10
      for place in 0..<(batches & 3) { sum += Int(Self.polls[(first + place) & 3]) }
      polls[version] += sum
      while skipped < batches {
        if let batch = batch(device, UInt8(version), polls: Self.polls[(first + skipped) & 3]) {
          sent.append(batch)
        }
        skipped += 1 + skip()
      }
      skipped -= batches
    }
    return sent
  }

  /// Returns the polls of each version since the last call.
  mutating func takePolls() -> [Int] {
    defer { polls = [Int](repeating: 0, count: 256) }
    return polls
  }

  private mutating func batch(_ device: Device, _ version: UInt8, polls: UInt8) -> Batch? {
    let hasEvents = chance.below(256) < device.events
    // A device makes no batch if nothing happened, and one of 0.2.0 none for polls.
    guard hasEvents || !device.isOld && polls > 0 else { return nil }
    return Batch(version: version, polls: device.isOld ? nil : polls, hasEvents: hasEvents)
  }

  /// How many batches aren't sent before one is.
  private mutating func skip() -> Int {
    if share >= 1 { return 0 }
    return Int(RealMath.log(1 - chance.unit()) / RealMath.log1p(-share))
  }

  /// The number of a device's batches in a quarter of a day.
  private mutating func draw(_ device: Device) -> Int {
    if device.mean > 12 {
      return max(0, Int(Double(device.mean) + Double(device.mean).squareRoot() * Self.normal(&chance) + 0.5))
    }
    var (count, product) = (0, chance.unit())
    while product > Double(device.quiet) {
      count += 1
      product *= chance.unit()
    }
    return count
  }

  /// Nearly a normal distribution: the sum of twelve numbers from 0 to 1, less their mean.
  private static func normal(_ chance: inout Chance) -> Double {
    (0..<12).reduce(-6.0) { sum, _ in sum + chance.unit() }
  }
}
