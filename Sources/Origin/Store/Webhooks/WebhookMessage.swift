import Manifests
import System
import Values

/// A channel that an event concerns.
struct EventChannel: Hashable, Sendable {
  let app: AppName
  let channel: ChannelName
}

/// What receivers are told of one event.
struct WebhookMessage: Sendable {
  /// The event's name, or `test`.
  let type: String
  /// The channels concerned; empty if there are none.
  var places: [EventChannel] = []
  /// The `data` of the body.
  var data: JSONValue
  /// The event in words, on one line.
  var text: String

  /// The one channel whose events wait for each other.
  var lane: EventChannel? { places.count == 1 && type != WebhookEvent.purge.rawValue ? places[0] : nil }

  /// Returns the same with a link to the console's page about it.
  func linked(to console: BaseURL?) -> WebhookMessage {
    guard let console, var members = data.object else { return self }
    var page = ""
    if places.count == 1 {
      let (app, channel) = (places[0].app, places[0].channel)
      let version =
        [WebhookEvent.release, .rollback].map(\.rawValue).contains(type) ? data["version"]?.string : nil
      page = version.map { "release/\(app)/\(channel)/\($0)" } ?? "channel/\(app)/\(channel)"
    }
    let link = "\(console)/#/\(page)"
    members["console"] = .string(link)
    var linked = self
    linked.data = .object(members)
    linked.text += " \(link)"
    return linked
  }

  /// The body in a receiver's form.
  func body(_ template: WebhookTemplate, now: Int64) -> [UInt8] {
    switch template {
    case .json:
      let body: JSONValue = [
        "data": data, "timestamp": .string(Timestamp.text(now)), "type": .string(type),
      ]
      return body.canonical
    case .slack:
      let body: JSONValue = ["text": .string(Self.escaped(text))]
      return body.canonical
    }
  }

  /// "You'll need to replace the ampersand, less-than sign, and greater-than sign" (Slack, "Formatting text for app
  /// surfaces"), so that no text is taken for a link or a mention.
  static func escaped(_ text: String) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }

  /// The message that shows whether a receiver works.
  static func test(of webhook: Webhook, by actor: Actor) -> WebhookMessage {
    WebhookMessage(
      type: WebhookEvent.test, data: ["author": .string(actor.name), "webhook": .string(webhook.id)],
      text: "xcache: a test of webhook \(webhook.id) by \(actor.name)")
  }

  /// A mirror that has not got a channel's release for an hour.
  static func late(_ mirror: LateMirror) -> WebhookMessage {
    let place = EventChannel(app: mirror.channel.app, channel: mirror.channel.name)
    return WebhookMessage(
      type: WebhookEvent.mirrorLate.rawValue, places: [place],
      data: [
        "app": .string(place.app.text), "channel": .string(place.channel.text),
        "mirror": .string(mirror.mirror), "mirrorVersion": .string(mirror.version.text),
        "since": .string(Timestamp.text(mirror.since)), "version": .string(mirror.channel.version.text),
      ],
      text:
        "\(place.app) \(place.channel): the mirror \(mirror.mirror) still has version \(mirror.version), not "
        + "\(mirror.channel.version); what it lacks was released \(Timestamp.words(mirror.since))")
  }
}

extension AuditEvent {
  /// What receivers are told of an act; empty for acts that are no events.
  func messages(by actor: Actor, receipt: AuditHead) -> [WebhookMessage] {
    switch name {
    case "publish", "unpublish", "promote", "rebase": [release(actor, receipt)]
    case "rollback": [rollback(actor, receipt)]
    case "rollout.halt": [halt(actor, receipt)]
    case "rollout.pause" where parameters["evidence"] != nil:
      [rollout(actor, receipt), alarm(actor, receipt)]
    case _ where name.hasPrefix("rollout."): [rollout(actor, receipt)]
    case "channel.freeze", "channel.thaw": [freeze(actor, receipt)]
    case "purge": [purge(actor, receipt)]
    case "schedule.fail": [schedule(actor, receipt)]
    case "schedule.add" where result["approvals"] != nil: [approvalNeeded(actor, receipt)]
    case "approval.reject": [rejection(actor, receipt)]
    case _ where name.hasPrefix("policy."): policy(actor, receipt)
    default: []
    }
  }

