import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// What people say of the problems that the overview shows.
struct ProblemHandler: APIHandler {
  let context: RequestContext

  /// The channel of a problem; nil: the origin's own.
  private typealias Place = (app: AppName, channel: ChannelName)

  /// `POST /problems/acknowledge`
  func acknowledge(_ body: AcknowledgeRequest) throws -> Response {
    let place = try place(body.app, body.channel)
    let code = try code(body.code)
    guard
      let reason = try HumanText.checked(body.reason, member: "reason", .line(bytes: 500)), !reason.isEmpty
    else {
      throw Problem.badRequest("\"reason\" must say in 1 to 500 bytes why it needs no attention for now")
    }
    let now = store.now
    guard let until = body.until?.milliseconds, until > now, until - now <= Self.longest else {
      throw Problem.badRequest(
        "\"until\" must be a time from now to 30 days ahead; by the origin's clock it is \(Timestamp.text(now))"
      )
    }
    return try context.api.fleet.acknowledging {
      try context.answering {
        APIAnswer(
          AcknowledgeAnswer(app: place?.app, channel: place?.channel, code: code, acknowledged: .init($0)))
      } to: { record in
        try store.acknowledgeProblems(
          code, in: place, reason: reason, until: until, by: actor, record: record)
      }
    }
  }

  /// `DELETE /problems/acknowledge?code=…&app=…&channel=…`
  func withdraw() throws -> Response {
    let place = try place(request.text("app"), request.text("channel"))
    let code = try code(request.text("code"))
    return try context.api.fleet.acknowledging {
      try context.answering {
        APIAnswer(AcknowledgeAnswer(app: place?.app, channel: place?.channel, code: code, acknowledged: nil))
      } to: { record in
        try store.withdrawAcknowledgement(of: code, in: place, by: actor, record: record)
      }
    }
  }

  /// Milliseconds: 30 days.
  private static let longest: Int64 = 30 * 86_400_000

  /// Returns the channel that is named, if any.
  /// - Throws: 403 unless the caller may decide over the channel's releases or, without one, everything.
  private func place(_ app: String?, _ channel: String?) throws -> Place? {
    if app == nil, channel == nil {
      _ = try Requirement.everything.check(caller, request)
      return nil
    }
    guard let app, let channel else {
      throw Problem.badRequest(
        "\"app\" and \"channel\" name a channel together; without both, it is the origin's problem")
    }
    let place = (app: try AppName(app), channel: try ChannelName(channel))
    try caller.check(.release, in: ChannelNames(app: place.app, channel: place.channel))
    return place
  }

  private func code(_ text: String?) throws(Problem) -> String {
    guard let text, (1...64).contains(text.utf8.count),
      text.utf8.allSatisfy({ ASCII.isLower($0) || $0 == UInt8(ascii: "-") })
    else { throw .badRequest("\"code\" must be a problem's code as in the overview, such as lagging") }
    return text
  }
}

extension FleetOverview.Acknowledgement {
  fileprivate init(_ known: ProblemAcknowledgement) {
    self.init(
      by: known.author, at: Moment(milliseconds: known.at), reason: known.reason,
      until: Moment(milliseconds: known.until))
  }
}
