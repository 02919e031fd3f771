import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// What others have to approve: `POST …/protect`, `…/schedules/{id}/approve`, `…/reject`, `…/preview`, and `GET /waiting`.
struct ApprovalHandler: APIHandler {
  let context: RequestContext

  /// `POST …/protect`
  func protect(_ body: ProtectRequest) throws -> Response {
    let names = try context.names
    guard let count = body.approvals, (0...Protection.maxApprovals).contains(count) else {
      throw Problem.badRequest(
        "\"approvals\" must be a number from 0 to \(Protection.maxApprovals): how many approvals an act waits for; 0 ends the protection"
      )
    }
    let share = body.share ?? 0
    guard (0...RolloutRule.all).contains(share) else {
      throw Problem.badRequest(
        "\"share\" must be a number from 0 to 10000: steps of a rollout up to it wait for no approval")
    }
    let approvers = try body.by.map { text in
      guard let glob = ApproverGlob(text) else {
        throw Problem.badRequest(
          "\"by\" must be a pattern of the names of those who may approve, such as *@acme.com, \(ApproverGlob.limit) bytes at most; "
            + "commas separate several")
      }
      return glob
    }
    if count == 0, approvers != nil || share > 0 {
      throw Problem.badRequest("\"by\" and \"share\" are for \"approvals\" of 1 or more")
    }
    let protection = Protection(approvals: count, approvers: approvers, share: share)
    return try context.answering { (protection: Protection?) in
      APIAnswer(
        protection.map { ChannelProtection($0) } ?? ChannelProtection(approvals: 0, by: nil, share: 0))
    } to: { record in
      try store.protect(names.app, names.channel, protection, by: actor, record: record)
    }
  }

  /// `POST …/schedules/{id}/approve`
  func approve(_ body: ApproveRequest) throws -> Response {
    let (names, id) = (try context.names, try ScheduleHandler(context: context).id)
    let message = try HumanText.checked(body.message, member: "message", .message) ?? ""
    let bundles = try bundles(of: id)
    return try answering(bundles) { record in
      try store.approve(
        id, of: names.app, names.channel, with: caller, bundles: bundles, message: message, by: actor,
        record: record)
    }
  }

  /// `POST …/schedules/{id}/reject`
  func reject(_ body: RejectRequest) throws -> Response {
    let (names, id) = (try context.names, try ScheduleHandler(context: context).id)
    guard let reason = try HumanText.checked(body.message, member: "message", .message),
      !reason.allSatisfy(\.isWhitespace)
    else {
      throw Problem.badRequest("\"message\" is required: why it is rejected")
    }
    let bundles = try bundles(of: id)
    return try answering(bundles) { record in
      try store.reject(
        id, of: names.app, names.channel, with: caller, bundles: bundles, reason: reason, by: actor,
        record: record)
    }
  }

  private func answering(
    _ bundles: [BundleName]?, _ act: (AnswerRecord<ScheduledAct>?) throws -> ScheduledAct
  ) throws -> Response {
    try context.answering(
      { [caller] in APIAnswer(ScheduledInfo($0, for: caller, bundles: bundles)) }, to: act)
  }

  /// The bundles that an act changes, for a caller that may decide over some only; nil if they aren't known, or all may be.
  private func bundles(of id: Int64) throws -> [BundleName]? {
    try context.bundles(of: store.scheduledAct(id, of: context.channel()))
  }

  /// `GET …/schedules/{id}/preview`
  func preview() throws -> Response {
    let due = try store.waitingRequest(ScheduleHandler(context: context).id, of: context.channel())
    let channel = try context.channel()
    let sink = SchedulePreviewSink()
    do {
      _ = try context.api.carryOut(due, preview: sink)
    } catch StoreError.tokenEnded {
      // It isn't the caller's.
      throw StoreError.authorEnded(due.act)
    }
    var preview = SchedulePreview(
      schedule: ScheduledInfo(due.act, for: caller, bundles: due.bundles), answer: sink.answer)
    let document: ChannelDocument? =
      due.act.act.hasPrefix("policy.") ? .policy : due.act.act.hasPrefix("prefetch.") ? .prefetch : nil
    if let document {
      let current = try store.document(document, of: channel)
      preview.current = current.map { (try? JSONValue.parse($0.content)) ?? .null } ?? .null
      preview.document = sink.content.flatMap { try? JSONValue.parse($0) } ?? preview.current
    }
    return .json(preview)
  }

