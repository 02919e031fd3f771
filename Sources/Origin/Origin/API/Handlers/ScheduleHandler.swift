import HTTP
import Manifests
import OriginAPI
import Store
import System

/// The scheduled acts of a channel: `/apps/{app}/channels/{channel}/schedules…`.
struct ScheduleHandler: APIHandler {
  let context: RequestContext

  /// `GET …/schedules`
  func list() throws -> Response {
    let channel = try context.channel()
    return .json(ScheduleList(schedules: try store.scheduledActs(of: channel).map { context.info($0) }))
  }

  /// `GET …/schedules/{id}`
  func show() throws -> Response {
    let act = try store.scheduledAct(id, of: context.channel())
    if let version = act.end?.version { context.api.releases.awaitShown(version, of: act.app, act.channel) }
    return .json(ScheduledInfo(act, for: caller, bundles: try context.bundles(of: act)))
  }

  /// `GET …/schedules/{id}/request`: what is carried out.
  func request() throws -> Response {
    let due = try store.waitingRequest(id, of: context.channel())
    return .json(rendered: due.request)
  }

  /// `POST …/schedules/{id}/statements`
  func sign(_ body: ScheduleStatementsRequest) throws -> Response {
    let names = try context.names
    let id = try id
    let statements = try context.statements(body.statements)
    guard !statements.isEmpty else { throw Problem.badRequest("\"statements\" has no envelope") }
    return try context.answering { [caller] in
      APIAnswer(ScheduledInfo($0, for: caller))
    } to: { record in
      try store.sign(statements, of: id, in: names.app, names.channel, by: actor, record: record)
    }
  }

  /// `DELETE …/schedules/{id}`
  func cancel() throws -> Response {
    let names = try context.names
    let id = try id
    // Whose rights are for some bundles takes back what they asked for themselves, in whatever session.
    if caller.bundles != nil, try !store.scheduledAct(id, of: context.channel()).isAsked(by: caller) {
      try caller.checkReachesAllBundles()
    }
    return try context.answering { [caller] in
      APIAnswer(ScheduledInfo($0, for: caller))
    } to: { record in
      try store.cancelSchedule(id, of: names.app, names.channel, by: actor, record: record)
    }
  }

  var id: Int64 {
    get throws(Problem) {
      guard let id = Int64(request.path[5]), id > 0 else {
        throw .badRequest("the id of a scheduled act is a number, 1 or more")
      }
      return id
    }
  }
}

extension RequestContext {
  /// Returns the time that an act is to be scheduled for; nil if it is to be carried out at once.
  /// - Throws: 400 for a time that isn't to come, and for a dry run, which is never scheduled.
  func scheduled(_ time: Moment?, dryRun: Bool? = nil) throws -> Moment? {
    guard let time = try ahead(time, member: "schedule") else { return nil }
    if dryRun == true { throw Problem.badRequest("\"schedule\" and \"dryRun\" can't be combined") }
    // What a session or a job scheduled outlives it.
    let token = caller.sourceToken == nil ? caller : try store.tokenInUse(id: scheduler)
    if let token, token.kind == .token, let end = token.expiresAt, time.milliseconds >= end {
      throw Problem.badRequest(
        "\"schedule\": the act would be refused at \(time.wireText), since the token \"\(caller.name)\" with which it is carried out "
          + "expires at \(Timestamp.text(end)); choose an earlier time, or use another token")
    }
    return time
  }

  /// The id of the token with which what the caller schedules is carried out: not of a token's session, which ends before it.
  private var scheduler: String { caller.sourceToken ?? caller.id }

  /// The request of an act that is to be scheduled.
  /// - Parameters:
  ///   - audience: whom a release goes to first; nil: to all.
  ///   - message: its author's message; may be empty.
  func schedule(
    _ act: String, _ summary: String, to audience: RolloutAudience? = nil, message: String = "",
    at time: Moment, route: String, _ request: [UInt8]
  ) throws -> ScheduleInput {
    let names = try names
    var summary = summary + (audience.map { " to \($0.words)" } ?? "")
    if let line = message.split(separator: "\n").first {
      summary += ": \(line.count > 60 ? "\(line.prefix(59))…" : String(line))"
    }
    return ScheduleInput(
      app: names.app, channel: names.channel, act: act, summary: summary, due: time.milliseconds,
      token: scheduler, actor: actor, route: route, request: request
    ).asked(by: caller.authorKey)
  }

  /// Schedules an act, and answers with 202.
  func scheduling<Answer: Encodable & SendableMetatype>(
    _ input: ScheduleInput, _ answer: @escaping @Sendable (ScheduledInfo) -> Answer
  ) throws -> Response {
    try answering { [caller] in
      APIAnswer(answer(ScheduledInfo($0, for: caller)), .accepted)
    } to: { record in
      try store.schedule(input, record: record)
    }
  }
}

extension ScheduleInput {
  fileprivate func asked(by author: String) -> ScheduleInput {
    var input = self
    input.author = author
    return input
  }
}

extension ScheduledInfo {
  /// - Parameters:
  ///   - caller: who is told of it, and whether they may approve it.
  ///   - bundles: the bundles that it changes; nil: the whole channel, or that isn't known.
  init(_ act: ScheduledAct, for caller: AccessToken, bundles: [BundleName]? = nil) {
    self.init(
      id: act.id, act: act.act, summary: act.summary, due: Moment(milliseconds: act.due),
      state: act.state.rawValue, author: act.author, at: Moment(milliseconds: act.at))
    endedAt = act.end.map { Moment(milliseconds: $0.at) }
    endedBy = act.end?.by
    version = act.end?.version
    code = act.code
    reason = act.reason
    if !act.awaited.isEmpty { signatures = act.awaited.map { AwaitedSignatures($0) } }
    approvals = ApprovalsInfo(act, for: caller, bundles: bundles)
  }
}

extension AwaitedSignatures {
  fileprivate init(_ awaited: AwaitedStatement) {
    let statement = awaited.signed.document
    self.init(
      bundle: statement.bundle, content: statement.content, envelope: awaited.signed.envelope.json,
      keys: awaited.signers.map(\.text), missing: awaited.missing, candidates: awaited.candidates.map(\.text))
    problem = awaited.problem?.rawValue
  }
}
