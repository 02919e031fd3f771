import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Trust
import Values

/// `xcache trust status`: the root, its keys, and what isn't signed.
enum TrustStatus {
  /// After this age, in milliseconds, a head is late: the origin signs one a day.
  private static let lateHead: Int64 = 26 * 3_600_000

  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("status")
    let context = try TrustContext(arguments, terminal)
    let answer = try context.remote.api.trust(of: context.app)
    let overview = answer.value
    let drafts = try context.folder.drafts().filter { $0.root.app == context.app }
    let chain = try verified(overview, context)
    let keys = try arguments.all("key").map { ($0, try TrustInit.read($0, arguments, terminal).key.id) }
    if arguments.has("json") {
      var document = answer.document.object ?? JSONObject()
      if !keys.isEmpty {
        document["keys"] = .array(keys.map { ["file": .string($0), "keyid": .string($1.text)] })
      }
      document["verified"] = .bool(chain != nil)
      document["drafts"] = .array(
        drafts.map { TrustDrafts.json(changed: false, $0.signed, chain?.newest.document, $0.path) })
      terminal.say(json: .object(document))
      return
    }
    guard let newest = overview.roots.max(by: { $0.number < $1.number }) else {
      for (path, key) in keys { terminal.say("\(path): key \(TrustOutput.short(key))") }
      terminal.say(
        "app \(context.app) has no root: nothing is signed, and devices take what the origin answers")
      let made = try context.folder.roots().filter { $0.root.app == context.app }
      for draft in made {
        terminal.say(
          "draft  \(draft.path): \(TrustOutput.signatures(draft.signed, after: nil)); not pushed yet")
      }
      return terminal.remark(
        made.first.map { "`xcache trust push \($0.path) --sign-key FILE` puts it in force" }
          ?? "`xcache trust init` makes one")
    }
    let signed = try chain?.newest ?? read(newest)
    let root = signed.document
    terminal.say(
      "root \(root.number) of app \(context.app)\(root.environment.map { ", \($0)" } ?? ""), in force since \(newest.at.formatted), by \(newest.author)"
    )
    if chain == nil {
      terminal.say(
        "  not verified: there is no root of the app in \(context.folder.path); give --root FILE or --out DIR"
      )
    }
    for (path, key) in keys { terminal.say("\(path): \(TrustOutput.role(of: key, in: root))") }
    for line in TrustOutput.lines(root) { terminal.say("  \(line)") }
    say(spareOf: root, overview, terminal)
    for channel in overview.channels { say(headOf: channel, root, terminal) }
    let table = bundles(overview, root)
    if !table.isEmpty { terminal.say(list: table.lines, head: 1, all: arguments.has("all")) }
    if !root.isOff { try say(waitingIn: overview.channels.map(\.channel), context) }
    for draft in drafts {
      let isNext = draft.root.number == root.number.next
      terminal.say(
        "draft  \(draft.path): "
          + (isNext
            ? TrustOutput.signatures(draft.signed, after: root) : "not the next root any more; make it again")
      )
    }
  }

  /// Returns the origin's roots if they can be verified; nil if there is nothing to verify them by.
  private static func verified(_ overview: TrustOverview, _ context: TrustContext) throws -> RootChain? {
    let isKnown =
      try context.arguments.value("root") != nil
      || context.folder.roots().contains { $0.root.app == context.app }
    guard isKnown, !overview.roots.isEmpty else { return nil }
    return try context.chain(overview)
  }

  private static func read(_ root: TrustOverview.Root) throws -> Signed<TrustRoot> {
    do throws(TrustFormError) {
      return try Signed(json: root.envelope)
    } catch {
      throw CeremonyError.notARoot(path: "root \(root.number) of the origin", error)
    }
  }

  private static func say(spareOf root: TrustRoot, _ overview: TrustOverview, _ terminal: Terminal) {
    let spares = root.roots.keys.count - root.roots.threshold
    terminal.say(
      spares > 0
        ? "  \(Count.text(spares, "root key")) may be lost: the others are enough"
        : terminal.colour(
          "  no spare: if a root key is lost, only a new build of the app helps; `xcache trust add-root --new FILE`",
          .yellow))
    // Only an admin is told which keys the origin has.
    if !overview.headKeys.isEmpty, !root.isOff,
      !overview.headKeys.contains(where: { key in root.heads.contains { $0.text == key.keyid } })
    {
      terminal.say(
        terminal.colour(
          "  this origin has none of the head keys: devices take nothing new; `xcache trust rotate-head`",
          .yellow))
    }
  }

  private static func say(headOf channel: TrustedChannel, _ root: TrustRoot, _ terminal: Terminal) {
    guard !root.isOff, channel.version != .none else { return }
    guard let head = channel.head else {
      return terminal.say(
        terminal.colour("head   \(channel.channel): none; `xcache doctor` says why", .yellow))
    }
    let age = Clock.unixMilliseconds() - head.at.milliseconds
    let words =
      "head   \(channel.channel): version \(head.version), \(hours(age)) old, by \(head.keys.map { String($0.prefix(16)) }.joined(separator: ", "))"
    terminal.say(
      age > lateHead
        ? terminal.colour(
          "\(words); the origin should sign one a day: `xcache doctor` says why it doesn't", .yellow)
        : words)
  }

  /// Names the releases that wait for signatures.
  private static func say(waitingIn channels: [ChannelName], _ context: TrustContext) throws {
    for channel in channels {
      for act in ScheduleCommand.waiting(ChannelAddress(context.app, channel), try context.remote.api)
      where act.isUnsigned {
        let next = act.refusal == nil && !act.isComplete ? "; `xcache sign \(act.id)\(channel.option)`" : ""
        context.terminal.say(
          "waits  release \(act.id) in \(channel), \(act.summary) by \(act.author), \(act.remainder(channel))\(next)"
        )
      }
    }
  }

  private static func hours(_ milliseconds: Int64) -> String {
    let minutes = max(0, milliseconds) / 60_000
    return switch minutes {
    case ..<120: Count.text(minutes, "minute")
    case ..<2880: Count.text(minutes / 60, "hour")
    default: Count.text(minutes / 1440, "day")
    }
  }

  private static func bundles(_ overview: TrustOverview, _ root: TrustRoot) -> Table {
    var table = Table(["CHANNEL", "BUNDLE", "SIGNED", "BY", "FLOOR", "PROBLEM"])
    for channel in overview.channels {
      let lists = [(channel.bundles, ""), (channel.candidate, " (candidate)")]
      for (bundles, mark) in lists {
        for bundle in bundles {
          table.add([
            channel.channel.text, bundle.bundle.text + mark, time(bundle.serial),
            bundle.keys.isEmpty ? "—" : bundle.keys.map { String($0.prefix(16)) }.joined(separator: ","),
            time(bundle.floorInForce ?? bundle.floor), bundle.problem ?? "",
          ])
        }
      }
      if let prefetch = channel.prefetch {
        table.add([
          channel.channel.text, "(prefetch config \(prefetch.version))", time(prefetch.serial),
          prefetch.keys.isEmpty ? "—" : prefetch.keys.map { String($0.prefix(16)) }.joined(separator: ","),
          time(prefetch.floorInForce),
          prefetch.serial == nil && !root.isOff ? TrustFailure.prefetchMissing.rawValue : "",
        ])
      }
    }
    return table
  }

  private static func time(_ serial: Int64?) -> String {
    serial.map { $0 == 0 ? "—" : Timestamp.words($0) } ?? "—"
  }
}
