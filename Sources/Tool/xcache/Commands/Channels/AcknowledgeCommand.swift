import Manifests
import OriginAPI
import OriginClient
import System
import Values

/// `xcache acknowledge CODE`: says of a problem that it is known.
enum AcknowledgeCommand {
  static let command = Command(
    name: "acknowledge", operands: "CODE", summary: "say of a problem that it is known",
    examples: [
      .init("lagging --app shop -m 'the old app has to be updated first' --until 2d", "for two days"),
      .init("disk -m 'a larger one comes on Monday' --until 2026-12-07T12:00+01:00", "the origin's own"),
      .init("lagging --app shop --off", "it needs attention again"),
    ],
    notes: """
      CODE is a problem as 'xcache status' names it, such as lagging. The console then shows it last, and not in its banner;
      status shows who knows of it, until when, and why. Monitoring and webhooks go on as before. It takes scope release in
      the channel; for problems of the origin (disk, scrub, webhook, edge), an admin without limits. It ends by itself at
      --until, at most 30 days ahead, when the problem is over, and when it becomes an error from a warning. Doing it again
      replaces the reason and the time.
      """,
    options: Command.remote + Command.channel + [
      .value("message", "WHY", short: "m", "why it needs no attention for now; required without --off"),
      .value(
        "until", "TIME",
        "until when: 4h, 2d, or a time such as 2026-11-19T14:05+08:00; required without --off"),
      .flag("off", "it needs attention again"),
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    if arguments.operands.isEmpty {
      throw UsageError("CODE is missing: a problem as 'xcache status' names it, such as lagging")
    }
    let code = try arguments.operands("CODE")[0].lowercased()
    let message = try arguments.text("message", .line(bytes: 500))
    let until = try until(arguments)
    let isOff = arguments.has("off")
    if isOff, message != nil || until != nil { throw UsageError("--off takes neither --message nor --until") }
    let remote = try RemoteOrigin(arguments)
    let isOrigins = remote.settings.app == nil || (ofOrigin.contains(code) && !arguments.isGiven("app"))
    if isOrigins, !ofOrigin.contains(code) {
      throw UsageError("\(code) is no problem of the origin: name the app whose channel has it, with --app")
    }
    let channel = isOrigins ? nil : try remote.address
    let place = channel.map { "\($0.app) \($0.channel)" } ?? "the origin"
    if isOff {
      let answer = try remote.api.withdrawAcknowledgement(of: code, in: channel)
      terminal.say(answer.document, "\(code) of \(place) needs attention again", arguments)
      return .done
    }
    guard let message, !message.allSatisfy(\.isWhitespace) else {
      throw UsageError("-m WHY is required: why it needs no attention for now")
    }
    guard let until else {
      throw UsageError("--until TIME is required, such as --until 4h: when it needs attention again")
    }
    let answer = try remote.api.acknowledge(
      AcknowledgeRequest(
        app: channel?.app, channel: channel?.channel, code: code, reason: message, until: until))
    terminal.say(answer.document, "\(code) of \(place) is acknowledged until \(until.formatted)", arguments)
    return .done
  }

  /// The problems that no channel has.
  private static let ofOrigin: Set<String> = ["disk", "scrub", "webhook", "edge"]

  /// How far ahead the end may be, in seconds; the origin has the same limit.
  private static let longest: Int64 = 30 * 86_400

  /// Returns when it ends: a duration from now, or a time.
  private static func until(_ arguments: Arguments) throws -> Moment? {
    guard let text = try arguments.value("until") else { return nil }
    if let seconds = Arguments.seconds(of: text, in: "mhdw") {
      guard seconds <= longest else { throw UsageError("--until \(text): at most 30 days ahead") }
      return Moment(milliseconds: (Clock.unixMilliseconds() / 1000 + seconds) * 1000)
    }
    return try arguments.time(ahead: "until")
  }
}

extension Terminal {
  fileprivate func say(_ document: JSONValue, _ words: String, _ arguments: Arguments) {
    if arguments.has("json") { say(json: document) } else { say(words) }
  }
}
