import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Trust
import Values

/// `xcache sign ID`: adds a signature to a release that waits for it.
enum ReleaseSignCommand {
  static let command = Command(
    name: "sign", operands: "ID [DIR|FILE.zip…]",
    summary: "add a signature to a release that waits for it",
    examples: [
      .init("42 --sign-key second.key", "compare with the project's build, then sign"),
      .init("42 dist --bundle main --sign-key second.key", "compare with this build"),
      .init("42 --app shop --dry-run", "show what would be signed"),
      .init("42 --app shop --no-build --sign-key second.key -y", "without a build, and without a question"),
    ],
    notes: """
      If an app's root asks for several signatures (see 'xcache trust'), a publish with fewer waits at the origin, and
      status, schedule list and the console say for whom. sign asks the origin what the release is carried out with,
      and believes nothing: it makes each bundle of it, compares that with what is to be signed, checks that another key
      of the root has signed the same, and that devices would take it. If there is a build, given as for publish or named
      in xcache.json, it has to be the same, byte for byte; else the files that differ are listed, and nothing is signed.
      Build what was published from the same commit. --no-build leaves the builds of xcache.json alone; then the first
      signature is all that says where the files come from. With the last signature, the release is made, at once or at
      its time, and sign waits for it. What was signed, or done, already, changes nothing. 'xcache schedule cancel' takes
      a release back that waits; after 30 days it is missed.
      """,
    options: Command.remote + Command.channel + [
      .value("bundle", "NAME[=DIR]", "a bundle and its folder, to compare; repeatable"),
      .value("base-url", "URL", "the URL of the folder's files"),
      .value("include", "GLOB", "only matching files were published; repeatable"),
      .value("exclude", "GLOB", "matching files were skipped; repeatable"),
      .flag("index", "dir/index.html was published as dir/, too"),
      .flag("no-build", "compare with no build of xcache.json"),
      .flag("rehash", "read every file"),
    ] + Command.signing + [
      .value("root", "FILE", "the root that the app is built with (default: \"root\" in xcache.json)"),
      .flag("dry-run", "show and check what would be signed; sign nothing"),
      .flag("yes", short: "y", "don't ask"), Command.all,
    ],
    run: run)