  /// `GET /waiting`
  func waiting() throws -> Response {
    let acts = try store.awaitingActs().filter {
      caller.allows(.read, app: $0.app, channel: $0.channel)
    }
    return .json(
      WaitingList(
        acts: acts.map { act in
          WaitingAct(app: act.app, channel: act.channel, schedule: context.info(act))
        }))
  }
}

extension RequestContext {
  /// What the caller is told of a scheduled act in a list. Which bundles a release changes isn't looked up for that: its request may be
  /// large.
  func info(_ act: ScheduledAct) -> ScheduledInfo {
    let isOfBundles = ["publish", "unpublish", "promote", "rollback"].contains(act.act)
    return ScheduledInfo(
      act, for: caller.acting(on: act.app, act.channel, .release) ?? caller, bundles: isOfBundles ? [] : nil)
  }

  /// The bundles that an act changes which waits, for a caller that may decide over some only; nil if they aren't known, or all may be.
  func bundles(of act: ScheduledAct) throws -> [BundleName]? {
    guard caller.bundles != nil, act.awaitsApprovals else { return nil }
    do {
      return try store.waitingRequest(act.id, of: channel()).bundles
    } catch StoreError.scheduleOver {
      return nil
    }
  }
}

/// What would come of an act that is only tried.
final class SchedulePreviewSink: Sendable {
  private let state = Locked<(answer: JSONValue, content: [UInt8]?)>((.null, nil))

  /// The answer to its request.
  var answer: JSONValue { state.withLock { $0.answer } }
  /// The document that it would make, as canonical JSON; nil if it would make none.
  var content: [UInt8]? { state.withLock { $0.content } }

  func receive(_ answer: APIAnswer) { state.withLock { $0.answer = answer.document } }

  func receive(_ outcome: DocumentOutcome) {
    guard case .changed(let record, _, _) = outcome else { return }
    state.withLock { $0.content = record.content }
  }
}

extension DueAct {
  /// The bundles that a release names; nil for other acts.
  var bundles: [BundleName]? {
    guard let body = try? JSONValue.parse(request) else { return nil }
    switch act.act {
    case "publish", "unpublish":
      guard let changes = body["bundles"]?.array else { return nil }
      let names = changes.compactMap { $0["bundle"]?.string.flatMap { try? BundleName($0) } }
      return names.count == changes.count ? names : nil
    case "promote", "rollback":
      // The prefetch config belongs to the whole channel.
      if body["withPrefetch"]?.bool == true { return nil }
      return body["bundle"]?.string.flatMap { try? BundleName($0) }.map { [$0] }
    default: return nil
    }
  }
}

extension ChannelProtection {
  init(_ protection: Protection) {
    self.init(approvals: protection.approvals, by: protection.approvers?.text, share: protection.share)
  }
}

extension ApprovalsInfo {
  /// Nil for an act that takes no approvals, and had none.
  init?(_ act: ScheduledAct, for caller: AccessToken, bundles: [BundleName]?) {
    guard let standing = act.approvals else { return nil }
    let why = Self.refusal(act, standing, of: caller, bundles: bundles)
    self.init(
      required: standing.required,
      given: standing.given.map { GivenApproval(name: $0.name, at: Moment(milliseconds: $0.at)) },
      missing: act.state == .waiting ? standing.missing : 0, by: standing.approvers?.text,
      mayApprove: why == nil, why: why)
  }

  /// Why somebody may not approve an act; nil if they may.
  private static func refusal(
    _ act: ScheduledAct, _ standing: ApprovalStanding, of caller: AccessToken, bundles: [BundleName]?
  ) -> String? {
    guard act.state == .waiting else { return "it doesn't wait any more" }
    guard standing.missing > 0 else { return "it has its approvals" }
    guard caller.allows(.release, app: act.app, channel: act.channel) else {
      return "your rights don't cover deciding over releases of this channel"
    }
    if standing.given.contains(where: { $0.isBy(caller) }) { return "you have approved it" }
    return switch act.refusal(of: caller, bundles: bundles) {
    case nil: nil
    case .author: "you asked for it: somebody else has to approve it"
    case .job: "a person approves it, not a CI job"
    case .notNamed(let approvers, let name): "\(approvers) approves it, and you are \(name)"
    case .bundles(let own): "it concerns more than the bundles \(own), which your rights cover"
    }
  }
}
