import HTTP
import Manifests
import Store
import System

/// `POST /gc`, and `/apps/{app}/channels/{channel}/pins…` and `…/adoption`.
struct KeepingCalls {
  let store: Store
  let adoption: AdoptionDesk
  let call: APIRequest
  let caller: AccessToken

  init(_ api: APIEndpoint, _ call: APIRequest, _ caller: AccessToken) {
    store = api.store
    adoption = api.adoption
    self.call = call
    self.caller = caller
  }

  // MARK: - Collecting

  func collect(_ body: JSONValue) throws(Problem) -> Response {
    var policy = KeepPolicy()
    policy.versions = try Self.number("keepVersions", in: body, 1...1_000_000) ?? policy.versions
    policy.days = try Self.number("keepDays", in: body, 0...90) ?? policy.days
    let isDryRun = body["dryRun"]?.bool ?? false
    // What was counted last keeps versions, too.
    adoption.flush()
    return try call.answering {
      APIAnswer($0.json(dryRun: isDryRun))
    } to: { [policy] (record) throws(StoreError) in
      try OSThread.behind("gc") { [store, actor = caller.actor(call)] () throws(StoreError) in
        try store.collect(policy, dryRun: isDryRun, by: actor, record: record)
      }
    }
  }

  private static func number(_ key: String, in body: JSONValue, _ range: ClosedRange<Int>) throws(Problem)
    -> Int?
  {
    guard let value = body[key], !value.isNull else { return nil }
    guard let number = value.integer.flatMap({ Int(exactly: $0) }), range.contains(number) else {
      throw .badRequest("\"\(key)\" is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  // MARK: - A channel

  private func channel(_ names: ChannelNames) throws(Problem) -> ChannelInfo {
    try APIEndpoint.store { () throws(StoreError) in try store.channel(names.app, names.channel) }
  }

  func read() throws(Problem) -> Response {
    let names = try ChannelNames(call)
    let channel = try channel(names)
    if call.path[4] == "adoption" { return try adoption(of: channel) }
    let pins = try APIEndpoint.store { () throws(StoreError) in try store.pins(of: channel) }
    return APIEndpoint.document(["pins": .array(pins.map(\.json))])
  }

  func pin(_ body: JSONValue) throws(Problem) -> Response {
    let names = try ChannelNames(call)
    guard let name = try body.versionName("version") else {
      throw .badRequest("\"version\" is the version to pin, as a string")
    }
    guard let reason = try body.humanText("reason", .line(bytes: 1024)), !reason.isEmpty else {
      throw .badRequest("\"reason\" says why, in 1 to 1024 bytes")
    }
    let channel = try channel(names)
    return try call.answering {
      APIAnswer($0.json, .created)
    } to: { (record) throws(StoreError) in
      try store.pin(
        store.version(name, of: channel), of: channel, reason: reason, by: caller.actor(call), record: record)
    }
  }

  func unpin() throws(Problem) -> Response {
    let names = try ChannelNames(call)
    let name = try VersionName.read(call.path[5], in: "")
    let channel = try channel(names)
    let version = try APIEndpoint.store { () throws(StoreError) in try store.version(name, of: channel) }
    return try call.answering {
      APIAnswer(["version": .string(version.text)])
    } to: { (record: AnswerRecord<Void>?) throws(StoreError) in
      try store.unpin(version, of: channel, by: caller.actor(call), record: record)
    }
  }

  private func adoption(of channel: ChannelInfo) throws(Problem) -> Response {
    var document = JSONObject()
    // Polls are counted by clock hours: the last hour is this one and the one before.
    for (name, hours) in [("hour", 2), ("day", 24), ("week", 7 * 24)] {
      let adoption = try APIEndpoint.store { () throws(StoreError) in
        try store.adoption(of: channel, hours: hours)
      }
      document[name] = [
        "polls": .integer(adoption.polls),
        "versions": .array(
          adoption.shares.map {
            ["polls": .integer($0.polls), "version": .string(AdoptionDesk.name($0.version))]
          }),
      ]
    }
    let failures = try APIEndpoint.store { () throws(StoreError) in try store.failures(of: channel, days: 7) }
    document["failures"] = .array(
      failures.prefix(500).map {
        [
          "failures": .integer($0.failures), "reason": .string($0.reason.rawValue), "url": .string($0.url),
          "version": .string(AdoptionDesk.name($0.version)),
        ]
      })
    return APIEndpoint.document(.object(document))
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
