import Manifests
import Origin
import Store
import System
import Values
import XCacheDevice

/// The origin of a simulated fleet: a real store with a clock of its own, real buffers of reports, and the store's own decisions.
///
/// What isn't an origin's code here is `look`, which does with a decision what `RolloutWatch` does, without its threads, log and webhooks.
final class FleetOrigin {
  /// What became of the rollout.
  enum State: String {
    case open, paused, completed, halted
  }

  /// The versions: each is the place of its number, from 1 on.
  static let full: UInt8 = 4
  static let candidate: UInt8 = 5
  static let halted: UInt8 = 6

  private let folder: ScratchFolder
  private let store: Store
  private let clock = Locked(FleetMix.start)
  private let app: AppName
  private let seed: String
  private var buffer = EvidenceBuffer()
  private var channel: ChannelInfo
  /// The order in which networks first reported, so that equal runs write equal rows.
  private var order: [NetworkPrefix: Int] = [:]
  private var hasNews = false
  /// The day of the last rows that were written, and how many these were on it: a look reads them all.
  private var day: Int64 = 0
  private var written = 0
  private var nextLook: Int64 = 0

  /// The rules of answers, by their number; 0 is none.
  private(set) var rules: [RolloutRule?] = [nil]
  private(set) var state = State.open
  private(set) var standing: RolloutStanding?
  /// The version of devices that aren't in.
  private(set) var fullVersion = FleetOrigin.full
  private(set) var looks = 0

  /// The number of the rule of answers.
  var rule: Int { rules.count - 1 }
  /// The share of the devices that it lets in, of 10,000.
  var share: Int { standing?.rollout.audience.share ?? 0 }

  /// - Parameter seed: what devices make their buckets from. A store draws its own, which would make each run another one.
  init(_ options: FleetOptions, seed: String) throws {
    self.seed = seed
    folder = try ScratchFolder("xcache-fleet")
    var open = Store.Options()
    open.keepsReserve = false
    open.clock = { [clock] in clock.withLock { $0 } }
    store = try Store(path: folder.path + "/data", options: open)
    app = try AppName("shop")
    for version in 1...Int(Self.full) { try Self.publish(store, app, version, base: version - 1) }
    var audience = RolloutAudience(share: options.steps[0])
    if let ramp = Ramp(steps: options.steps, each: options.each, atLeast: options.atLeast) {
      audience.course = RolloutCourse(
        haltsItself: options.haltsItself, ramp: RolloutRamp(ramp, completes: options.completes))
    }
    try Self.publish(store, app, Int(Self.candidate), base: Int(Self.full), audience)
    channel = try store.channel(app, .online)
    try update()
  }

  static func publish(
    _ store: Store, _ app: AppName, _ version: Int, base: Int, _ audience: RolloutAudience? = nil
  ) throws {
    let bytes = Array("version \(version)".utf8)
    guard let type = ContentType("text/plain") else { fatalError("text/plain is no type") }
    _ = try store.receive(
      bytes.span.bytes, BlobClaim(sha256: .of(bytes), md5: .of(bytes), size: Int64(bytes.count)))
    let content = ResourceContent(
      md5: .of(bytes), sha256: .of(bytes), size: Int64(bytes.count), ctype: type)
    let change = BundleChange(
      try BundleName("main"),
      .update(
        base: ManifestVersion(Int64(base)),
        set: [try ResourceURL("https://m.example.com/index.html"): content],
        remove: []))
    var input = ReleaseInput(
      app: app, channel: .online, author: "fleet", bundles: [change],
      publicURLForNew: try BaseURL("https://cdn.example.com"))
    input.rollout = audience
    _ = try store.commit(input)
  }

  /// Reads what a device sends, and counts it as an origin does.
  func receive(_ body: [UInt8], from network: FleetNetwork, at now: Int64) throws {
    guard let json = try JSONValue.parse(body)["evidence"] else { fatalError("a report without evidence") }
    let report = try EvidenceReport(json: json)
    count(
      report.arm, opened: report.opened, failed: report.failed, network, hour: now / 3_600_000 - report.age)
  }

