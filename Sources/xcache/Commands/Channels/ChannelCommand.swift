import Manifests
import OriginAPI
import Publishing

/// `xcache channel list | create | remove | freeze | thaw | set | default-app`.
enum ChannelCommand {
  static let command = Command(
    name: "channel", operands: "list | create | remove | freeze | thaw | set | default-app [NAME]",
    summary: "manage channels: make and remove them, refuse releases, change how they are served",
    examples: [
      .init("list", "every channel that the token may read"),
      .init("create --app shop --channel test", "a second channel"),
      .init("freeze --reason 'sale' --app shop", "refuse releases until thaw"),
      .init("set --interval 120 --app shop", "have devices poll every two minutes"),
    ],
    notes: """
      freeze --reason TEXT: releases are refused (exit code 3, with who froze it, when and why) until thaw; publish,
      unpublish, rollback and promote take --break-glass REASON for the case that can't wait. remove takes a channel
      that holds nothing; made again, it goes on with its numbers. set --interval SECONDS asks devices to wait longer
      than the usual 30 seconds between polls; none takes that back. set --hosts NAMES (an admin's act) limits what may be
      published to URLs of these hosts, such as m.example.com,*.example.org: publish, rollback, promote and prefetch push
      are refused (exit code 3) where they name others; unpublish never is, and what is live stays. * lifts it. set
      --reports PERCENT says how many of their batches of counts devices send (status shows them): 100 unless set, and
      none takes it back. create and remove need --channel on the command
      line; freeze, thaw and set are about online where no channel is named. default-app NAME names the app that answers
      polls which name none: the first one that was made, until another is named; without NAME it is shown.
      """,
    options: Command.remote + Command.channel + ChannelActions.options + ChannelSet.options + [
      Command.all.only("list")
    ],
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "list": return try ChannelActions.list(arguments, terminal)
      case let verb? where ["create", "remove", "freeze", "thaw"].contains(verb):
        return try ChannelActions.act(verb, arguments, terminal)
      case "set": return try ChannelSet.run(arguments, terminal)
      case "default-app": return try ChannelActions.defaultApp(arguments, terminal)
      default: throw UsageError("channel list, create, remove, freeze, thaw, set or default-app?")
      }
    })
}

/// `xcache channel set`: the interval between polls, the hosts of releases, the share of reports.
enum ChannelSet {
  static let options: [Option] = [
    .value("interval", "SECONDS", "how long devices wait between polls, 30 to 3600, or none (set)").only(
      "set"),
    .value("hosts", "NAMES", "the hosts that releases may name, with commas between, or * for all (set)")
      .only("set"),
    .value("reports", "PERCENT", "how many batches of counts devices send, 0 to 100, or none (set)").only(
      "set"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("set")
    var (request, words) = (ChannelSettingsRequest(), [String]())
    if let text = try arguments.value("interval") {
      let interval = try interval(text)
      request.interval = interval.map { .integer($0) } ?? .null
      words.append(
        interval.map { "devices are asked to wait \($0) s between polls" } ?? "no interval is asked for")
    }
    if let text = try arguments.value("hosts") {
      let hosts = try HostOutput.list(text)
      request.hosts = hosts.map { .strings($0.names) } ?? .null
      words.append(
        hosts.map { "releases may name \($0.names.joined(separator: ", ")) alone; what is live stays" }
          ?? "releases may name every host")
    }
    if let text = try arguments.value("reports") {
      let share = text == "none" ? nil : try Percentage.read(text)
      request.reports = share.map { .integer($0) } ?? .null
      words.append(
        share.map { "devices are asked for \(Percentage.text($0)) of their batches of counts" }
          ?? "no share of reports is asked for: devices send all")
    }
    guard !words.isEmpty else {
      throw UsageError("what is to be set? Give --interval SECONDS, --hosts NAMES or --reports PERCENT")
    }
    let remote = try RemoteOrigin(arguments)
    let answer = try remote.api.change(request, of: try remote.address)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      for line in words { terminal.say(line) }
    }
    return .done
  }

  private static func interval(_ text: String) throws -> Int? {
    if text == "none" { return nil }
    let allowed = AnswerExtras.intervals
    guard let interval = Int(text), allowed.contains(interval) else {
      throw UsageError(
        "--interval \(text): seconds from \(allowed.lowerBound) to \(allowed.upperBound), or none, are needed"
      )
    }
    return interval
  }
}

/// `--hosts`, of a channel or a token.
enum HostOutput {
  /// The hosts that are named; nil for `*`, which stands for all. None is an error: an unset variable lifts no limit.
  static func list(_ text: String) throws -> HostList? {
    let names = text.split { $0 == "," || $0 == " " }.map(String.init)
    if names.isEmpty { throw UsageError("--hosts names no host; '*' is all of them") }
    do {
      return try HostList(names).limit
    } catch {
      throw UsageError("--hosts \(text): \(error)")
    }
  }

  /// As tables have them.
  static func cell(_ hosts: [String]?) -> String { hosts?.joined(separator: ",") ?? "all" }
}

/// `--reports`: a share of batches, in hundredths of a percent.
enum Percentage {
  /// Reads `10`, `10%` or `0.25%`.
  static func read(_ text: String) throws -> Int {
    let number = text.hasSuffix("%") ? text.dropLast() : text[...]
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let (whole, fraction) = (parts.first ?? "", parts.count > 1 ? parts[1] : "0")
    let areDigits = (whole + fraction).utf8.allSatisfy { (0x30...0x39).contains($0) }
    guard areDigits, (1...3).contains(whole.utf8.count), (1...2).contains(fraction.utf8.count),
      let percent = Int(whole), let rest = Int(fraction)
    else { throw UsageError(rule(text)) }
    let share = percent * 100 + rest * (fraction.utf8.count == 1 ? 10 : 1)
    guard share <= AnswerExtras.allReports else { throw UsageError(rule(text)) }
    return share
  }

  private static func rule(_ text: String) -> String {
    "--reports \(text): a percentage from 0 to 100, with two decimals at most, or none, is needed"
  }

  /// `0.25 %`
  static func text(_ share: Int) -> String {
    let (whole, rest) = (share / 100, share % 100)
    if rest == 0 { return "\(whole) %" }
    return "\(whole).\(rest < 10 ? "0" : "")\(rest % 10 == 0 ? rest / 10 : rest) %"
  }
}
