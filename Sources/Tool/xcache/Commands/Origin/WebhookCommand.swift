import OriginAPI
import OriginClient
import Publishing
import Store
import System
import Values

/// `xcache webhook add | list | show | remove | test | deliveries`.
enum WebhookCommand {
  static let command = Command(
    name: "webhook", operands: "add URL | list | show ID | remove ID | test ID | deliveries ID",
    summary: "notify other systems of releases, rollbacks and the kill switch",
    examples: [
      .init("add https://ci.example.com/hook --events release,rollback --app shop", "for a program"),
      .init("add https://hooks.slack.com/services/… --template slack", "for a Slack channel"),
      .init("test 1a2b3c4d", "send a test message, and show what the receiver answers"),
      .init("deliveries 1a2b3c4d", "what was sent, and what waits"),
    ],
    notes: """
      The origin sends each event as one POST request, after the act has been committed. Events:
      release        a new version by publish, unpublish, promote or a new public URL
      rollback       a new version by a rollback
      rollout        a rollout was changed, paused, resumed or completed
      halt           a rollout was halted
      kill           the kill switch was turned on, or got another end
      resume         the kill switch was turned off
      bypass         other pages are bypassed
      freeze         a channel was frozen
      thaw           a channel was thawed
      purge          bytes were purged
      schedule       a scheduled act failed, or was missed
      mirror-late    a mirror has lacked a release for an hour
      rollout.alarm  a rollout was paused, since its devices fail too often
      approval.needed
                     an act on a protected channel waits for approvals
      Requests are signed as in Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature) with the secret that
      add prints, once. Any 2xx answer within 10 seconds is a success; 410 disables the webhook; redirects aren't
      followed. Everything else is tried again after 5 s, 30 s, 2 min, 10 min and then every hour, for a day; later
      events of the channel wait meanwhile. An event may arrive twice, with the same webhook-id.
      ID may also be the webhook's URL. All of this needs an unrestricted admin token.
      """,
    options: Command.remote + [
      .value("events", "NAMES", "the events, separated by commas (add; default: all)").only("add"),
      .value("app", "NAME", "only events of this app (add)").only("add"),
      .value("channel", "NAME", "only events of this channel of the app (add)").only("add"),
      .value(
        "template", "NAME", choices: WebhookTemplate.allCases.map(\.rawValue),
        "the body: json, or slack for {\"text\":…} (add; default: json)"
      ).only("add"),
      .flag(
        "allow-private", "allow receivers in private networks and on this machine, also with http (add)"
      ).only("add"),
      .value(
        "ca", "FILE",
        "trust these certificates (PEM) instead of the system's, for a receiver with a private one (add)"
      ).only("add"),
      .value(
        "secret-file", "FILE",
        "sign with this secret: whsec_ and 24 to 64 bytes in base64 (add; default: a new one)"
      ).only("add"),
      .value("limit", "N", "show N deliveries (deliveries; default: 20)").only("deliveries"),
      Command.all.only("list"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "add": return try add(arguments, terminal)
    case "list":
      _ = try arguments.operands("list")
      let list = try api(arguments).webhooks()
      return show(list.document, table(list.value.webhooks), arguments, terminal)
    case "show":
      let hook = try api(arguments).webhook(try id(arguments, "show"))
      return show(hook.document, lines(hook.value), arguments, terminal)
    case "remove":
      let hook = try api(arguments).removeWebhook(try id(arguments, "remove"))
      return show(hook.document, ["removed \(hook.value.id)"], arguments, terminal)
    case "test": return try test(arguments, terminal)
    case "deliveries":
      let name = try id(arguments, "deliveries")
      let limit = try arguments.number("limit", in: 1...1000) ?? 20
      let list = try api(arguments).webhookDeliveries(name, limit: limit)
      return show(list.document, table(list.value.deliveries), arguments, terminal)
    default: throw UsageError("expected webhook add URL, list, show, remove, test or deliveries")
    }
  }

  private static func api(_ arguments: Arguments) throws -> OriginClient {
    try RemoteOrigin(arguments, namesApp: false, namesChannel: false).api
  }

  /// The id of the webhook that an act is about. A URL is looked up here: its path may be as good as a password, and paths of
  /// requests are written to access logs.
  private static func id(_ arguments: Arguments, _ act: String) throws -> String {
    let name = try arguments.operands(act, "ID")[1]
    guard name.contains("://") else { return name }
    let url = (try? ResourceURL(name))?.text ?? name
    let named = try api(arguments).webhooks().value.webhooks.filter { $0.url == url }.map(\.id)
    switch named.count {
    case 1: return named[0]
    case 0:
      throw Failure("no webhook has this URL; `xcache webhook list` lists them all", name: "unknown-webhook")
    default:
      throw Failure(
        "several webhooks have this URL; give one of the ids \(named.alternatives)", code: .refused,
        name: "several-webhooks")
    }
  }

  private static func show(
    _ document: JSONValue, _ lines: [String], _ arguments: Arguments, _ terminal: Terminal
  ) -> ExitCode {
    if arguments.has("json") {
      terminal.say(json: document)
    } else {
      terminal.say(list: lines, head: 1, all: arguments.has("all") || arguments.operands.first != "list")
    }
    return .done
  }

  // MARK: - add

  private static func add(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    // A closed output must not end this program before the webhook is removed.
    Signals.ignorePipe()
    let url = try arguments.operands("add", "URL")[1]
    if !url.contains("://") { throw UsageError("\(url) has no scheme: write https://\(url)") }
    var request = WebhookRequest(url: url)
    request.events = try events(arguments)
    request.app = try arguments.value("app")
    request.channel = try arguments.value("channel")
    if request.app == nil, request.channel != nil { throw UsageError("--channel needs --app") }
    request.template = try arguments.value("template")
    request.allowPrivate = arguments.has("allow-private") ? true : nil
    request.ca = try certificates(arguments)
    // The secret is made here, so that a lost answer doesn't lose it.
    let given = try secret(arguments)
    let secret = given ?? WebhookSecret()
    request.secret = secret.text
    let others = try api(arguments).webhooks().value.webhooks
    let made = try api(arguments).addWebhook(request)
    let hook = made.value.webhook
    warnOfUnknownPlace(request, arguments, terminal)
    // Legitimate for other events or another app; else the receiver hears everything twice.
    for other in others where other.url == hook.url && other.id != hook.id {
      terminal.remark(
        "warning: webhook \(other.id) has the same URL; `xcache webhook remove \(other.id)` ends that one")
    }
    terminal.remark("webhook \(hook.id) is told of \(hook.events.joined(separator: ", "))")
    var document = made.document.object ?? JSONObject()
    if given == nil {
      document["secret"] = .string(secret.text)
      terminal.remark("its secret, which is not shown again:")
    }
    if arguments.has("json") {
      terminal.say(json: .object(document))
    } else {
      terminal.say(given == nil ? secret.text : hook.id)
    }
    guard given == nil, let error = Terminal.unwrittenResult else { return .done }
    throw try lost(hook.id, error, arguments)
  }

  /// Returns the failure if a new secret couldn't be printed: its webhook is removed, since the secret can't be shown again.
  private static func lost(_ id: String, _ error: SystemError, _ arguments: Arguments) throws -> Failure {
    _ = try api(arguments).removeWebhook(id)
    return Failure(
      "the secret could not be printed (\(error.reason)), so webhook \(id) was removed; run this again")
  }

  private static func events(_ arguments: Arguments) throws -> [String]? {
    guard let text = try arguments.value("events") else { return nil }
    let names = text.split(separator: ",").map { $0.filter { $0 != " " } }
    for name in names where WebhookEvent(rawValue: name) == nil {
      let known = WebhookEvent.allCases.map(\.rawValue)
      throw UsageError(
        "--events: there is no event \"\(name)\"\(Spelling.suggestion(for: name, among: known)); events are "
          + WebhookEvent.names)
    }
    if names.isEmpty { throw UsageError("--events is empty; events are \(WebhookEvent.names)") }
    return names
  }

  /// The certificates of `--ca`: the file stays here, the origin has its own copy.
  private static func certificates(_ arguments: Arguments) throws -> String? {
    guard let path = try arguments.value("ca") else { return nil }
    let bytes = try Arguments.file(path, limit: 1 << 20)
    guard let text = String(validating: bytes, as: UTF8.self), text.contains("-----BEGIN CERTIFICATE-----")
    else {
      throw Failure(
        "--ca: \(path) contains no PEM certificate, which begins with -----BEGIN CERTIFICATE-----")
    }
    return text
  }

  private static func secret(_ arguments: Arguments) throws -> WebhookSecret? {
    guard let path = try arguments.value("secret-file") else { return nil }
    let text = String(decoding: try Arguments.file(path, limit: 4096), as: UTF8.self)
    let words = text.split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let secret = WebhookSecret(String(words[0])) else {
      throw Failure("\(path) contains no secret: whsec_ and the base64 of 24 to 64 random bytes")
    }
    return secret
  }

  /// Warns about an app or a channel that isn't there: legitimate before its first publish, but usually a spelling mistake.
  private static func warnOfUnknownPlace(
    _ request: WebhookRequest, _ arguments: Arguments, _ terminal: Terminal
  ) {
    guard let app = request.app, let all = try? api(arguments).channels().value.channels else { return }
    let apps = Set(all.map(\.app.text)).sorted()
    let channels = all.filter { $0.app.text == app }.map(\.channel.text).sorted()
    if channels.isEmpty {
      terminal.remark("warning: there is no app \(app) yet\(Spelling.suggestion(for: app, among: apps))")
    } else if let channel = request.channel, !channels.contains(channel) {
      terminal.remark(
        "warning: there is no channel \(channel) of app \(app) yet\(Spelling.suggestion(for: channel, among: channels))"
      )
    }
  }

  // MARK: - test

  /// How long `test` waits for the attempt, in tenths of a second: one may be going on, and the test's own takes 10 s at most.
  private static let testTenths = 300

  private static func test(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let name = try id(arguments, "test")
    let api = try api(arguments)
    let sent = try api.testWebhook(name).value
    var delivery = sent
    for _ in 0..<testTenths {
      let list = try api.webhookDeliveries(name, limit: 100).value.deliveries
      delivery = list.first { $0.id == sent.id } ?? delivery
      if delivery.state != "waiting" { break }
      Clock.sleep(for: .milliseconds(100))
    }
    if arguments.has("json"), delivery.state == "delivered" {
      terminal.say(json: JSONValue(encoding: delivery))
      return .done
    }
    switch delivery.state {
    case "delivered":
      terminal.say("delivered \(delivery.id): the receiver answered \(delivery.status.map { "\($0)" } ?? "")")
      return .done
    case "waiting":
      throw Failure("the test is still waiting; see `xcache webhook deliveries \(name)`")
    default:
      throw Failure("the test was not delivered: \(delivery.error ?? "no reason is known")")
    }
  }

  // MARK: - Output

  private static func place(_ app: String?, _ channel: String?) -> String {
    [app, channel].compactMap { $0 }.joined(separator: " ")
  }

  private static func state(_ hook: WebhookInfo) -> String {
    if let reason = hook.disabledReason { return "disabled: \(reason)" }
    if hook.failingSince != nil { return "failing: \(hook.last?.error ?? "")" }
    return hook.last?.state == "failed" ? "failed: \(hook.last?.error ?? "")" : "ok"
  }

  private static func table(_ hooks: [WebhookInfo]) -> [String] {
    if hooks.isEmpty { return ["no webhooks"] }
    var table = Table(
      ["ID", "URL", "EVENTS", "FOR", "LAST", "WAITING", "FAILED", "STATE"], rightAligned: [5, 6])
    for hook in hooks {
      let events =
        hook.events.count == WebhookEvent.allCases.count ? "all" : hook.events.joined(separator: ",")
      let place = place(hook.app?.text, hook.channel?.text)
      table.add([
        hook.id, hook.url, events, place.isEmpty ? "all" : place, hook.last?.triedAt.formatted ?? "never",
        "\(hook.waiting)", "\(hook.failed)", state(hook),
      ])
    }
    return table.lines
  }

  private static func table(_ deliveries: [WebhookDeliveryInfo]) -> [String] {
    if deliveries.isEmpty { return ["nothing was sent yet"] }
    var table = Table(
      ["TIME", "EVENT", "OF", "STATE", "ATTEMPTS", "NEXT", "ANSWER", "ID"], rightAligned: [4])
    for one in deliveries {
      table.add([
        one.at.formatted, one.type, place(one.app, one.channel), one.state, "\(one.attempts)",
        one.nextAt.formatted, one.error ?? one.status.map { "status \($0)" } ?? "", one.id,
      ])
    }
    return table.lines
  }

  private static func lines(_ hook: WebhookInfo) -> [String] {
    let place = place(hook.app?.text, hook.channel?.text)
    return [
      "id          \(hook.id)", "url         \(hook.url)",
      "events      \(hook.events.joined(separator: ", "))",
      "for         \(place.isEmpty ? "all apps and channels" : place)", "template    \(hook.template)",
      "private     \(hook.allowPrivate ? "allowed" : "not allowed")",
      "trusts      \(hook.hasCA == true ? "the certificates of --ca" : "the system's certificates")",
      "added       \(hook.createdAt.formatted) by \(hook.author)", "state       \(state(hook))",
      "waiting     \(hook.waiting)", "failed      \(hook.failed)",
      "last        \(hook.last.map { "\($0.type) \($0.id), \($0.state), \($0.triedAt.formatted)" } ?? "nothing was sent yet")",
    ]
  }
}
