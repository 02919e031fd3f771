import Manifests
import OriginAPI
import Publishing

/// `xcache channel list | create | remove | freeze | thaw`.
enum ChannelActs {
  static let options: [Option] = [
    .value("public-url", "URL", "where devices download from (create; default: as serve says)"),
    .value("reason", "TEXT", short: "m", "why it is frozen, for those whom it stops (freeze)"),
  ]

  static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("list")
    let remote = try RemoteOrigin(arguments)
    let answer = try remote.api.get("apps")
    let channels = answer["channels"]?.array ?? []
    // A misspelt name has no channel, which isn't the same as an app without any.
    if let app = remote.settings.app, !channels.contains(where: { $0["app"]?.string == app.text }) {
      let there = Set(channels.compactMap { $0["app"]?.string }).sorted().joined(separator: ", ")
      throw Failure(
        "there is no app \(app) with a channel that this token may read"
          + (there.isEmpty ? "" : "; there is \(there)"))
    }
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
      return .done
    }
    var table = Table(
      ["APP", "CHANNEL", "VERSION", "RELEASED", "RESOURCES", "SIZE", "STATE"], rightAligned: [2, 4, 5])
    for channel in channels {
      if let app = remote.settings.app, channel["app"]?.string != app.text { continue }
      let freeze = channel["freeze"].flatMap { $0.isNull ? nil : $0 }
      let state = freeze.map { "frozen by \($0["author"]?.string ?? "?"): \($0["reason"]?.string ?? "")" }
      table.add([
        channel["app"]?.string ?? "?", channel["channel"]?.string ?? "?", channel["version"]?.string ?? "?",
        Moment.text(channel["at"]), "\(channel["resources"]?.integer ?? 0)",
        Bytes.text(channel["bytes"]?.integer ?? 0), state ?? "open",
      ])
    }
    if table.isEmpty {
      terminal.say("there is no channel yet; the first publish with an admin token makes one")
    } else {
      for line in table.lines { terminal.say(line) }
    }
    if let app = answer["defaultApp"]?.string { terminal.say(defaultWords(app, answer)) }
    return .done
  }

  /// Who answers polls that name no app.
  /// - Parameter list: the origin's apps and channels.
  private static func defaultWords(_ app: String, _ list: JSONValue) -> String {
    let hasChannel = (list["channels"]?.array ?? []).contains { $0["app"]?.string == app }
    guard hasChannel else {
      return "the default app is \(app), which has no channel: polls that name no app get 404; "
        + "`xcache channel default-app NAME` names another app"
    }
    return "polls that name no app are answered by \(app)"
  }

  /// Names the app that answers where none is named, or tells which one does.
  static func defaultApp(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let api = try RemoteOrigin(arguments).api
    let answer: JSONValue
    var line: String
    if arguments.operands.count > 1 {
      // By its name alone, not by a setting that happens to be around.
      let name = try SettingsValue.app(try arguments.operands("default-app", "NAME")[1], in: "NAME")
      answer = try api.send("POST", "default-app", json: ["app": .string(name.text)])
      line = "polls that name no app are answered by \(name)"
      switch (answer["changed"]?.bool, answer["was"]?.string) {
      case (false?, _): line += " already"
      case (_, let before?): line += " now; before, \(before) did"
      default: break
      }
    } else {
      let list = try api.get("apps")
      let app = list["defaultApp"] ?? .null
      answer = ["defaultApp": app]
      line =
        app.string.map { defaultWords($0, list) }
        ?? "no app is the default, or none that this token may read"
    }
    terminal.say(arguments.has("json") ? String(decoding: answer.canonical, as: UTF8.self) : line)
    return .done
  }

  /// One of the acts on the channel that is named.
  static func act(_ verb: String, _ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands(verb)
    // A channel is made and removed by its name, not by a setting that happens to be around.
    if ["create", "remove"].contains(verb), arguments.all("channel").isEmpty {
      throw UsageError("which channel? Give --channel NAME")
    }
    let remote = try RemoteOrigin(arguments)
    var body = JSONObject()
    if verb == "create" {
      body["publicURL"] = try arguments.value("public-url").map {
        .string(try SettingsValue.url($0, in: "--public-url").text)
      }
    }
    if verb == "freeze" {
      guard let reason = try arguments.value("reason"), !reason.isEmpty else {
        throw UsageError("why? Give --reason TEXT, for those whom the freeze stops")
      }
      body["reason"] = .string(reason)
    }
    let answer = try remote.api.send("POST", "\(try remote.path)/\(verb)", json: .object(body))
    if arguments.has("json") {
      terminal.say(String(decoding: answer.canonical, as: UTF8.self))
    } else {
      terminal.say(words(verb, "\(remote.channel) of \(try remote.app)", answer))
    }
    return .done
  }

  private static func words(_ verb: String, _ name: String, _ answer: JSONValue) -> String {
    switch verb {
    case "create":
      return "created channel \(name); its next version is above \(answer["version"]?.string ?? "0")"
    case "remove":
      let words = "removed channel \(name); nobody is answered for it any more"
      guard answer["leavesNoDefault"]?.bool == true else { return words }
      return words + "\npolls that name no app aren't either: that was the default app's last channel, and "
        + "`xcache channel default-app NAME` names another app"
    case "freeze": return "channel \(name) is frozen: it refuses releases until it is thawed"
    default:
      guard answer["changed"]?.bool == true else { return "channel \(name) was not frozen" }
      return "channel \(name) takes releases again"
    }
  }
}