  private func asked(_ key: String) -> JSONValue { parameters[key] ?? .null }
  private func got(_ key: String) -> JSONValue { result[key] ?? .null }
  private var place: String { "\(app?.text ?? "") \(channel?.text ?? "")" }
  private var places: [EventChannel] {
    guard let app, let channel else { return [] }
    return [EventChannel(app: app, channel: channel)]
  }

  /// The members of every event.
  private func data(_ actor: Actor, _ receipt: AuditHead, _ more: [(String, JSONValue)]) -> JSONValue {
    var data = JSONObject()
    (data["author"], data["receipt"]) = (.string(actor.name), .string(receipt.text))
    if let app { data["app"] = .string(app.text) }
    if let channel { data["channel"] = .string(channel.text) }
    for (key, value) in more where !value.isNull { data[key] = value }
    return .object(data)
  }

  /// `: why`, cut to what fits on a line; nothing if there is no reason.
  private func because(_ reason: JSONValue) -> String {
    let line = HumanText.line(reason.string ?? "", limit: 300)
    return line.isEmpty ? "" : ": \(line)"
  }

  private func message(_ type: WebhookEvent, _ data: JSONValue, _ text: String) -> WebhookMessage {
    WebhookMessage(type: type.rawValue, places: places, data: data, text: text)
  }

  private func release(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let counts = ["added", "changed", "removed"].map { (name: $0, count: got($0).integer ?? 0) }
    let data = data(
      actor, receipt,
      [
        ("bundles", Self.cut(asked("bundles"))), ("breakGlass", asked("breakGlass")),
        ("changes", .object(JSONObject(counts.map { .init(key: $0.name, value: .integer($0.count)) }))),
        ("from", asked("from")), ("fromVersion", asked("fromVersion")), ("kind", .string(name)),
        ("message", asked("message")), ("previous", got("previous")), ("publicURL", asked("publicURL")),
        ("rollout", got("rollout")), ("root", asked("root")), ("version", got("version")),
      ])
    var verb = ["unpublish": "unpublished", "promote": "promoted", "rebase": "moved"][name] ?? "published"
    if let root = asked("root").string {
      verb = "put root \(root) in force, from which on releases are signed, with"
    }
    let origin = asked("from").string.map { " from \($0) \(asked("fromVersion").string ?? "")" } ?? ""
    let bundles = (asked("bundles").array ?? []).compactMap(\.string)
    let config = bundles.isEmpty && name == "publish" ? " with a prefetch config" : ""
    let few = bundles.isEmpty || bundles.count > 3 ? [] : [bundles.joined(separator: ", ")]
    let sums = counts.filter { $0.count > 0 }.map { "\($0.count) \($0.name)" }
    let brackets = (few + [sums.joined(separator: ", ")]).filter { !$0.isEmpty }.joined(separator: ": ")
    return message(
      .release, data,
      "\(place): \(actor.name) \(verb) version \(got("version").string ?? "")\(config)\(origin)\(toSome)"
        + (brackets.isEmpty ? "" : " (\(brackets))") + because(asked("message")))
  }

  /// ` to 5 % of the devices`; nothing for a release that goes to all.
  private var toSome: String {
    guard let rollout = result["rollout"], rollout["candidate"] == result["version"] else { return "" }
    return " to \(Self.share(rollout["share"]))"
  }

  private static func share(_ value: JSONValue?) -> String {
    ShareText.audience(share: Int(value?.integer ?? 0))
  }

  /// Whom a rollout goes to, by what it is or was.
  private static func audience(_ terms: JSONValue) -> String {
    ShareText.audience(
      share: Int(terms["share"]?.integer ?? 0),
      groups: (terms["groups"]?.array ?? []).compactMap(\.string), app: terms["app"]?.string)
  }

