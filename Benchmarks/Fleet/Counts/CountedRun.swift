import Manifests
import Origin
import Store
import System

/// What an origin behind a shared cache believes of a fleet, beside the truth: a real store with a clock of its own, the origin's own
/// way from batches to polls, a gc every night.
struct CountedRun {
  private let folder: ScratchFolder
  private let store: Store
  private let clock = Locked(FleetMix.start)
  private let app: AppName
  private let channel: ChannelInfo
  private let extras: AnswerExtras
  private let policy: RetentionPolicy
  private let days: Int
  private let size: Int
  private var fleet: CountedFleet
  private var sampled = SampledPolls()
  private var newest = 1
  private var dropped: Set<Int> = []

  // What came of it
  private var worst = 0.0
  private var isOff = false
  /// How many shares were compared, and how many of them were further off than the margin.
  private var compared = 0
  private var outside = 0
  /// The largest part of the devices that held a version when gc dropped it.
  private var largest = 0.0

  /// The part of the devices whose version gc must not drop.
  private static let used = 0.005
  /// How far a share may be from the truth, in points; where the sample is small, twice what is said of it in 95 of 100 cases.
  private static let limit = 2.0

  static let head = "day  newest  kept      polls     counted  batches  margin  worst  of     dropped"

  /// - Parameters:
  ///   - devices: how many there are.
  ///   - reports: of 10,000 batches, those that they send.
  ///   - days: how long it goes on.
  ///   - seed: all that is left to chance.
  init(devices: Int, reports: Int, days: Int, seed: UInt64) throws {
    folder = try ScratchFolder("xcache-counts")
    var open = Store.Options()
    open.keepsReserve = false
    open.clock = { [clock] in clock.withLock { $0 } }
    store = try Store(path: folder.path + "/data", options: open)
    app = try AppName("shop")
    extras = AnswerExtras(reports: reports)
    var policy = RetentionPolicy()
    // So few that gc has something to drop within the run.
    (policy.versions, policy.days) = (3, 10)
    self.policy = policy
    (self.days, size) = (days, devices)
    fleet = CountedFleet(devices, share: Double(reports) / Double(AnswerExtras.allReports), seed: seed)
    try FleetOrigin.publish(store, app, 1, base: 0)
    channel = try store.channel(app, .online)
  }

  /// Whether all that was asked of it holds.
  var isRight: Bool { !isOff && largest < Self.used }

  /// Runs it, and passes the line of each day on.
  mutating func run(_ show: (String) -> Void) throws {
    for day in 0..<days {
      var gone: [Int] = []
      for quarter in 0..<4 {
        let time = Double(day) + Double(quarter) / 4
        if time >= Double(newest) * CountedFleet.pause {
          newest += 1
          try FleetOrigin.publish(store, app, newest, base: newest - 1)
        }
        try count(fleet.pass(time, newest: newest), day, quarter)
        if quarter == 0 { gone = try collect() }
      }
      show(try line(day, gone))
    }
  }

  var summary: String {
    let words = isRight ? "right" : "WRONG"
    return
      "\(words): a share was \(Self.decimal(worst)) points off at most, \(outside) of \(compared) were further off than the margin; "
      + "of the devices, \(Self.decimal(largest * 100)) % held a version that gc dropped, at most"
  }

  /// Counts a quarter's batches as they come, hour by hour.
  private mutating func count(_ batches: [CountedFleet.Batch], _ day: Int, _ quarter: Int) throws {
    for hour in 0..<6 {
      let now = FleetMix.start + Int64(day * 24 + quarter * 6 + hour) * 3_600_000
      clock.withLock { $0 = now }
      for index in stride(from: hour, to: batches.count, by: 6) {
        let batch = batches[index]
        var counts = DeviceCounts()
        counts.add(.polls, Int64(batch.polls ?? 0))
        if batch.hasEvents { counts.add(.local) }
        sampled.add(
          DeviceBatch(
            version: ManifestVersion(Int64(batch.version)), counts: counts, countsPolls: batch.polls != nil),
          of: channel.id, extras, now: UInt64(now - FleetMix.start) * 1_000_000)
      }
      try store.count(sampled.take())
    }
  }

  private mutating func collect() throws -> [Int] {
    while try store.rollUpCounts() {}
    let gone = try store.collect(policy).channels[0].dropped.map { Int($0.number) }
    for version in gone { largest = max(largest, Double(fleet.holders[version]) / Double(size)) }
    dropped.formUnion(gone)
    return gone
  }

  /// Compares a day's shares with the truth.
  private mutating func line(_ day: Int, _ gone: [Int]) throws -> String {
    let adoption = try store.adoption(of: channel, hours: 24)
    let polls = fleet.takePolls()
    let all = polls.reduce(0, +)
    let margin = Double(adoption.sample.margin(of: adoption.polls) ?? AnswerExtras.allReports) / 100
    var (off, place) = (0.0, "")
    func compare(_ found: Int, _ real: Int, _ name: String) {
      let shares = (Double(found) / Double(max(1, adoption.polls)), Double(real) / Double(max(1, all)))
      let difference = abs(shares.0 - shares.1) * 100
      if difference > off { (off, place) = (difference, name) }
      compared += 1
      outside += difference > margin ? 1 : 0
    }
    // Polls of dropped versions count together. A version that was dropped today counted for a part of the day, so it isn't compared.
    var (rest, counted) = (0, adoption.shares.first { $0.version == PollCount.other }?.polls ?? 0)
    for version in 1...newest where !gone.contains(version) {
      let found = adoption.shares.first { $0.version == version }?.polls ?? 0
      if dropped.contains(version) {
        rest += polls[version]
        counted += found
      } else {
        compare(found, polls[version], "\(version)")
      }
    }
    if gone.isEmpty { compare(counted, rest, "others") }
    worst = max(worst, off)
    if off > max(Self.limit, margin * 2) { isOff = true }
    let columns: [(String, Int)] = [
      ("\(day + 1)", 3), ("\(newest)", 8), ("\(newest - dropped.count)", 6), ("\(all)", 11),
      ("\(adoption.polls)", 12), ("\(adoption.sample.batches)", 9), (Self.decimal(margin), 8),
      (Self.decimal(off), 7), ("  \(place)", -9), (gone.map { "\($0)" }.joined(separator: " "), -7),
    ]
    return columns.map { FleetTable.pad($0.0, $0.1) }.joined()
  }

  private static func decimal(_ value: Double) -> String {
    let parts = Int((value * 100).rounded())
    return "\(parts / 100).\(parts % 100 < 10 ? "0" : "")\(parts % 100)"
  }
}
