import Manifests
import OriginAPI
import Publishing

/// `xcache status`: what a channel holds now.
enum StatusCommand {
  static let command = Command(
    name: "status", operands: "", summary: "show what a channel holds now", notes: "",
    options: Command.remote + Command.channel, run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands()
    let remote = try RemoteOrigin(arguments)
    let state = try remote.api.get(try remote.path)
    if arguments.has("json") {
      var state = state.object ?? JSONObject()
      state["adoption"] = try remote.api.get("\(try remote.path)/adoption")
      terminal.say(String(decoding: JSONValue.object(state).canonical, as: UTF8.self))
      return .done
    }
    let version = state["version"]?.string ?? "?"
    terminal.say(terminal.colour("\(try remote.app) \(remote.channel)", .bold) + "  version \(version)")
    if version == "0" {
      terminal.say("nothing is published yet")
      return .done
    }
    if let freeze = state["freeze"], let reason = freeze["reason"]?.string {
      terminal.say(
        terminal.colour("FROZEN", .red) + "     by \(freeze["author"]?.string ?? "?") since "
          + "\(Moment.text(freeze["at"])): \(reason)")
    }
    terminal.say("released   \(Moment.text(state["at"]))")
    terminal.say(
      "holds      \(state["resources"]?.integer ?? 0) resources, \(Bytes.text(state["bytes"]?.integer ?? 0))")
    if let deltas = state["deltas"], deltas.object != nil {
      terminal.say("deltas     \(words(ofDeltas: deltas))")
    }
    terminal.say("public URL \(state["publicURL"]?.string ?? "?")")
    if state["isDefaultApp"]?.bool == true { terminal.say("default    answers polls that name no app") }
    for line in documents(state, terminal) { terminal.say(line) }
    for line in files(state, terminal) { terminal.say(line) }
    terminal.say("")
    var table = Table(["BUNDLE", "CHANGED IN", "RESOURCES", "SIZE"], rightAligned: [1, 2, 3])
    for bundle in state["bundles"]?.array ?? [] {
      table.add([
        bundle["name"]?.string ?? "?", bundle["version"]?.string ?? "?",
        "\(bundle["resources"]?.integer ?? 0)",
        Bytes.text(bundle["bytes"]?.integer ?? 0),
      ])
    }
    for line in table.lines { terminal.say(line) }
    let adoption = AdoptionChart.lines(try remote.api.adoption(of: try remote.address).value)
    if !adoption.isEmpty { terminal.say("") }
    for line in adoption { terminal.say(line) }
    return .done
  }

  /// Whether the origin's files are whole, as far as it knows.
  private static func files(_ state: JSONValue, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    if let oldest = state["scrub"]?["oldest"]?.string {
      lines.append("scrub      every file was read back since \(Moment.text(.string(oldest)))")
    }
    for place in state["damagedURLs"]?.array ?? [] {
      lines.append(
        terminal.colour("DAMAGED", .red)
          + "    \(place["url"]?.string ?? "?"): publish bundle \(place["bundle"]?.string ?? "?") again")
    }
    return lines
  }

  private static func words(ofDeltas deltas: JSONValue) -> String {
    guard let pending = deltas["pending"]?.integer else { return "on older versions: being looked for" }
    if pending == 0 { return "all made" }
    let files = "\(deltas["filesDone"]?.integer ?? 0) of \(deltas["files"]?.integer ?? 0) files"
    return "on \(pending) older versions to be made; of the next, \(files) are done"
  }

  /// What the channel says beside its manifest; the kill switch first.
  private static func documents(_ state: JSONValue, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    if let policy: DocumentAnswer = try? state["policy"]?.decode() {
      if let alarm = PolicyWords(policy.policy).alarm(terminal) { lines.append(alarm) }
      lines.append("policy     \(DocumentLog.line(policy))")
    }
    if let prefetch: DocumentVersion = try? state["prefetch"]?.decode() {
      lines.append("prefetch   \(DocumentLog.line(prefetch))")
    }
    if let interval = state["interval"]?.integer { lines.append("interval   \(interval) s between polls") }
    return lines
  }
}

/// Times of the API as people read them.
enum Moment {
  /// `2026-11-20 15:17:27 UTC`, of the API's `2026-11-20T15:17:27.000Z`.
  static func text(_ value: JSONValue?) -> String {
    guard let text = value?.string, text.utf8.count >= 19 else { return "—" }
    return text.prefix(10) + " " + text.dropFirst(11).prefix(8) + " UTC"
  }
}
