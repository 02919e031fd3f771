import HTTP
import Manifests
import OriginAPI
import Store
import System

/// `POST /gc`, and `/apps/{app}/channels/{channel}/pins…` and `…/adoption`.
struct KeepingHandler: APIHandler {
  let context: RequestContext

  // MARK: - Collecting

  /// `POST /gc`
  func collect(_ body: JSONValue) throws -> Response {
    var policy = KeepPolicy()
    policy.versions = try Self.number("keepVersions", in: body, 1...1_000_000) ?? policy.versions
    policy.days = try Self.number("keepDays", in: body, 0...90) ?? policy.days
    let isDryRun = body["dryRun"]?.bool ?? false
    // What was counted last keeps versions, too.
    context.api.adoption.flush()
    return try context.answering {
      APIAnswer(GCReport($0, dryRun: isDryRun))
    } to: { [policy] (record) in
      try OSThread.behind("gc") { [store, actor = actor] () in
        try store.collect(policy, dryRun: isDryRun, by: actor, record: record)
      }
    }
  }

  private static func number(_ key: String, in body: JSONValue, _ range: ClosedRange<Int>) throws
    -> Int?
  {
    guard let value = body[key], !value.isNull else { return nil }
    guard let number = value.integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
      throw Problem.badRequest("\"\(key)\" is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  // MARK: - A channel

  // MARK: - Pins

  /// `GET …/pins`
  func pins() throws -> Response {
    .json(["pins": .array(try store.pins(of: context.channel()).map(\.json))])
  }

  /// `POST …/pins`
  func pin(_ body: JSONValue) throws -> Response {
    guard let name = try body.versionName("version") else {
      throw Problem.badRequest("\"version\" is the version to pin, as a string")
    }
    guard let reason = try body.humanText("reason", .line(bytes: 1024)), !reason.isEmpty else {
      throw Problem.badRequest("\"reason\" says why, in 1 to 1024 bytes")
    }
    let channel = try context.channel()
    return try context.answering {
      APIAnswer($0.json, .created)
    } to: { (record) in
      try store.pin(
        store.version(name, of: channel), of: channel, reason: reason, by: actor, record: record)
    }
  }

  /// `DELETE …/pins/{version}`
  func unpin() throws -> Response {
    let name = try VersionName.read(request.path[5], in: "")
    let channel = try context.channel()
    let version = try store.version(name, of: channel)
    return try context.answering {
      APIAnswer(["version": .string(version.text)])
    } to: { (record: AnswerRecord<Void>?) in
      try store.unpin(version, of: channel, by: actor, record: record)
    }
  }

  // MARK: - What devices run

  /// `GET …/adoption`
  func adoption() throws -> Response {
    let channel = try context.channel()
    var document = JSONObject()
    // Polls are counted by clock hours: the last hour is this one and the one before.
    for (name, hours) in [("hour", 2), ("day", 24), ("week", 7 * 24)] {
      let adoption = try store.adoption(of: channel, hours: hours)
      document[name] = [
        "polls": .integer(adoption.polls),
        "versions": .array(
          adoption.shares.map {
            ["polls": .integer($0.polls), "version": .string(AdoptionDesk.name($0.version))]
          }),
      ]
    }
    let failures = try store.failures(of: channel, days: 7)
    document["failures"] = .array(
      failures.prefix(500).map {
        [
          "failures": .integer($0.failures), "reason": .string($0.reason.rawValue), "url": .string($0.url),
          "version": .string(AdoptionDesk.name($0.version)),
        ]
      })
    return .json(.object(document))
  }
}

extension Pin {
  fileprivate var json: JSONValue {
    [
      "at": .string(Timestamp.text(at)), "author": .string(author), "reason": .string(reason),
      "version": .string(version.text),
    ]
  }
}
