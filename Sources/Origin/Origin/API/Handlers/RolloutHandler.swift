import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// The rollouts of a channel: `/apps/{app}/channels/{channel}/rollout…`.
struct RolloutHandler: APIHandler {
  let context: RequestContext

  private var releases: ReleaseService { context.api.releases }

  /// How many rollouts are listed.
  private static let listed = 20

  /// `GET …/rollout`
  func list() throws -> Response {
    let channel = try context.channel()
    var list = RolloutList(
      full: channel.full.version, open: channel.rollout.map { RolloutInfo($0) },
      rollouts: try store.rollouts(of: channel, limit: Self.listed).map { RolloutInfo($0) })
    if let standing = try context.api.adoption.standing(of: channel), standing.rollout == channel.rollout {
      list.evidence = EvidenceInfo(standing)
      list.ramp = standing.plan.ramp.map { RampTerms($0) }
      let refusal = context.api.adoption.refusals.withLock { $0[channel.id] }
      list.waits = standing.waits(now: store.now, refusal)
    }
    return .json(list)
  }

  /// `POST …/rollout/set`
  func set(_ body: RolloutRequest) throws -> Response {
    guard body.share != nil || body.groups != nil || body.app != nil || body.changesCourse else {
      throw Problem.badRequest(
        "\"share\", \"groups\", \"app\", \"ramp\", \"autoHalt\" or \"networkCap\" is required: what is to change"
      )
    }
    let app = try body.app.map { try $0.isEmpty ? nil : Self.range($0) }
    try Self.check(share: body.share, groups: body.groups)
    return try change(.audience(share: body.share, groups: body.groups, app: app), body)
  }

  /// `POST …/rollout/pause`
  func pause(_ body: RolloutRequest) throws -> Response { try change(.pause, body) }

  /// `POST …/rollout/resume`
  func resume(_ body: RolloutRequest) throws -> Response { try change(.resume, body) }

  /// `POST …/rollout/complete`
  func complete(_ body: RolloutRequest) throws -> Response { try change(.complete, body) }

  private func change(_ change: RolloutInput.Change, _ body: RolloutRequest) throws
    -> Response
  {
    if case .audience = change {
    } else if body.share != nil || body.groups != nil || body.app != nil || body.changesCourse {
      throw Problem.badRequest(
        "\"share\", \"groups\", \"app\", \"ramp\", \"autoHalt\" and \"networkCap\" are for `set`")
    }
    let names = try context.names
    var input = RolloutInput(app: names.app, channel: names.channel, change, by: actor)
    input.breakGlass = try ReleaseHandler.breakGlass(body.breakGlass)
    if body.changesCourse { input.course = try Self.course(body.ramp, body.autoHalt, body.networkCap) }
    if let course = input.course, let open = try context.channel().rollout {
      try Self.check(course, at: body.share ?? open.audience.share)
    }
    if let time = try context.scheduled(body.schedule) {
      let open = try open(try allowedCandidate(body.candidate))
      var body = body
      (body.schedule, body.candidate) = (nil, open.candidate)
      var later = try schedule(
        open, body.words, at: time, body, input.course?.words(from: body.share ?? open.audience.share))
      later.obeysFreezes = input.breakGlass == nil && change != .pause
      later.isGated = input.letsIn(after: open)
      return try context.scheduling(later) { RolloutAnswer(RolloutInfo(open), scheduled: $0) }
    }
    do {
      return try make(input, body)
    } catch StoreError.needsApproval where context.run == nil {
      let open = try open(try allowedCandidate(body.candidate))
      var body = body
      body.candidate = open.candidate
      var later = try schedule(
        open, body.words, at: Moment(milliseconds: store.now), body,
        input.course?.words(from: body.share ?? open.audience.share))
      (later.isGated, later.obeysFreezes) = (true, input.breakGlass == nil)
      return try context.scheduling(later) { RolloutAnswer(RolloutInfo(open), scheduled: $0) }
    }
  }

  private func make(_ input: RolloutInput, _ body: RolloutRequest) throws -> Response {
    try following(body.candidate) { candidate in
      var input = input
      (input.candidate, input.scheduledAt) = (candidate, context.run?.at)
      return try context.answering { outcome in
        var answer = RolloutAnswer(
          rollout: RolloutInfo(outcome.after), was: RolloutInfo(outcome.before),
          receipt: outcome.receipt?.text)
        answer.pausesItself = outcome.pausesItself
        return APIAnswer(answer)
      } to: { [input] record in
        try context.preview == nil
          ? releases.changeRollout(input, record: record) : store.changeRollout(input, record: record)
      }
    }
  }

