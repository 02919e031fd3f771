import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// Carries out scheduled acts when they are due, as requests to the API with the token that scheduled them.
///
/// The end of an act's row is written in the act's own transaction (`ScheduledRun`), so that it is carried out once, whatever ends the
/// process.
final class ScheduleService: Sendable {
  private let api: APIEndpoint
  private let log: @Sendable (String) -> Void
  private let state = Locked(State())

  private struct State {
    /// Each has a thread.
    var lanes = ScheduleLanes()
    /// Acts that couldn't be carried out yet, by when they are tried again, in monotonic nanoseconds.
    var postponed: [Int64: UInt64] = [:]
    /// When steps of ended rollouts are looked for again, in monotonic nanoseconds.
    var nextLook: UInt64 = 0
    /// Acts that are staged until their files can be pushed, by the number of the staged release.
    var staged: [Int64: Int] = [:]
  }

  private let secondsBetweenAttempts: Double

  init(api: APIEndpoint, secondsBetweenAttempts: Double = 30, log: @escaping @Sendable (String) -> Void) {
    self.api = api
    self.secondsBetweenAttempts = secondsBetweenAttempts
    self.log = log
  }

  /// Begins to carry out what is due; called every second. On threads of its own: an act may wait for deltas, or for the place that
  /// files are pushed to.
  func runIfDue() {
    let due: [ScheduleLane]
    do {
      if isTimeToLook { try endLostSteps() }
      due = try api.store.dueLanes(without: postponed)
    } catch {
      log("error: scheduled acts can't be read: \(error)")
      return
    }
    for lane in state.withLock({ $0.lanes.begin(due) }) {
      do {
        _ = try OSThread(name: "schedule") { [self] in
          run(lane)
          state.withLock { $0.lanes.end(lane) }
        }
      } catch {
        state.withLock { $0.lanes.end(lane) }
        log("error: a thread for scheduled acts can't be started: \(error)")
      }
    }
  }

  /// Carries out what is due.
  /// - Parameter lane: the only lane; nil: all.
  func run(_ lane: ScheduleLane? = nil) {
    do {
      while let due = try api.store.dueAct(in: lane, without: postponed) { try run(due) }
    } catch {
      log("error: a scheduled act can't be carried out: \(error)")
    }
  }

  /// Ends steps of rollouts that have ended, which would only be refused when they are due: as they would be then.
  func endLostSteps() throws {
    for step in try api.store.waitingSteps() {
      let channel = try api.store.channel(step.act.app, step.act.channel)
      guard let open = channel.rollout else {
        let last = try api.store.rollouts(of: channel, limit: 1).first
        try refused(step.act, Problem(StoreError.noRollout(channel.app, channel.name, last: last)))
        continue
      }
      guard let text = try JSONValue.parse(step.request)["candidate"]?.string,
        let wanted = ManifestVersion(text: text), wanted != open.candidate,
        let known = try api.store.rollout(of: wanted, in: channel), known.seed != open.seed
      else { continue }
      try refused(step.act, Problem(StoreError.otherRollout(wanted: wanted, known: known, open: open)))
    }
  }

  /// Once a minute.
  private var isTimeToLook: Bool {
    let now = Clock.monotonicNanoseconds()
    return state.withLock { state in
      guard state.nextLook <= now else { return false }
      state.nextLook = now + 60_000_000_000
      return true
    }
  }

  private var postponed: Set<Int64> {
    let now = Clock.monotonicNanoseconds()
    return state.withLock { state in
      state.postponed = state.postponed.filter { $0.value > now }
      return Set(state.postponed.keys)
    }
  }

