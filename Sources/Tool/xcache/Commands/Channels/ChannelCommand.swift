import Manifests
import OriginAPI
import Publishing
import Values

/// `xcache channel list | show | create | remove | freeze | thaw | set | default-app`.
enum ChannelCommand {
  static let command = Command(
    name: "channel",
    operands:
      "list | (show | create | remove | freeze | thaw | set | protect) [CHANNEL] | default-app [NAME]",
    summary: "manage channels: create, remove, freeze, protect and configure them",
    examples: [
      .init("list", "all channels that the token may read"),
      .init("show test --app shop", "a channel's settings and state"),
      .init("create test --app shop", "add a channel"),
      .init("freeze --reason 'sale' --app shop", "refuse releases until it is thawed"),
      .init("freeze --from 2026-12-24T00:00+01:00 --to 2027-01-02T08:00+01:00 -m 'holidays'", "by calendar"),
      .init("set --interval 120 --app shop", "make devices poll every two minutes"),
      .init(
        "set --public-url https://cdn.example.com/hxm --app shop",
        "move downloads to a CDN: shows the cost, and asks"),
      .init("protect --approvals 1 --by 'mobile-*' --app shop", "somebody else approves each change"),
    ],
    notes: """
      freeze: releases and changes of the prefetch config are refused (exit code 3, with who froze the channel, when
      and why) until thaw; publish, unpublish, rollback, promote and prefetch accept --break-glass REASON for
      emergencies. The policy, with its kill switch, can always be changed. --from and --to make a freeze that begins
      and ends by itself, such as 2026-12-24T00:00+01:00; several may be planned. thaw lifts those that hold now, and
      --planned ID takes back one of a calendar, begun or not.
      create, remove: only a channel without content can be removed; if created again, its version numbers continue.
      Both need the channel's name on the command line, as an operand or as --channel; the others use online if no
      channel is given. list --all also lists other apps than the one that is set.
      set --interval SECONDS asks devices to poll less often than every 30 seconds; none resets it. set --hosts NAMES
      (admin tokens only) limits the hosts of published URLs, such as m.example.com,*.example.org: publish, rollback,
      promote and prefetch push are refused (exit code 3) if they name others; unpublish never is, and live content
      stays. * lifts the limit. set --reports PERCENT sets the share of usage reports that devices send (see
      status): 100 by default; none resets it. set --samples off has devices send no examples of errors (see samples), and
      forgets those that are kept; on is the default.
      set --public-url URL makes a release in which all downloads are at another URL. Devices take the changed manifest and
      fetch no file again. The URL before has to go on answering for devices that haven't polled since. It shows the cost
      and asks; --yes does it without asking, --dry-run only shows it.
      protect --approvals N: what changes the channel waits until N others have approved it: a publish, unpublish, promotion,
      prefetch push, policy change, and a step of a rollout to more devices than --above. Rollback, halt, pause and kill never
      wait. Neither who asked for it may approve it, nor a CI job. 'xcache approve' lists what waits. It replaces all that was
      said before; --off ends it, and what waits then still needs what it needed when it was asked for. Works beside signatures
      and --schedule, in any order.
      default-app NAME sets the app that answers polls without an app: at first, the one created first. Without NAME
      it prints the current one.
      """,
    options: Command.remote + Command.channel + ChannelActions.options + ChannelSet.options
      + ChannelProtect.options + [
        Command.all.only("list")
      ],
    run: { arguments, terminal in
      switch arguments.operands.first {
      case "list": return try ChannelActions.list(arguments, terminal)
      case let verb? where ["create", "remove", "freeze", "thaw"].contains(verb):
        return try ChannelActions.act(verb, arguments, terminal)
      case "show": return try ChannelActions.show(arguments, terminal)
      case "set": return try ChannelSet.run(arguments, terminal)
      case "protect": return try ChannelProtect.run(arguments, terminal)
      case "default-app": return try ChannelActions.defaultApp(arguments, terminal)
      default:
        throw UsageError(
          "expected channel list, show, create, remove, freeze, thaw, set, protect or default-app")
      }
    })
}