  private func rollout(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let version = got("version").string ?? ""
    let data = data(
      actor, receipt,
      [
        ("act", .string(String(name.dropFirst("rollout.".count)))), ("breakGlass", asked("breakGlass")),
        ("is", got("is")), ("overtaken", got("overtaken")), ("prefetch", got("prefetch")),
        ("previous", got("previous")), ("version", got("version")), ("was", got("was")),
      ])
    let words: String
    switch name {
    case "rollout.complete" where got("overtaken").string != nil:
      words =
        "replaced prefetch config \(got("overtaken").string ?? ""), with which the rollout of version \(version) has ended"
    case "rollout.complete":
      words =
        "completed the rollout of version \(version)\(got("prefetch").string.map { " with prefetch config \($0)" } ?? ""): all devices get it"
    case "rollout.pause":
      words =
        "paused the rollout of version \(version)"
        + (asked("evidence").isNull ? "" : ", since it fails too often")
    case "rollout.resume":
      words = "resumed the rollout of version \(version), to \(Self.audience(got("is")))"
    // Only its steps, or what an alarm does, were changed.
    case _ where got("is") == got("was"):
      words =
        "changed what the rollout of version \(version) does by itself, at \(Self.audience(got("is")))"
    default:
      words =
        "set the rollout of version \(version) to \(Self.audience(got("is"))), from "
        + Self.audience(got("was"))
    }
    return message(.rollout, data, "\(place): \(actor.name) \(words)")
  }

  /// A rollout that was paused since its devices fail too often.
  private func alarm(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let version = got("version").string ?? ""
    let show = "xcache rollout show --app \(app?.text ?? "") --channel \(channel?.text ?? "")"
    let data = data(
      actor, receipt,
      [("evidence", asked("evidence")), ("is", got("is")), ("version", got("version"))])
    return message(
      .rolloutAlarm, data,
      "\(place): version \(version) fails too often, and nobody else gets it: "
        + "\(RolloutStanding.text(ofAlarm: asked("evidence"))). `\(show)` shows it; halt the rollout, or resume it"
    )
  }

  private func halt(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let candidate = got("rollout")["ended"] ?? .null
    let data = data(
      actor, receipt,
      [
        ("candidate", candidate), ("message", asked("message")), ("previous", got("previous")),
        ("to", asked("to")), ("version", got("version")),
      ])
    return message(
      .halt, data,
      "\(place): \(actor.name) halted the rollout of version \(candidate.string ?? ""); version "
        + "\(got("version").string ?? "") takes it back" + because(asked("message")))
  }

  /// The most items of a list that a message names.
  private static let maxListed = 50

  private static func cut(_ list: JSONValue) -> JSONValue {
    list.array.map { .array(Array($0.prefix(maxListed))) } ?? .null
  }

  private func rollback(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let changes = ["added", "changed", "removed"].map { JSONObject.Member(key: $0, value: got($0)) }
    let data = data(
      actor, receipt,
      [
        ("breakGlass", asked("breakGlass")), ("bundle", asked("bundle")),
        ("changes", .object(JSONObject(changes))),
        ("message", asked("message")), ("previous", got("previous")), ("rollout", got("rollout")),
        ("to", asked("to")), ("version", got("version")),
      ])
    let bundle = asked("bundle").string.map { "bundle \($0)" } ?? "the channel"
    return message(
      .rollback, data,
      "\(place): \(actor.name) rolled \(bundle) back to version \(asked("to").string ?? ""), as version "
        + "\(got("version").string ?? "")\(toSome)" + because(asked("message")))
  }

  private func freeze(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let isFreeze = name == "channel.freeze"
    let reason = isFreeze ? asked("reason") : got("reason")
    let (from, to) = isFreeze ? (asked("from"), asked("to")) : (got("from"), got("to"))
    var times = ""
    for (word, time) in [("from", from), ("to", to)] {
      if let time = time.string.flatMap({ Timestamp.parse($0) }) {
        times += " \(word) \(Timestamp.words(time))"
      }
    }
    let data = data(actor, receipt, [("from", from), ("reason", reason), ("to", to)])
    return message(
      isFreeze ? .freeze : .thaw, data,
      isFreeze
        ? "\(place): \(actor.name) froze the channel\(times)" + because(reason)
        : times.isEmpty
          ? "\(place): \(actor.name) thawed the channel, which was frozen" + because(reason)
          : "\(place): \(actor.name) took back the freeze\(times)" + because(reason))
  }