  /// `POST …/rollout/halt`
  func halt(_ body: RolloutHaltRequest) throws -> Response {
    let names = try context.names
    guard let reason = try HumanText.checked(body.message, member: "message", .message), !reason.isEmpty
    else { throw Problem.badRequest("\"message\" is required: why the rollout is halted") }
    if let time = try context.scheduled(body.schedule) {
      let open = try open(try allowedCandidate(body.candidate))
      var body = body
      (body.schedule, body.candidate) = (nil, open.candidate)
      var later = try schedule(open, "", at: time, body)
      later.obeysFreezes = false
      return try context.scheduling(later) { RolloutAnswer(RolloutInfo(open), scheduled: $0) }
    }
    return try following(body.candidate) { candidate in
      try context.answering { outcome in
        APIAnswer(ReleaseAnswer(outcome, deltasStored: false), madeBy: outcome, dryRun: false)
      } to: { record in
        try releases.haltRollout(
          (names.app, names.channel), candidate, reason: reason, by: actor, caller: caller, record: record)
      }
    }
  }

  /// The candidate that a request is about. A token for some bundles decides over rollouts of these: then it is the one whose
  /// bundles were checked, whichever is open when the act is written.
  private func allowedCandidate(_ wanted: ManifestVersion?) throws -> ManifestVersion? {
    guard caller.bundles != nil else { return wanted }
    let channel = try context.channel()
    let bundles = try store.candidateBundles(of: channel)
    for bundle in bundles { try caller.check(bundle: bundle) }
    // A prefetch config belongs to the whole channel, and so does a candidate that brought nothing else.
    if let open = channel.rollout, open.prefetch != nil || bundles.isEmpty {
      try caller.checkReachesAllBundles()
    }
    let checked = channel.rollout?.candidate ?? .none
    if let wanted, let open = channel.rollout, wanted != checked {
      throw StoreError.otherRollout(
        wanted: wanted, known: try store.rollout(of: wanted, in: channel), open: open)
    }
    return checked
  }

  /// Refuses a release for a part of the devices by a token for some bundles, if it would end a rollout that isn't of these alone.
  func checkMayEnd() throws {
    guard caller.bundles != nil else { return }
    do {
      guard try context.channel().rollout != nil else { return }
    } catch StoreError.unknownApp, StoreError.unknownChannel {
      return
    }
    _ = try allowedCandidate(nil)
  }

  // MARK: - Scheduled steps

  /// The open rollout that a step is scheduled for.
  private func open(_ wanted: ManifestVersion?) throws -> Rollout {
    let channel = try context.channel()
    guard let open = channel.rollout else {
      throw StoreError.noRollout(
        channel.app, channel.name, last: try store.rollouts(of: channel, limit: 1).first)
    }
    if let wanted, wanted != open.candidate {
      throw StoreError.otherRollout(
        wanted: wanted, known: try store.rollout(of: wanted, in: channel), open: open)
    }
    return open
  }

  private func schedule(
    _ open: Rollout, _ whom: String, at time: Moment, _ body: some Encodable, _ course: String? = nil
  ) throws -> ScheduleInput {
    let verb = request.path[5]
    return try context.schedule(
      "rollout.\(verb)",
      "rollout \(verb) of version \(open.candidate)\(whom)\(course.map { "; \($0)" } ?? "")",
      at: time,
      route: "rollout/\(verb)", JSONValue(encoding: body).canonical)
  }

  /// Carries out a step on the candidate that it is about; again if a release of other bundles, such as a scheduled one of the same
  /// second, had that made again just then.
  private func following(_ wanted: ManifestVersion?, _ act: (ManifestVersion?) throws -> Response) throws
    -> Response
  {
    let candidate = try allowedCandidate(try followed(wanted))
    do {
      return try act(candidate)
    } catch StoreError.otherRollout(let tried, let known, let open) {
      let next = try allowedCandidate(try followed(wanted))
      if next == candidate { throw StoreError.otherRollout(wanted: tried, known: known, open: open) }
      return try act(next)
    }
  }

  /// The candidate that a scheduled step is about: if a release of other bundles had it made again, the new one.
  private func followed(_ wanted: ManifestVersion?) throws -> ManifestVersion? {
    guard context.run != nil, let wanted else { return wanted }
    let channel = try context.channel()
    guard let open = channel.rollout, let scheduled = try store.rollout(of: wanted, in: channel),
      scheduled.state == .remade, scheduled.seed == open.seed
    else { return wanted }
    return open.candidate
  }

  // MARK: - Audiences

  /// Reads whom a release is to go to first; nil if it goes to all.
  static func audience(_ terms: RolloutTerms?) throws -> RolloutAudience? {
    guard let terms else { return nil }
    guard let share = terms.share ?? terms.ramp?.steps.first ?? terms.groups.map({ _ in 0 }) else {
      throw Problem.badRequest("\"rollout\" needs a \"share\", 0 to 10000, \"groups\" or a \"ramp\"")
    }
    try check(share: share, groups: terms.groups)
    var audience = RolloutAudience(share: share, groups: terms.groups ?? [], app: try terms.app.map(range))
    let course = try course(terms.ramp, terms.autoHalt, terms.networkCap)
    try check(course, at: share)
    if !course.isEmpty { audience.course = course }
    return audience
  }

