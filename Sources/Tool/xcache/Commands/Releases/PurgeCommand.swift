import OriginAPI
import OriginClient
import Publishing
import System
import Values

/// `xcache purge`: takes bytes back from everywhere.
enum PurgeCommand {
  static let command = Command(
    name: "purge", operands: "URL|SHA256 | list | lift SHA256",
    summary: "remove a file's bytes from every version, and refuse them from then on",
    examples: [
      .init("https://m.example.com/shop/.env --dry-run", "which versions, files and URLs that is"),
      .init("https://m.example.com/shop/.env --reason 'a key was published'", "show it, and ask"),
      .init(
        "3f4a…c2 --reason 'a key was published' --yes --urls | your-cdn-purge",
        "without asking; the CDN's URLs"),
      .init("list", "what was purged, and why"),
    ],
    notes: """
      For a secret that was published. Channels that have the bytes first get a release without them. Then every
      version that has them is removed, pinned or not, and can no longer be shown or rolled back to, and so is every
      file that was made of them: compressed bodies, deltas, packs and zips. The origin answers 404 at once. Runs of
      mirror and backup that are under way have to start over; the next run of mirror removes the bytes from its
      copy, and mirror verify names what is left. What a CDN has cached has to be purged there: --urls prints the
      URLs, also when the purge is long done. The bytes are refused from then on (exit code 3), whoever publishes
      them and under whatever URL, until lift. Backups made before still have them. A secret that was out is known:
      replace it.
      Bytes of a version that gc dropped may still be in copies and where serve --cdn push brings files: give their
      sha256, with --unknown.
      A URL that has had several contents is refused with the list of them; give the sha256 then. Needs an unrestricted
      admin token.
      """,
    options: Command.remote + [
      .value(
        "reason", "TEXT", short: "m", "why; it is recorded, and shown to whoever publishes the bytes again"
      ).only("", "lift"),
      .value("break-glass", "REASON", "also release to channels that are frozen; the reason is recorded")
        .only(""),
      .flag("dry-run", "show what would be removed; change nothing").only(""),
      .flag(
        "unknown",
        "also bytes that no kept version has: refuse them, and remove what was pushed or copied of versions before"
      ).only(""),
      .flag("urls", "print only the URLs to purge at a CDN").only(""),
      .flag("yes", short: "y", "don't ask").only(""), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "list": return try list(arguments, terminal)
    case "lift": return try lift(arguments, terminal)
    default: return try purge(try arguments.operands("URL or SHA256")[0], arguments, terminal)
    }
  }

  private static func purge(_ content: String, _ arguments: Arguments, _ terminal: Terminal) throws
    -> ExitCode
  {
    guard content.contains("://") || SHA256(hex: content.lowercased()) != nil else {
      let suggestion = Spelling.suggestion(for: content, among: ["list", "lift"])
      throw UsageError(
        "\(content) is neither a URL nor a sha256, which has 64 hexadecimal digits\(suggestion)")
    }
    let remote = try RemoteOrigin(arguments, namesApp: false, namesChannel: false)
    let isDryRun = arguments.has("dry-run")
    let reason = try arguments.text("reason")
    if !isDryRun, reason?.isEmpty ?? true {
      throw remote.missing("--reason TEXT is required: it is shown to whoever publishes these bytes again")
    }
    var request = PurgeRequest(
      content: content, reason: reason, breakGlass: try arguments.breakGlass(), dryRun: true,
      unknown: arguments.has("unknown") ? true : nil)
    if !isDryRun, !arguments.has("yes") {
      guard try isConfirmed(&request, remote, arguments, terminal) else { return .refused }
    }
    request.dryRun = isDryRun
    let answer = try remote.api.purge(request)
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else if arguments.has("urls") {
      for url in answer.value.urls { terminal.say(url) }
    } else {
      terminal.say(list: lines(answer.value), all: arguments.has("all"))
      for line in endLines(answer.value, terminal) { terminal.say(line) }
      for line in try scheduled(answer.value, remote.api) { terminal.note(line) }
    }
    return .done
  }

  /// The scheduled acts of the channels that had the bytes, which may need them.
  private static func scheduled(_ answer: PurgeAnswer, _ api: OriginClient) -> [String] {
    answer.channels.flatMap { channel in
      ScheduleCommand.waiting(ChannelAddress(channel.app, channel.channel), api).filter {
        ["publish", "promote", "rollback"].contains($0.act)
      }
      .map {
        "scheduled act \($0.id) of \(channel.app) \(channel.channel) (\($0.summary)) is refused when it is due if it has these bytes, "
          + "or was planned on a version that had them: publish and schedule it again"
      }
    }
  }