/// `xcache channel set`: the poll interval, the hosts of releases, the share of reports, error samples.
enum ChannelSet {
  static let options: [Option] = [
    .value("public-url", "URL", "move downloads to this URL, by a release (set)").only("set"),
    .value("message", "TEXT", "with --public-url: a message for the log (set)").only("set"),
    .value(
      "break-glass", "REASON",
      "with --public-url: even if the channel is frozen; the reason is recorded (set)"
    ).only(
      "set"),
    .flag("dry-run", "with --public-url: show the cost; change nothing (set)").only("set"),
    .flag("yes", short: "y", "with --public-url: don't ask (set)").only("set"),
    .value("interval", "SECONDS", "seconds between a device's polls, 30 to 3600; none resets it (set)").only(
      "set"),
    .value("hosts", "NAMES", "the hosts that releases may use, separated by commas, or * for all (set)")
      .only("set"),
    .value(
      "reports", "PERCENT",
      "the percentage of usage reports that devices send, 0 to 100; none resets it (set)"
    )
    .only(
      "set"),
    .value("samples", "on|off", "whether devices send examples of errors; off forgets those kept (set)")
      .only("set"),
  ]

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try ChannelActions.named(arguments)
    if let text = try arguments.value("public-url") {
      for other in ["interval", "hosts", "reports", "samples"] where arguments.isGiven(other) {
        throw UsageError("--public-url makes a release of its own: give --\(other) in another command")
      }
      return try ChannelMove.run(
        to: try SettingsValue.url(text, in: "--public-url"), remote, arguments, terminal)
    }
    for option in ["message", "break-glass", "dry-run", "yes"] where arguments.isGiven(option) {
      throw UsageError("--\(option) can only be used with --public-url")
    }
    var (request, words) = (ChannelSettingsRequest(), [String]())
    if let text = try arguments.value("interval") {
      let interval = try interval(text)
      request.interval = interval.map { .integer($0) } ?? .null
      words.append(
        interval.map { "devices wait \($0) s between polls" } ?? "devices poll at the usual interval")
    }
    if let text = try arguments.value("hosts") {
      let hosts = try HostOutput.list(text)
      request.hosts = hosts.map { .strings($0.names) } ?? .null
      words.append(
        hosts.map { "releases may use only \($0.names.joined(separator: ", ")); live content stays" }
          ?? "releases may use all hosts")
    }
    if let text = try arguments.value("reports") {
      let share = text == "none" ? nil : try Percentage.read(text)
      request.reports = share.map { .integer($0) } ?? .null
      words.append(
        share.map { "devices send \(ShareText.percent($0)) of their usage reports" }
          ?? "devices send all usage reports")
    }
    if let text = try arguments.value("samples") {
      guard text == "on" || text == "off" else { throw UsageError("--samples \(text): expected on or off") }
      request.samples = text == "on"
      words.append(text == "on" ? "devices send examples of errors" : "devices send no examples of errors")
    }
    guard !words.isEmpty else {
      throw remote.missing(
        "nothing to set: give --interval SECONDS, --hosts NAMES, --reports PERCENT, --samples on|off or --public-url URL"
      )
    }
    let answer = try remote.api.change(request, of: try remote.address)
    if let text = try arguments.value("hosts"), let hosts = try HostOutput.list(text),
      let warning = try? strangers(to: hosts, remote)
    {
      terminal.remark(warning)
    }
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      for line in words { terminal.say(line) }
      if let count = answer.value.forgottenSamples, count > 0 {
        terminal.say("\(Count.text(count, "kept example")) forgotten")
      }
    }
    return .done
  }

  /// Warns if the live content has hosts that its next release may not have: probably a misspelt name. Nil if it has none.
  private static func strangers(to hosts: HostList, _ remote: RemoteOrigin) throws -> String? {
    let channel = try remote.address
    var strangers: Set<String> = []
    for bundle in try remote.api.overview(of: channel).value.bundles where bundle.resources > 0 {
      for member in try remote.api.entries(of: bundle.name, in: channel).entries.object?.members ?? [] {
        guard let url = try? ResourceURL(member.key), !hosts.contains(url) else { continue }
        strangers.insert(String(url.host))
      }
    }
    guard let host = strangers.min() else { return nil }
    let near = Spelling.nearest(to: host, among: hosts.names).map { "; was \(host) meant by \($0)?" } ?? ""
    return
      "warning: the live version has URLs of \(strangers.sorted().prefix(3).joined(separator: ", ")), which the list "
      + "lacks: publishing them again will be refused\(near)"
  }

  private static func interval(_ text: String) throws -> Int? {
    if text == "none" { return nil }
    let allowed = AnswerExtras.intervals
    guard let interval = Int(text), allowed.contains(interval) else {
      throw UsageError(
        "--interval \(text): expected \(allowed.lowerBound) to \(allowed.upperBound) seconds, or none"
      )
    }
    return interval
  }
}

/// The value of `--hosts`, of a channel or a token.
enum HostOutput {
  /// Returns the named hosts, or nil for `*`. An empty list is an error: an unset variable must not lift a limit.
  static func list(_ text: String) throws -> HostList? {
    let names = text.split { $0 == "," || $0 == " " }.map(String.init)
    if names.isEmpty { throw UsageError("--hosts contains no host; '*' means all hosts") }
    do {
      return try HostList(names).limit
    } catch {
      throw UsageError("--hosts \(text): \(error)")
    }
  }

  /// Formats hosts for a table.
  static func cell(_ hosts: [String]?) -> String { hosts?.joined(separator: ",") ?? "all" }
}

/// A percentage as it is written on the command line, such as the value of `--reports`.
enum Percentage {
  /// Reads `10`, `10%` or `0.25%` as a share of 10,000.
  static func read(_ text: String) throws -> Int { try read(text) { UsageError(rule(text)) } }

  /// Reads a percentage; `refusal` returns the error for anything else.
  static func read(_ text: String, refusal: () -> UsageError) throws -> Int {
    let number = text.hasSuffix("%") ? text.dropLast() : text[...]
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let (whole, fraction) = (parts.first ?? "", parts.count > 1 ? parts[1] : "0")
    let areDigits = (whole + fraction).utf8.allSatisfy { (0x30...0x39).contains($0) }
    guard areDigits, (1...3).contains(whole.utf8.count), (1...2).contains(fraction.utf8.count),
      let percent = Int(whole), let rest = Int(fraction)
    else { throw refusal() }
    let share = percent * 100 + rest * (fraction.utf8.count == 1 ? 10 : 1)
    guard share <= AnswerExtras.allReports else { throw refusal() }
    return share
  }

  private static func rule(_ text: String) -> String {
    "--reports \(text): expected a percentage from 0 to 100 with at most two decimals, or none"
  }
}
