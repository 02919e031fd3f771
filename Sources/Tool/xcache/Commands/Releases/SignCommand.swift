import Linux
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
      Build what was published from the same commit. --no-build signs without comparing; then the first signature is all
      that says where the files come from. With neither, only a person on a terminal may go on, without -y. With the last
      signature, the release is made, at once or at its time, and sign waits for it; in a channel that is frozen, it isn't
      given. What was signed, or done, already, changes nothing. 'xcache schedule cancel' takes a release back that waits;
      after 30 days it is missed.
      """,
    options: Command.remote + Command.channel + [
      .value("bundle", "NAME[=DIR]", "a bundle and its folder, to compare; repeatable"),
      .value("base-url", "URL", "the URL of the folder's files"),
      .value("include", "GLOB", "only matching files were published; repeatable"),
      .value("exclude", "GLOB", "matching files were skipped; repeatable"),
      .flag("index", "dir/index.html was published as dir/, too"),
      .flag("no-build", "sign without comparing with a build"),
      .flag("rehash", "read every file"),
    ] + Command.signing + [
      .value("root", "FILE", "the root that the app is built with (default: \"root\" in xcache.json)"),
      .flag("dry-run", "show and check what would be signed; sign nothing"),
      .flag("yes", short: "y", "don't ask"), Command.all,
    ],
    run: run)

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    guard let text = arguments.operands.first else {
      throw UsageError("ID is missing: the number of a release that waits; `xcache schedule list` lists them")
    }
    let id = try ScheduleCommand.id(text)
    let remote = try RemoteOrigin(arguments)
    let (api, channel) = (try remote.api, try remote.address)
    let act = try api.schedule(id, of: channel)
    guard act.value.isUnsigned else { return try tell(settled: act, channel, api, arguments, terminal) }
    if act.value.refusal != nil {
      throw Failure("release \(id) \(act.value.remainder(channel.channel))", code: .refused, name: "unsigned")
    }
    let isDryRun = arguments.has("dry-run")
    let settings = try GivenSigner.all(arguments, remote.settings)
    func requireKey() throws {
      guard settings.isEmpty, !isDryRun else { return }
      throw UsageError(
        "give the key to sign with: --sign-key FILE or XCACHE_SIGN_KEY, or --sign-with; --dry-run shows what would be signed"
      )
    }
    if !act.value.isComplete { try requireKey() }
    let publisher = Publisher(
      api, cache: PublishCache(environment: Environment.variables), program: "xcache/\(XCache.version)"
    ) { step in
      if case .hashing(let done, let all, _) = step { terminal.progress("reading \(done) of \(all) files") }
    }
    defer { terminal.endProgress() }
    var terms = SigningOptions()
    terms.root = try (arguments.value("root") ?? remote.settings.root).map { try RootFile(path: $0) }
    let release = try publisher.awaited(act.value, in: channel, terms)
    if release.needsSignature { try requireKey() }
    let builds = try builds(of: release, arguments, remote)
    if let builds { try publisher.compare(release, with: builds, rehash: arguments.has("rehash")) }
    let forecast = try publisher.forecast(release)
    terminal.endProgress()
    if !arguments.has("json"), !terminal.isQuiet {
      show(release, act.value, isCompared: builds != nil, terms, arguments, terminal)
      tell(forecast, act.value, terminal)
    } else if builds == nil {
      terminal.note(notCompared(terminal))
    }
    if !isDryRun { try checkFreeze(forecast, act.value, release, by: settings.count) }
    let remainder = act.value.remainder(channel.channel)
    guard release.needsSignature else {
      if isDryRun {
        return say(
          act, [], isCompared: builds != nil, "dry run: release \(id) \(remainder)", arguments, terminal)
      }
      guard try isConfirmed("release \(id)", arguments, terminal) else { return .done }
      let told = try send(try release.signed(by: []), of: act.value, to: channel, api)
      return try finish(
        told, nil, done: "nothing to sign; ", isLater: told.value.due == act.value.due,
        isCompared: builds != nil, channel, api, arguments, terminal)
    }
    let signers = try GivenSigner.signers(settings, arguments, terminal)
    if let fault = release.obstacle(to: signers) {
      guard case .signedAlready = fault else { throw PublishError.awaited(fault) }
      return say(act, [], isCompared: builds != nil, fault.message, arguments, terminal)
    }
    if isDryRun {
      return say(
        act, [], isCompared: builds != nil, "dry run: nothing was signed; release \(id) \(remainder)",
        arguments, terminal)
    }
    let question = builds == nil ? "sign release \(id) without comparing it" : "sign release \(id)"
    guard try isConfirmed(question, arguments, terminal) else { return .done }
    let statements = try release.signed(by: signers)
    let signed = try send(statements, of: act.value, to: channel, api)
    if signed.value.isUnsigned {
      return say(
        signed, statements, isCompared: builds != nil,
        "signed; release \(id) \(signed.value.remainder(channel.channel))", arguments, terminal)
    }
    // An act that isn't due yet keeps its time; another one is due from now on.
    return try finish(
      signed, statements, done: "signed; ", isLater: signed.value.due == act.value.due,
      isCompared: builds != nil, channel, api, arguments, terminal)
  }

  // MARK: - What keeps it from being made

  /// Refuses to give the last signature of a release that the channel's freeze would then end, before a key is asked for.
  /// - Parameter count: how many keys are to sign.
  private static func checkFreeze(
    _ forecast: Publisher.AwaitedForecast?, _ act: ScheduledInfo, _ release: AwaitedRelease, by count: Int
  ) throws(Failure) {
    guard case .made(_, let freeze?) = forecast, isDue(act),
      release.bundles.allSatisfy({ $0.lacking?.missing ?? 0 <= count })
    else { return }
    throw frozen(
      act, release.channel,
      ", by \(freeze.author) since \(freeze.since.formatted): \(freeze.reason.onOneLine)")
  }

  /// Whether an act is carried out as soon as it is signed.
  private static func isDue(_ act: ScheduledInfo) -> Bool {
    act.due.milliseconds <= Clock.unixMilliseconds()
  }

  private static func frozen(_ act: ScheduledInfo, _ channel: ChannelAddress, _ more: String) -> Failure {
    let place = channel.channel.option
    return Failure(
      "channel \(channel.channel) of app \(channel.app) is frozen\(more). With its last signature, release \(act.id) would fail, so nothing was "
        + "signed, and it still waits: first `xcache channel thaw\(place)`, then `xcache sign \(act.id)\(place)`",
      code: .refused, name: "frozen")
  }

  /// Sends statements with their signatures.
  private static func send(
    _ statements: [Signed<ReleaseStatement>], of act: ScheduledInfo, to channel: ChannelAddress,
    _ api: OriginClient
  ) throws -> OriginAnswer<ScheduledInfo> {
    let request = ScheduleStatementsRequest(statements: statements.map(\.envelope.json))
    do throws(OriginError) {
      return try api.sign(act.id, with: request, in: channel)
    } catch {
      switch error.problem?.code {
      case "frozen": throw frozen(act, channel, "")
      case "author-ended":
        throw Failure(
          "the token with which \(act.author) published release \(act.id) isn't valid any more, so it can't be made, and the signature wasn't "
            + "kept. Publish it again with a valid token, and take this one back: `xcache schedule cancel \(act.id)\(channel.channel.option)`",
          code: .refused, name: "author-ended")
      default: throw error
      }
    }
  }

  /// Says what becomes of an open rollout, and what would refuse the release, if it were made now.
  private static func tell(
    _ forecast: Publisher.AwaitedForecast?, _ act: ScheduledInfo, _ terminal: Terminal
  ) {
    let now = isDue(act) ? "" : "as things are now: "
    switch forecast {
    case .made(let rollout, let freeze):
      for line in rollout?.lines(dryRun: true, terminal) ?? [] { terminal.note(now + line) }
      if let freeze {
        terminal.note(
          terminal.colour(
            "\(now)the channel is frozen, by \(freeze.author) since \(freeze.since.formatted): \(freeze.reason.onOneLine); the release would fail",
            .yellow))
      }
    case .refused(let problem):
      terminal.note(
        terminal.colour("\(now)the release would fail: \(problem.message.onOneLine)", .yellow))
    case nil: break
    }
  }

  /// Asks a person. A program has to say that it doesn't want to be asked.
  private static func isConfirmed(_ what: String, _ arguments: Arguments, _ terminal: Terminal) throws -> Bool
  {
    if arguments.has("yes") { return true }
    guard let answer = try terminal.confirms("\(what)?") else {
      throw UsageError("there is no terminal to ask on; -y signs without a question")
    }
    if !answer { terminal.note("nothing was signed") }
    return answer
  }

  // MARK: - Builds

  /// Returns the builds to compare with; nil if there are none. Only a person who is asked, or --no-build, goes on without: a script in the
  /// wrong folder would sign what nobody has looked at.
  private static func builds(
    of release: AwaitedRelease, _ arguments: Arguments, _ remote: RemoteOrigin
  ) throws -> [BundleSource]? {
    let folders = Array(arguments.operands.dropFirst())
    let isNamed = !folders.isEmpty || !arguments.all("bundle").isEmpty
    guard !arguments.has("no-build") else {
      if isNamed { throw UsageError("--no-build can't be combined with a build to compare") }
      return nil
    }
    let names = release.bundles.map(\.name)
    if isNamed || !remote.settings.bundles.isEmpty {
      let sources = try PublishCommand.sources(arguments, remote, folders: folders)
      // What xcache.json names besides isn't in question.
      let own = isNamed ? sources : sources.filter { names.contains($0.name) }
      if !own.isEmpty { return own }
    }
    let isAsked = StandardInput.isTerminal && !arguments.has("yes")
    guard isAsked || arguments.has("dry-run") || !release.needsSignature else {
      throw UsageError(
        "no build of \(names.map(\.text).joined(separator: ", ")) here: give DIR, --bundle NAME=DIR, or --no-build to sign without comparing "
          + "it")
    }
    return nil
  }

  private static func notCompared(_ terminal: Terminal) -> String {
    terminal.colour(
      "not compared with a build: only the first signature says where the files come from", .yellow)
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
    terminal.note(isCompared ? "the build here has the same files" : notCompared(terminal))
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
      act, nil, done: "", isLater: isLater, isCompared: false, channel, api, arguments, terminal)
  }

  /// Waits until the release is made, unless that is later.
  /// - Parameters:
  ///   - statements: what was signed; nil if nothing had to be.
  ///   - done: what has been done, in words that others follow.
  private static func finish(
    _ act: OriginAnswer<ScheduledInfo>, _ statements: [Signed<ReleaseStatement>]?, done: String,
    isLater: Bool, isCompared: Bool, _ channel: ChannelAddress, _ api: OriginClient, _ arguments: Arguments,
    _ terminal: Terminal
  ) throws -> ExitCode {
    let settled = SettledAct(noun: "release", channel: channel, api: api, terminal: terminal)
    let (ended, words) = try settled.finish(act, isLater: isLater, done: done)
    return say(ended, statements ?? [], isCompared: isCompared, done + words, arguments, terminal)
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