  private func purge(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let channels = (got("channels").array ?? []).compactMap { item -> EventChannel? in
      guard let app = item["app"]?.string.flatMap({ try? AppName($0) }),
        let channel = item["channel"]?.string.flatMap({ try? ChannelName($0) })
      else { return nil }
      return EventChannel(app: app, channel: channel)
    }
    let named = channels.prefix(Self.maxListed).map { place -> JSONValue in
      ["app": .string(place.app.text), "channel": .string(place.channel.text)]
    }
    let data = data(
      actor, receipt, [("channels", .array(named)), ("reason", asked("reason")), ("sha256", asked("sha256"))])
    let sum = channels.count == 1 ? "1 channel" : "\(channels.count) channels"
    return WebhookMessage(
      type: WebhookEvent.purge.rawValue, places: channels, data: data,
      text: "\(actor.name) purged \((asked("sha256").string ?? "").prefix(12))… from \(sum)"
        + because(asked("reason")))
  }

  /// A scheduled act that wasn't carried out; of one that was, its own event tells.
  private func schedule(_ actor: Actor, _ receipt: AuditHead) -> WebhookMessage {
    let id = asked("schedule").integer ?? 0
    let show = "xcache schedule show \(id) --app \(app?.text ?? "") --channel \(channel?.text ?? "")"
    let hint = "It isn't tried again: do it now, or schedule it again; `\(show)` shows it"
    let data = data(
      actor, receipt,
      [
        ("act", asked("act")), ("code", got("code")), ("due", asked("due")), ("hint", .string(hint)),
        ("reason", got("reason")), ("schedule", .integer(id)), ("state", got("state")),
        ("summary", asked("summary")),
      ])
    let due =
      asked("due").string.flatMap { Timestamp.parse($0) }.map { ", due \(Timestamp.words($0))," } ?? ""
    let ended = got("state").string == ScheduledAct.State.missed.rawValue ? "was missed" : "failed"
    return message(
      .schedule, data,
      "\(place): the scheduled \(asked("summary").string ?? "act") by \(actor.name)\(due) \(ended)"
        + because(got("reason")) + ". \(hint)")
  }

  /// A change of a policy is told as what it does to devices: one change may switch interception and bypass pages.
  private func policy(_ actor: Actor, _ receipt: AuditHead) -> [WebhookMessage] {
    guard let changes = result["changes"] else { return [] }
    var messages: [WebhookMessage] = []
    let why = [("message", asked("message")), ("policy", got("version"))]
    if changes["intercept"] != nil || changes["until"] != nil {
      // Without a change of `intercept`, a kill gets another end.
      let isKill = changes["intercept"]?["to"]?.bool != true
      let until = changes["until"]?["to"] ?? .null
      let end = until.string.map { " until \($0)" } ?? ""
      messages.append(
        message(
          isKill ? .kill : .resume, data(actor, receipt, why + (isKill ? [("until", until)] : [])),
          (isKill
            ? "\(place): \(actor.name) turned the kill switch on\(end), devices use only the network"
            : "\(place): \(actor.name) turned the kill switch off") + because(asked("message"))))
    }
    if let bypass = changes["bypass"] {
      let (added, removed) = (bypass["added"]?.array ?? [], bypass["removed"]?.array ?? [])
      let sums = [(added, "added"), (removed, "removed")].filter { !$0.0.isEmpty }.map { items, verb in
        "\(verb) \(items.prefix(3).compactMap(\.string).joined(separator: ", "))\(items.count > 3 ? ", …" : "")"
      }
      messages.append(
        message(
          .bypass, data(actor, receipt, why + [("added", .array(added)), ("removed", .array(removed))]),
          "\(place): \(actor.name) changed what is bypassed: \(sums.joined(separator: "; "))"
            + because(asked("message"))))
    }
    return messages
  }
}