  /// How long the release is waited for, once it has all signatures, in nanoseconds.
  private static let patience: UInt64 = 120_000_000_000

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let text = arguments.operands.first else {
      throw UsageError("ID is missing: the number of a release that waits; `xcache schedule list` lists them")
    }
    let id = try ScheduleCommand.id(text)
    let remote = try RemoteOrigin(arguments)
    let (api, channel) = (try remote.api, try remote.address)
    let act = try api.schedule(id, of: channel)
    guard act.value.isUnsigned else { return try tell(settled: act, channel, api, arguments, terminal) }
    let isDryRun = arguments.has("dry-run")
    let settings = try GivenSigner.all(arguments, remote.settings)
    guard !settings.isEmpty || isDryRun else {
      throw UsageError(
        "give the key to sign with: --sign-key FILE or XCACHE_SIGN_KEY, or --sign-with; --dry-run shows what would be signed"
      )
    }
    let publisher = Publisher(
      api, cache: PublishCache(environment: Environment.variables), program: "xcache/\(XCache.version)"
    ) { step in
      if case .hashing(let done, let all, _) = step { terminal.progress("reading \(done) of \(all) files") }
    }
    defer { terminal.endProgress() }
    var terms = SigningOptions()
    terms.root = try (arguments.value("root") ?? remote.settings.root).map { try RootFile(path: $0) }
    let release = try publisher.awaited(act.value, in: channel, terms)
    let builds = try builds(of: release, arguments, remote)
    if let builds { try publisher.compare(release, with: builds, rehash: arguments.has("rehash")) }
    terminal.endProgress()
    if !arguments.has("json"), !terminal.isQuiet {
      show(release, act.value, isCompared: builds != nil, terms, arguments, terminal)
    }
    let signers = try GivenSigner.signers(settings, arguments, terminal)
    if let fault = release.obstacle(to: signers) {
      guard case .signedAlready = fault else { throw PublishError.awaited(fault) }
      return say(act, [], isCompared: builds != nil, fault.message, arguments, terminal)
    }
    if isDryRun {
      return say(
        act, [], isCompared: builds != nil,
        "dry run: nothing was signed; release \(id) \(remains(act.value))", arguments,
        terminal)
    }
    guard try isConfirmed(id, arguments, terminal) else { return .done }
    let statements = try release.signed(by: signers)
    let request = ScheduleStatementsRequest(statements: statements.map(\.envelope.json))
    let signed = try api.sign(id, with: request, in: channel)
    if signed.value.isUnsigned {
      return say(
        signed, statements, isCompared: builds != nil, "signed; release \(id) \(remains(signed.value))",
        arguments,
        terminal)
    }
    // An act that isn't due yet keeps its time; another one is due from now on.
    let isLater = signed.value.due == act.value.due
    return try finish(
      signed, statements, isLater: isLater, isCompared: builds != nil, channel, api, arguments, terminal)
  }

  private static func remains(_ act: ScheduledInfo) -> String { "waits for \(act.awaitedWords)" }

  /// Asks a person. A program has to say that it doesn't want to be asked.
  private static func isConfirmed(_ id: Int64, _ arguments: Arguments, _ terminal: Terminal) throws -> Bool {
    if arguments.has("yes") { return true }
    guard let answer = try terminal.confirms("sign release \(id)?") else {
      throw UsageError("there is no terminal to ask on; -y signs without a question")
    }
    if !answer { terminal.note("nothing was signed") }
    return answer
  }

  // MARK: - Builds

  /// Returns the builds to compare with; nil if there are none.
  private static func builds(
    of release: AwaitedRelease, _ arguments: Arguments, _ remote: RemoteOrigin
  ) throws -> [BundleSource]? {
    let folders = Array(arguments.operands.dropFirst())
    let isNamed = !folders.isEmpty || !arguments.all("bundle").isEmpty
    guard !arguments.has("no-build") else {
      if isNamed { throw UsageError("--no-build can't be combined with a build to compare") }
      return nil
    }
    guard isNamed || !remote.settings.bundles.isEmpty else { return nil }
    let names = Set(release.bundles.map(\.name))
    let sources = try PublishCommand.sources(arguments, remote, folders: folders)
    // What xcache.json names besides isn't in question.
    let own = isNamed ? sources : sources.filter { names.contains($0.name) }
    return own.isEmpty ? nil : own
  }

  // MARK: - What is to be signed

  private static func show(
    _ release: AwaitedRelease, _ act: ScheduledInfo, isCompared: Bool, _ terms: SigningOptions,
    _ arguments: Arguments, _ terminal: Terminal
  ) {
    terminal.note(
      "release \(release.id), \(release.channel.app) \(release.channel.channel): \(act.summary), by \(act.author) at \(act.at.formatted)\(act.dueWords)"
    )
    for bundle in release.bundles { show(bundle, act.due, arguments, terminal) }
    for name in release.others {
      terminal.note(
        "bundle \(name) changes, too, back to what it was when this was published, which has its signatures already"
      )
    }
    terminal.note(
      isCompared
        ? "the build here has the same files"
        : terminal.colour(
          "not compared with a build: only the first signature says where the files come from", .yellow))
    if terms.root == nil {
      terminal.note(
        "root \(release.root.document.number) is believed as the origin has it; --root FILE, or \"root\" in xcache.json, names the one that the app is built with"
      )
    }
  }

  private static func show(
    _ bundle: AwaitedRelease.Bundle, _ due: Moment, _ arguments: Arguments, _ terminal: Terminal
  ) {
    let statement = bundle.statement.document
    terminal.note(
      "bundle \(bundle.name), for \(statement.channels.map(\.text).joined(separator: ", ")), serial \(TrustOutput.time(statement.serial)), "
        + "signed by \(AwaitedWords.list(bundle.signers.map(\.text)))"
        + (bundle.lacking.map { "; needs \(AwaitedWords.text([$0]))" } ?? "; needs no more"))
    if statement.floor == statement.serial {
      terminal.note("  nothing older may come back, by rollback included (--raise-floor)")
    } else if statement.floor > .zero {
      terminal.note("  nothing before \(TrustOutput.time(statement.floor)) may come back")
    }
    if !bundle.isLiveSigned {
      terminal.note(
        terminal.colour(
          "  what the origin says that the channel holds now isn't signed: what changes can't be known",
          .yellow))
    }
    if bundle.replacesLater {
      terminal.note(
        terminal.colour("  it is older than what the channel holds now, and replaces that", .yellow))
    }
    let changes = bundle.changes
    terminal.note(
      list: changes.map { file in
        let kind = FileStatistics.Change(file.change)
        return "  \(terminal.colour(kind.mark, kind.colour)) \(file.url)  \(Bytes.text(file.size))"
      }, all: arguments.has("all"))
    func count(_ change: AwaitedRelease.Change) -> Int { changes.count { $0.change == change } }
    let bytes = changes.filter { $0.change != .removed }.clampedSum(\.size)
    terminal.note(
      changes.isEmpty
        ? "  no file changes against what the channel holds"
        : "  +\(count(.added)) ~\(count(.changed)) −\(count(.removed)), \(Bytes.text(bytes)) new")
  }

  // MARK: - What became of it

  /// Says what became of a release that waits for no signature any more.
  private static func tell(
    settled act: OriginAnswer<ScheduledInfo>, _ channel: ChannelAddress, _ api: OriginClient,
    _ arguments: Arguments, _ terminal: Terminal
  ) throws -> ExitCode {
    let isLater = act.value.due.milliseconds > Clock.unixMilliseconds() + 10_000
    return try finish(
      act, nil, isLater: isLater, isCompared: false, channel, api, arguments, terminal)
  }

  /// Waits until the release is made, unless that is later.
  /// - Parameter statements: what was signed; nil if nothing had to be.
  private static func finish(
    _ act: OriginAnswer<ScheduledInfo>, _ statements: [Signed<ReleaseStatement>]?, isLater: Bool,
    isCompared: Bool, _ channel: ChannelAddress, _ api: OriginClient, _ arguments: Arguments,
    _ terminal: Terminal
  ) throws -> ExitCode {
    let id = act.value.id
    let signed = statements == nil ? "" : "signed; "
    func say(_ act: OriginAnswer<ScheduledInfo>, _ words: String) -> ExitCode {
      Self.say(act, statements ?? [], isCompared: isCompared, signed + words, arguments, terminal)
    }
    if isLater, act.value.state == "waiting" {
      return say(
        act, "release \(id) waits for no further signature, and is made at \(act.value.due.formatted)")
    }
    let ended = try wait(for: act, channel, api, terminal)
    switch ended.value.state {
    case "done":
      let version = ended.value.version
      return say(
        ended,
        version.map { "release \(id) is done: \(terminal.colour("version \($0)", .bold))" }
          ?? "release \(id) is done; it changed nothing")
    case "waiting":
      let why = ended.value.reason.map { ", but couldn't be carried out yet: \($0.onOneLine)" } ?? ""
      return say(
        ended,
        "release \(id) waits for no further signature\(why); `xcache schedule show \(id)` says what becomes of it"
      )
    default:
      let reason = ended.value.reason.map { ": \($0.onOneLine)" } ?? ""
      throw Failure(
        "\(signed)release \(id) is \(ended.value.state)\(ended.value.endedAt.map { " since \($0.formatted)" } ?? "")\(reason)",
        code: .refused, name: ended.value.code ?? "schedule-over")
    }
  }

  private static func wait(
    for act: OriginAnswer<ScheduledInfo>, _ channel: ChannelAddress, _ api: OriginClient, _ terminal: Terminal
  ) throws -> OriginAnswer<ScheduledInfo> {
    var act = act
    let end = Clock.monotonicNanoseconds() + patience
    var pause: UInt32 = 100
    while act.value.state == "waiting", Clock.monotonicNanoseconds() < end {
      terminal.progress("release \(act.value.id) is being made")
      Clock.sleep(for: .milliseconds(pause))
      pause = min(pause * 3 / 2, 2000)
      act = try api.schedule(act.value.id, of: channel)
    }
    terminal.endProgress()
    return act
  }

  private static func say(
    _ act: OriginAnswer<ScheduledInfo>, _ statements: [Signed<ReleaseStatement>], isCompared: Bool,
    _ words: String, _ arguments: Arguments, _ terminal: Terminal
  ) -> ExitCode {
    guard arguments.has("json") else {
      if !terminal.isQuiet { for line in GivenSigning.lines(statements) { terminal.say(line) } }
      terminal.say(words)
      return .done
    }
    var document = act.document.object ?? JSONObject()
    document["compared"] = .bool(isCompared)
    document["signed"] = GivenSigning.json(statements)
    terminal.say(json: .object(document))
    return .done
  }
}

extension FileStatistics.Change {
  fileprivate init(_ change: AwaitedRelease.Change) {
    self =
      switch change {
      case .added: .added
      case .changed: .changed
      case .removed: .removed
      }
  }
}