  private func run(_ due: DueAct) throws {
    let act = due.act
    if act.awaitsSignatures || act.awaitsApprovals { return try miss(act) }
    if api.store.now - act.due > ScheduleLimits.lateness {
      let reason =
        act.reason.map { "it couldn't be carried out for a day: \($0)" }
        ?? "the origin didn't run for more than a day after its time"
      try api.store.endSchedule(act, as: .missed, code: act.code ?? "missed", reason: reason)
      log("error: \(words(act)) was missed: \(reason)")
      return
    }
    if let id = state.withLock({ $0.staged[act.id] }) {
      // It is tried again where it is staged. Tried here, it would take the place of what was staged after it.
      if api.releases.staged.isStaged(id) { return postpone(act) }
      state.withLock { $0.staged[act.id] = nil }
      if api.releases.staged.isReplaced(id) {
        let reason =
          "its files couldn't be pushed in time, and another release of its bundles was made meanwhile"
        if try api.store.endSchedule(act, as: .failed, code: "overtaken", reason: reason) {
          log("error: \(words(act)) failed: \(reason)")
        }
        return
      }
    } else if let before = act.unpushedAt, let newest = try? api.store.channel(act.app, act.channel).version,
      newest != before
    {
      let reason = "its files couldn't be pushed in time, and version \(newest) was released meanwhile"
      try api.store.endSchedule(act, as: .failed, code: "overtaken", reason: reason)
      log("error: \(words(act)) failed: \(reason)")
      return
    }
    do {
      let answer = try api.carryOut(due)
      // Its transaction ended it, unless there was nothing to do.
      let isLeft = try api.store.endSchedule(act, as: .done)
      log("\(words(act)) is done\(isLeft ? ", there was nothing to do" : "") (\(answer.status.code))")
    } catch StoreError.alreadyDone {
      return
    } catch {
      if case StoreError.needsApproval = error, try waitsAgain(act) { return }
      try refused(act, api.problem(error, APIRequest(due)))
    }
  }

  /// Whether an act that was found to be due lacks approvals by now: then it isn't due.
  private func waitsAgain(_ act: ScheduledAct) throws -> Bool {
    let channel = try api.store.channel(act.app, act.channel)
    return try api.store.scheduledAct(act.id, of: channel).awaitsApprovals
  }

  /// Ends an act that has waited for signatures or approvals for too long.
  private func miss(_ act: ScheduledAct) throws {
    let days = ScheduleLimits.awaitingSignatures / 86_400_000
    let what = [act.awaitsSignatures ? "signatures" : nil, act.awaitsApprovals ? "approvals" : nil]
    let reason = "it waited \(days) days for \(what.compactMap(\.self).joined(separator: " and "))"
    let code = act.awaitsSignatures ? "unsigned" : ScheduledAct.unapproved
    try api.store.endSchedule(act, as: .missed, code: code, reason: reason)
    log("error: \(words(act)) was missed: \(reason)")
  }

  private func postpone(_ act: ScheduledAct) {
    let until = Clock.monotonicNanoseconds() + UInt64(secondsBetweenAttempts * 1e9)
    state.withLock { $0.postponed[act.id] = until }
  }

  /// Records that an act was refused, or that it is tried again.
  private func refused(_ act: ScheduledAct, _ problem: Problem) throws {
    let reason = problem.detail ?? problem.title
    if problem.status >= 500 || problem.status == 429 {
      postpone(act)
      let isUnpushed = ["push-failed", "unpushed"].contains(problem.code)
      if isUnpushed, let id = api.releases.staged.newest(act.app, act.channel, by: act.author) {
        state.withLock { $0.staged[act.id] = id }
      }
      try api.store.noteSchedule(act, code: problem.code, reason: reason, isUnpushed: isUnpushed)
      log("warning: \(words(act)) can't be carried out yet, and is tried again: \(reason)")
    } else if try api.store.endSchedule(act, as: .failed, code: problem.code, reason: reason) {
      log("error: \(words(act)) failed: \(reason)")
    }
  }

  private func words(_ act: ScheduledAct) -> String {
    "the scheduled act \(act.id) of \(act.app) \(act.channel) (\(act.summary), by \(act.author))"
  }
}

extension APIRequest {
  /// The request by which a scheduled act is carried out.
  fileprivate init(_ due: DueAct) {
    let path =
      ["apps", due.act.app.text, "channels", due.act.channel.text]
      + due.route.split(separator: "/").map(String.init)
    self.init(scheduled: path, from: due.act.address)
  }
}

extension APIEndpoint {
  /// Carries out a scheduled act: its request, with the token that scheduled it.
  /// - Parameter preview: receives what would come of it, if it is only to be tried.
  /// - Throws: what the request is refused with; `tokenEnded` if that token may not be used any more.
  func carryOut(_ due: DueAct, preview: SchedulePreviewSink? = nil) throws -> Response {
    let request = APIRequest(due)
    guard let token = try store.tokenInUse(id: due.act.token) else {
      throw StoreError.tokenEnded(due.act.author)
    }
    guard case .document(let requirement, _, let open)? = APIRoute.at(request.path)?.operation(for: .post)
    else {
      throw Problem.notFound
    }
    let caller = try requirement.check(token, request)
    var context = RequestContext(api: self, request: request, caller: caller)
    context.run = ScheduledRun(id: due.act.id, token: token, at: due.act.at)
    context.preview = preview
    let document = try open(context)
    try document.append(due.request.span.bytes)
    return try document.finish(context)
  }
}