  /// Counts many reports at once.
  func count(_ arm: RolloutArm, opened: Int64, failed: Int64, _ network: FleetNetwork, hour: Int64) {
    guard let rollout = channel.rollout else { return }
    let prefix = NetworkPrefix(network.address)
    if order[prefix] == nil { order[prefix] = order.count }
    let key = EvidenceBuffer.Key(
      channel: channel.id, seed: rollout.seed, hour: hour, arm: arm, network: prefix)
    buffer.add(opened: opened, failed: failed, key)
  }

  /// Writes what was reported, and does what follows, as far as it is time to look: the more rows there are, the longer a look takes.
  /// - Returns: whether anything was done.
  func look(at now: Int64) throws -> Bool {
    clock.withLock { $0 = now }
    let counts = buffer.take().sorted { place($0) < place($1) }
    if !counts.isEmpty {
      try store.count(counts)
      hasNews = true
      written = counts.count + (day == now / 86_400_000 ? written : 0)
      day = now / 86_400_000
    }
    while try store.closeEvidence() {}
    guard channel.rollout != nil, now >= nextLook, hasNews || standing.map(isDue(now)) ?? true else {
      return false
    }
    hasNews = false
    looks += 1
    guard let standing = try store.standing(of: channel) else { return false }
    self.standing = standing
    nextLook = now + 60_000 * min(30, Int64(written / 20_000))
    let highest = EValue(standing.evidence.hours).log
    if highest > standing.plan.highest { try store.note(highest: highest, of: standing.rollout, in: channel) }
    return try act(standing, now)
  }

  private func place(_ count: EvidenceCount) -> (Int64, Int, Int) {
    let network = count.network.flatMap { order[$0] } ?? .max
    return (count.hour, count.arm == .candidate ? 0 : 1, network)
  }

  private func isDue(_ now: Int64) -> (RolloutStanding) -> Bool {
    { if case .wait = $0.decision(now: now) { false } else { true } }
  }

  private func act(_ standing: RolloutStanding, _ now: Int64) throws -> Bool {
    switch standing.decision(now: now) {
    case .wait: return false
    case .pause: try pause(standing)
    case .halt:
      // First nobody new is let in, as a halt may be refused.
      if !standing.rollout.isPaused { try pause(standing) }
      _ = try store.haltRollout(
        app, .online, standing.rollout.candidate, by: Actor(name: "xcache", address: ""),
        reason: standing.alarmText)
      (state, fullVersion) = (.halted, Self.halted)
    case .advance(let share):
      _ = try store.changeRollout(input(.audience(share: share, groups: nil, app: nil), standing))
    case .complete:
      _ = try store.changeRollout(input(.complete, standing))
      (state, fullVersion) = (.completed, Self.candidate)
    }
    try update()
    return true
  }

  private func pause(_ standing: RolloutStanding) throws {
    var input = input(.pause, standing)
    input.alarm = standing.alarm
    _ = try store.changeRollout(input)
  }

  private func input(_ change: RolloutInput.Change, _ standing: RolloutStanding) -> RolloutInput {
    var input = RolloutInput(
      app: app, channel: .online, change, by: Actor(name: "xcache", address: ""))
    (input.candidate, input.ifIs) = (standing.rollout.candidate, (standing.rollout, standing.plan))
    return input
  }

  /// Makes the rule of answers anew, and reads it as a device does.
  private func update() throws {
    channel = try store.channel(app, .online)
    guard let rollout = channel.rollout else { return rules.append(nil) }
    if rollout.isPaused { state = .paused }
    standing = try store.standing(of: channel)
    guard let rule = rollout.rule, case .object(var members) = rule.json else { return rules.append(nil) }
    members["seed"] = .string(seed)
    rules.append(try RolloutRule(reading: try JSONValue.parse(JSONValue.object(members).canonical)))
  }
}