  /// Shows what would be removed, and asks. The request then names the bytes themselves.
  private static func isConfirmed(
    _ request: inout PurgeRequest, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) throws -> Bool {
    let words = "--yes purges without asking, --dry-run only shows it"
    if arguments.has("json") { throw UsageError("with --json nothing can be asked: \(words)") }
    let plan = try remote.api.purge(request).value
    terminal.note(list: lines(plan), all: arguments.has("all"))
    guard let isConfirmed = try terminal.confirms("remove these bytes from everywhere, for good?") else {
      throw UsageError("nothing was changed, because there is no terminal to ask on: \(words)")
    }
    if !isConfirmed { terminal.note("nothing was changed") }
    request.content = plan.sha256.hex
    return isConfirmed
  }

  static func lines(_ answer: PurgeAnswer) -> [String] {
    if let earlier = answer.earlier {
      return [
        "\(answer.sha256) was purged by \(earlier.author), \(earlier.at.formatted): \(earlier.reason)",
        "no kept version of any channel has these bytes",
      ]
    }
    let size = answer.size.map { ", \(Bytes.text($0))" } ?? ""
    var lines = ["\(answer.dryRun ? "would purge" : "purged") \(answer.sha256)\(size)"]
    if answer.channels.isEmpty { lines.append("no kept version of any channel has these bytes") }
    for channel in answer.channels {
      let place = "\(channel.app) \(channel.channel)"
      lines += channel.urls.map { "\(place)  \($0)" }
      if !channel.bundles.isEmpty {
        let bundles = channel.bundles.joined(separator: ", ")
        lines.append(
          "\(place)  "
            + (channel.release.map { "version \($0) is without it (bundle \(bundles))" }
              ?? "live in bundle \(bundles): a release without it would come first"))
      }
      if let candidate = channel.endedCandidate {
        lines.append(
          "\(place)  "
            + (answer.dryRun
              ? "the rollout of version \(candidate) would end: all devices would get one version"
              : "the rollout of version \(candidate) has ended: all devices get "
                + (channel.release.map { "version \($0)" } ?? "one version")
                + ", and a prefetch config that went along with it is dropped"))
      }
      if !channel.dropped.isEmpty {
        let words =
          answer.dryRun
          ? "would no longer be shown or rolled back to" : "can't be shown or rolled back to any more"
        lines.append(
          "\(place)  \(channel.dropped.count == 1 ? "version" : "versions") \(channel.dropped.ranges) \(words)"
            + (channel.pinned.isEmpty ? "" : ", although \(channel.pinned.ranges) was pinned"))
      }
    }
    return lines
  }

  private static func endLines(_ answer: PurgeAnswer, _ terminal: Terminal) -> [String] {
    var lines: [String] = []
    if !terminal.isQuiet, !answer.urls.isEmpty {
      let command = "`xcache purge \(answer.sha256) --dry-run --urls`"
      lines.append(
        answer.dryRun
          ? "purge \(Count.text(answer.urls.count, "URL")) at the CDN, too: \(command) prints them"
          : "now purge these URLs at the CDN:")
      if !answer.dryRun { lines += answer.urls.map { "  " + $0 } }
      if answer.urls.contains(where: { $0.contains("*") }) {
        lines.append("where a URL ends with *, purge all that begins so: there are too many zips to list")
      }
    }
    if !terminal.isQuiet, answer.channels.isEmpty, answer.urls.isEmpty {
      lines.append(
        "no URL of them is known: if a CDN may have cached them, find their URLs in its log, and purge them there"
      )
    }
    if !terminal.isQuiet, !answer.dryRun {
      lines.append(
        "run `xcache mirror` with each copy's --to to remove them there, too, and replace the secret: who has seen it keeps it"
      )
    }
    return lines + (answer.receipt.map { ["receipt \($0)"] } ?? [])
  }

  // MARK: - What was purged

  private static func list(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    _ = try arguments.operands("list")
    let answer = try RemoteOrigin(arguments).api.purges()
    if arguments.has("json") {
      terminal.say(json: answer.document)
      return .done
    }
    var table = Table(["SHA256", "PURGED", "BY", "REASON"])
    for purge in answer.value.purges {
      table.add([purge.sha256.hex, purge.at.formatted, purge.author, purge.reason])
    }
    if table.isEmpty {
      terminal.say("nothing was purged")
    } else {
      terminal.say(list: table.lines, head: 1, all: arguments.has("all"))
    }
    return .done
  }

  private static func lift(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let digest = try arguments.operands("lift", "SHA256")[1].lowercased()
    guard SHA256(hex: digest) != nil else {
      throw UsageError(
        "\(digest) is not a sha256, which has 64 hexadecimal digits; `xcache purge list` shows those of what was purged"
      )
    }
    let answer = try RemoteOrigin(arguments).api.liftPurge(digest, reason: try arguments.text("reason"))
    if arguments.has("json") {
      terminal.say(json: answer.document)
    } else {
      terminal.say(
        "these bytes may be published again; they were purged by \(answer.value.author): \(answer.value.reason)"
      )
    }
    return .done
  }
}
