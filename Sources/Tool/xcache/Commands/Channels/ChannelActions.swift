import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// `xcache channel list | show | create | remove | freeze | thaw`.
enum ChannelActions {
  static let options: [Option] = [
    .value(
      "public-url", "URL", "the URL that devices download from (create; default: the server's --public-url)"
    ).only(
      "create"),
    .flag("create", "create the app, too, although its name is near another one's (create)").only("create"),
    .value("reason", "TEXT", short: "m", "the reason, shown to everyone it stops (freeze)").only("freeze"),
    .value("from", "TIME", "freeze from then on, by itself (freeze; default: now)").only("freeze"),
    .value("to", "TIME", "end by itself then (freeze; default: when it is thawed)").only("freeze"),
    .value("planned", "ID", "take back this freeze of a calendar; status lists them (thaw)").only("thaw"),
  ]

  static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("list")
    let remote = try RemoteOrigin(arguments)
    let answer = try remote.api.channels()
    let channels = answer.value.channels
    // A misspelt app isn't the same as an app without channels.
    if !arguments.has("all"), let app = remote.settings.app, !channels.contains(where: { $0.app == app }) {
      let apps = Set(channels.map(\.app.text)).sorted()
      let there = apps.isEmpty ? "" : "; there is \(apps.joined(separator: ", "))"
      let suggestion = Spelling.suggestion(for: app.text, among: apps)
      throw Failure(
        "no app \(app) with a channel that this token may read\(suggestion.isEmpty ? there : suggestion)",
        name: "unknown-app")
    }
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    var table = Table(
      ["APP", "CHANNEL", "VERSION", "RELEASED", "RESOURCES", "SIZE", "HOSTS", "STATE"],
      rightAligned: [2, 4, 5])
    let app = arguments.has("all") ? nil : remote.settings.app
    for channel in channels where app.map({ $0 == channel.app }) ?? true {
      table.add([
        channel.app.text, channel.channel.text, channel.version.text, channel.at.formatted,
        "\(channel.resources)", Bytes.text(channel.bytes), HostOutput.cell(channel.hosts),
        state(of: channel),
      ])
    }
    if table.isEmpty {
      terminal.say("no channels yet; an admin's publish --create makes one")
    } else {
      terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    }
    if let app = answer.value.defaultApp { terminal.say(defaultMessage(app, answer.value)) }
    return .done
  }

  private static func state(of channel: ChannelSummary) -> String {
    if let freeze = channel.freeze {
      return
        "frozen by \(freeze.author)\(freeze.calendar?.to.map { " until \($0.formatted)" } ?? ""): \(freeze.reason)"
    }
    guard let next = channel.plannedFreezes?.first else { return "open" }
    return "open until \(next.since.formatted)"
  }

  /// Shows a channel's settings and state: what `status` shows, without its bundles and what devices run.
  static func show(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try named(arguments)
    let answer = try remote.api.overview(of: try remote.address)
    let overview = answer.value
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    terminal.say(
      terminal.colour("\(overview.app) \(overview.channel)", .bold) + "  version \(overview.version)")
    let rollouts = overview.rollout == nil ? nil : try? remote.api.rollouts(of: try remote.address).value
    for line in StatusCommand.lines(overview, rollouts, terminal) { terminal.say(line) }
    return .done
  }

  /// Describes which app answers polls that name none.
  private static func defaultMessage(_ app: AppName, _ list: ChannelList) -> String {
    guard list.channels.contains(where: { $0.app == app }) else {
      return "the default app is \(app), which has no channel: polls without an app get 404; "
        + "`xcache channel default-app NAME` sets another app"
    }
    return "polls without an app are answered by \(app)"
  }

  /// Sets the default app, or prints it.
  static func defaultApp(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let api = try RemoteOrigin(arguments).api
    let document: JSONValue
    var line: String
    if arguments.operands.count > 1 {
      // Only from the operand, not from a setting that happens to be there.
      let name = try SettingsValue.app(try arguments.operands("default-app", "NAME")[1], in: "NAME")
      let answer = try api.nameDefaultApp(DefaultAppRequest(app: name))
      document = answer.document
      line = "polls without an app are answered by \(name)"
      switch (answer.value.changed, answer.value.was) {
      case (false, _): line += " already"
      case (true, let before?): line += " now; before, \(before) did"
      case (true, nil): break
      }
    } else {
      let list = try api.channels().value
      document = ["defaultApp": list.defaultApp.map { .string($0.text) } ?? .null]
      line =
        list.defaultApp.map { defaultMessage($0, list) }
        ?? "there is no default app, or this token may not read it"
    }
    if arguments.has("json") { terminal.say(json: document) } else { terminal.say(line) }
    return .done
  }

  /// Runs a subcommand on the named channel.
  static func act(_ verb: String, _ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try named(arguments)
    // Creating or removing a channel needs an explicit name, not a setting that happens to be there.
    if ["create", "remove"].contains(verb), arguments.all("channel").isEmpty, arguments.operands.count < 2 {
      throw remote.missing("--channel NAME is required")
    }
    if verb == "freeze", try arguments.text("reason")?.isEmpty ?? true {
      throw remote.missing("--reason TEXT is required: it is shown to anyone whose release is refused")
    }
    let channel = try remote.address
    let name = "\(channel.channel) of \(channel.app)"
    let outcome =
      switch verb {
      case "create": try create(remote, name, arguments)
      case "remove": try remove(remote, name)
      case "freeze": try freeze(remote, name, arguments)
      default: try thaw(remote, name, arguments)
      }
    if arguments.has("json") { terminal.say(json: outcome.document) } else { terminal.say(outcome.words) }
    return .done
  }

  /// Returns the origin with the channel that is named by the operand after the verb, or by options and settings.
  static func named(_ arguments: Arguments) throws -> RemoteOrigin {
    let operands = arguments.operands.dropFirst()
    if operands.count > 1 { throw UsageError("unexpected argument: \(operands[2])") }
    guard let name = operands.first else { return try RemoteOrigin(arguments) }
    guard arguments.all("channel").isEmpty else {
      throw UsageError("give the channel once: \(name) or --channel, not both")
    }
    return try RemoteOrigin(arguments).about(try SettingsValue.channel(name, in: "CHANNEL"))
  }

  /// Whether an app is new.
  /// - Throws: If it is, and its name is near that of another one.
  private static func refuseMisspelt(_ app: AppName, _ api: OriginClient, creates: Bool) throws -> Bool {
    let apps = Set(try api.channels().value.channels.map(\.app.text))
    if apps.contains(app.text) { return false }
    if !creates, let near = Spelling.nearest(to: app.text, among: apps.sorted()) {
      throw Failure(
        "there is no app \(app); did you mean \(near)? Nothing was created. To create the app, add --create",
        name: "unknown-app")
    }
    return true
  }

  /// The scheduled acts that a freeze will refuse, for people; empty if there are none.
  private static func refused(_ channel: ChannelAddress, _ api: OriginClient, from: Moment?, to: Moment?)
    -> String
  {
    let acts = ScheduleCommand.waiting(channel, api).filter { act in
      // These are never refused.
      if ["rollout.halt", "rollout.pause"].contains(act.act) { return false }
      return (from.map { $0 <= act.due } ?? true) && (to.map { act.due < $0 } ?? true)
    }
    if acts.isEmpty { return "" }
    let lines = acts.map { "  \($0.id)  \($0.due.formatted)  \($0.summary)" }
    return "\nscheduled acts that are due then, and will be refused unless they override freezes:\n"
      + lines.joined(separator: "\n")
  }

  /// The origin's answer as a document, and in words.
  private typealias Outcome = (document: JSONValue, words: String)

  private static func create(_ remote: RemoteOrigin, _ name: String, _ arguments: Arguments) throws -> Outcome
  {
    let (api, channel) = (try remote.api, try remote.address)
    let url = try arguments.value("public-url").map { try SettingsValue.url($0, in: "--public-url") }
    let isNewApp = try refuseMisspelt(channel.app, api, creates: arguments.has("create"))
    let answer = try api.create(channel, ChannelRequest(publicURL: url))
    return (
      answer.document,
      "created \(isNewApp ? "app \(channel.app) and " : "")channel \(name); "
        + (answer.value.version == .none
          ? "its first release will be version 1" : "its next version is above \(answer.value.version)")
    )
  }

  private static func remove(_ remote: RemoteOrigin, _ name: String) throws -> Outcome {
    let (api, channel) = (try remote.api, try remote.address)
    let waiting = ScheduleCommand.waiting(channel, api)
    let answer = try api.remove(channel)
    let cancelled =
      waiting.isEmpty ? "" : "\n\(Count.text(waiting.count, "scheduled act")) cancelled with it"
    let words = "removed channel \(name); its polls now get 404\(cancelled)"
    guard answer.value.leavesNoDefault else { return (answer.document, words) }
    return (
      answer.document,
      words + "\nso do polls without an app: that was the default app's last channel, and "
        + "`xcache channel default-app NAME` sets another app"
    )
  }

  private static func freeze(_ remote: RemoteOrigin, _ name: String, _ arguments: Arguments) throws -> Outcome
  {
    let (api, channel) = (try remote.api, try remote.address)
    var request = FreezeRequest(reason: try arguments.text("reason") ?? "")
    request.from = try arguments.time(ahead: "from")
    request.to = try arguments.time(ahead: "to")
    if let from = request.from, let to = request.to, to <= from {
      throw UsageError("--to \(to.formatted) is not after --from \(from.formatted)")
    }
    let answer = try api.freeze(channel, request)
    if let id = answer.value.freeze.calendar?.id {
      return (
        answer.document,
        "channel \(name) refuses releases \(answer.value.freeze.times); "
          + "`xcache channel thaw\(channel.channel.option) --planned \(id)` takes the freeze back"
          + refused(channel, api, from: request.from, to: request.to)
      )
    }
    let replaced = answer.value.replaced.map {
      "\nit was already frozen by \($0.author) since \($0.at.formatted): \($0.reason.onOneLine); that reason is replaced"
    }
    return (
      answer.document,
      "channel \(name) is frozen: it refuses releases until it is thawed\(replaced ?? "")"
        + refused(channel, api, from: nil, to: nil)
    )
  }

  private static func thaw(_ remote: RemoteOrigin, _ name: String, _ arguments: Arguments) throws -> Outcome {
    let (api, channel) = (try remote.api, try remote.address)
    let planned = try arguments.number("planned", in: 1...Int.max).map { Int64($0) }
    let answer = try api.thaw(channel, ThawRequest(planned: planned))
    guard planned != nil else {
      return (
        answer.document,
        answer.value.changed ? "channel \(name) accepts releases again" : "channel \(name) was not frozen"
      )
    }
    let isFrozen = try api.overview(of: channel).value.freeze != nil
    return (
      answer.document,
      "took back the freeze of \(name) \(answer.value.lifted?.times ?? "")"
        + (isFrozen
          ? "; the channel is still frozen: `xcache channel thaw\(channel.channel.option)` lifts what holds now"
          : "")
    )
  }
}

extension ChannelName {
  /// The option that names it to a command; empty for the channel that needs none.
  var option: String { self == .online ? "" : " --channel \(self)" }
}

extension ChannelFreeze {
  /// When it begins and ends.
  var times: String {
    "from \(since.formatted) \(calendar?.to.map { "to \($0.formatted)" } ?? "until it is thawed")"
  }
}
