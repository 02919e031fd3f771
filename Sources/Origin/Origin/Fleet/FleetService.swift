import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Answers what a console polls every few seconds: all channels and their problems. It is computed once for all requests
/// within a second, unless an act comes in between.
final class FleetService: Sendable {
  private let store: Store
  private let adoption: AdoptionService
  private let backlog: DeltaBacklog
  private let staged: StagedReleases
  /// Nil if no shared cache takes polls.
  let edge: EdgeService?
  private let cached = Locked<CachedState?>(nil)
  /// Nil until the first look at what was kept.
  private let register = Locked<ProblemRegister?>(nil)
  private let trends = Locked(FleetTrends())

  private struct CachedState {
    let state: FleetState
    /// In monotonic nanoseconds.
    let at: UInt64
    /// The newest row of the audit trail at that time.
    let row: Int64
    /// The answers to tokens, by their limits.
    var answers: [Limits: [UInt8]] = [:]
  }

  private struct Limits: Hashable {
    let grants: Set<Grant>
    let isUnlimited: Bool
  }

  /// Nanoseconds.
  private static let lifetime: UInt64 = 1_000_000_000

  init(
    store: Store, adoption: AdoptionService, backlog: DeltaBacklog, staged: StagedReleases, edge: EdgeService?
  ) {
    self.store = store
    self.adoption = adoption
    self.backlog = backlog
    self.staged = staged
    self.edge = edge
  }

  /// Returns the overview of what a token may read.
  func overview(for caller: AccessToken) throws(StoreError) -> Response {
    let limits = Limits(grants: Set(caller.grants), isUnlimited: caller.isUnlimited)
    let body = try cached.withLock { (cached) throws(StoreError) -> [UInt8] in
      let (now, row) = (Clock.monotonicNanoseconds(), try store.auditHead().row)
      var current: CachedState
      if let known = cached, now - known.at < Self.lifetime, known.row == row {
        current = known
      } else {
        current = CachedState(state: try state(), at: now, row: row)
      }
      if let body = current.answers[limits] { return body }
      let overview = current.state.overview(
        disk: caller.isUnlimited, where: { caller.allows(.read, app: $0, channel: $1) })
      let body = JSONValue(encoding: overview).canonical
      current.answers[limits] = body
      cached = current
      return body
    }
    return Response.json(rendered: body)
  }

  /// Looks for problems that began or ended, so that their times are right although nobody asks.
  func watch() throws(StoreError) { _ = try state() }

  /// Says of problems that they are known, if they are there now.
  /// - Parameter act: writes it.
  func acknowledging<Result>(_ act: () throws -> Result) throws -> Result {
    // What is there now is kept first, since the act looks there for it.
    _ = try state(waits: true)
    let result = try act()
    // Read in turn: what was read before another act must not replace what was read after it.
    try register.withLock { (register) throws(StoreError) in register?.acknowledge(try store.problems()) }
    cached.withLock { $0 = nil }
    return result
  }

  /// - Parameter waits: whether what changed of problems is kept at once, even if a release commits.
  private func state(waits: Bool = false) throws(StoreError) -> FleetState {
    // Not read from the database: its last hour spans up to two, and it lacks what came since the last flush.
    let minutes = FleetState.minutes(isSampled: adoption.isBehindCache)
    let recent = adoption.recentPolls(minutes: minutes)
    let damaged = try store.damagedBlobs()
    var progress: [Int64: Int] = [:]
    let health = try store.channelHealth()
    for channel in health {
      progress[channel.channel.id] = backlog.progress(of: channel.channel.id)?.pending
    }
    var state = FleetState(
      origin: try store.originID(), health: health, recent: recent,
      damaged: try store.damagedURLs(of: damaged),
      mirrors: try store.mirrors(), progress: progress, staged: staged.all, disk: try store.diskUse(),
      scrubbed: try store.scrubState().oldest, webhooks: try store.webhooks(),
      edge: edge.map { ($0.bound, $0.states) }, now: store.now, minutes: minutes)
    state.trends = try trends.withLock { (trends) throws(StoreError) in
      try trends.trends(of: health.map(\.channel), store)
    }
    state.prepare()
    state.standings = try standings(of: state.found, at: state.now, waits: waits)
    return state
  }

  private func standings(of found: [FoundProblem], at now: Int64, waits: Bool) throws(StoreError)
    -> [ProblemName: ProblemRecord]
  {
    try register.withLock { (register) throws(StoreError) in
      var current = if let register { register } else { ProblemRegister(try store.problems()) }
      current.update(found, now: now)
      let changes = current.changes
      if !changes.isEmpty {
        do throws(StoreError) {
          if try store.keep(problems: changes.problems, over: changes.over, waits: waits) {
            current.noteKept()
          }
        } catch .diskFull {
          // That the disk is full is the problem to show; what isn't kept now is kept later.
        }
      }
      register = current
      return current.records
    }
  }
}