  /// Refuses a new ramp that has nowhere to go.
  private static func check(_ course: RolloutCourse, at share: Int) throws {
    guard let ramp = course.ramp.flatMap(\.self), !ramp.completes, let last = ramp.ramp.steps.last,
      last <= share
    else { return }
    throw Problem.badRequest(
      "\"ramp\" would never go on: its last step, \(ShareText.option(last)), isn't above the share of \(ShareText.option(share))"
    )
  }

  private static func course(_ terms: RampTerms?, _ halts: Bool?, _ share: Int?) throws -> RolloutCourse {
    var course = RolloutCourse(haltsItself: halts)
    course.cap = try share.map { share in
      guard let cap = NetworkCap(share: share) else {
        throw Problem.badRequest(
          "\"networkCap\" must be a number from 1 to 10000: of 10,000 reports, so many of one network count")
      }
      return cap
    }
    guard let terms else { return course }
    if terms.steps.isEmpty {
      guard terms.each == nil, terms.atLeast == nil, terms.completes == nil else {
        throw Problem.badRequest("\"ramp\" without \"steps\" ends the ramp, and has no other member")
      }
      course.ramp = .some(nil)
      return course
    }
    let (atLeast, isBeyond) = (terms.atLeast ?? 3_600).multipliedReportingOverflow(by: 1_000)
    guard !isBeyond, let ramp = Ramp(steps: terms.steps, each: terms.each ?? 2_000, atLeast: atLeast) else {
      throw Problem.badRequest(
        "\"ramp\" has 1 to \(Ramp.stepLimit) \"steps\" from 1 to 10000, each above the one before, \"each\" of 1 or more, and \"atLeast\", 0 to \(Ramp.timeLimit / 1000) seconds"
      )
    }
    course.ramp = .some(RolloutRamp(ramp, completes: terms.completes ?? false))
    return course
  }

  private static func check(share: Int?, groups: [String]?) throws {
    if let share, !(0...RolloutRule.all).contains(share) {
      throw Problem.badRequest(
        "\"share\" must be a number from 0 to 10000: how many of 10,000 devices are in")
    }
    let groups = groups ?? []
    guard Set(groups).count <= RolloutRule.groupLimit else {
      throw Problem.badRequest("\"groups\" may have at most \(RolloutRule.groupLimit) names")
    }
    for group in groups where !RolloutRule.isGroup(group) {
      throw Problem.badRequest(
        "\"groups\": \(String(group.prefix(64)).debugDescription) isn't a name: up to 32 of a-z, 0-9 and -, beginning with a letter"
      )
    }
  }

  private static func range(_ text: String) throws -> AppVersionRange {
    do {
      return try AppVersionRange.written(text)
    } catch {
      throw Problem.badRequest("\"app\": \(error)")
    }
  }
}

extension RolloutRequest {
  /// Whether it says what the rollout is to do by itself.
  fileprivate var changesCourse: Bool { ramp != nil || autoHalt != nil || networkCap != nil }

  /// What it changes, for the summary of a scheduled act, without the steps: whoever approves it reads that.
  fileprivate var words: String {
    var words = share.map { " to \(ShareText.percent($0, .two))" } ?? ""
    if let groups {
      words += groups.isEmpty ? ", to no group" : ", to groups \(groups.joined(separator: ", "))"
    }
    if let app { words += app.isEmpty ? ", with all app versions" : ", with app version \(app)" }
    if ramp?.steps.isEmpty == true { words += ", without steps" }
    if autoHalt == false { words += ", isn't halted by itself" }
    if let networkCap { words += ", one network counts at most \(ShareText.percent(networkCap, .two))" }
    return words
  }
}

extension RolloutAudience {
  /// Whom it names, for the summary of a scheduled act.
  var words: String {
    ShareText.audience(share: share, groups: groups, app: app?.text, .two)
      + (course?.words(from: share).map { "; \($0)" } ?? "")
  }
}

extension RolloutCourse {
  /// What it does by itself, for the summary of a scheduled act; nil if that is nothing.
  fileprivate func words(from share: Int) -> String? {
    let ramp = ramp.flatMap(\.self)
    return ShareText.course(
      from: share, steps: ramp?.ramp.steps ?? [], completes: ramp?.completes ?? false,
      halts: haltsItself ?? false)
  }
}

extension RolloutInfo {
  init(_ rollout: Rollout) {
    self.init(
      version: rollout.candidate, full: rollout.full, state: rollout.state.rawValue,
      share: rollout.audience.share, groups: rollout.audience.groups, app: rollout.audience.app?.text,
      paused: rollout.isPaused, seed: rollout.seed, author: rollout.author,
      at: Moment(milliseconds: rollout.startedAt), changedBy: rollout.changedBy,
      changedAt: Moment(milliseconds: rollout.changedAt), reason: rollout.reason,
      prefetch: rollout.prefetch.map { ManifestVersion($0) })
  }
}

extension RolloutChangeInfo {
  init(_ change: RolloutChange) {
    self.init(ended: change.ended.map { RolloutInfo($0) }, open: change.open.map { RolloutInfo($0) })
    guard change.open != nil, let course = change.course else { return }
    ramp = course.ramp.flatMap(\.self).map { RampTerms($0) }
    autoHalt = course.haltsItself
  }
}
