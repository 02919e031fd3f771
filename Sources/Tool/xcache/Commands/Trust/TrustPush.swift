import Manifests
import OriginAPI
import Publishing
import System
import Trust
import Values

/// `xcache trust push`: puts a root in force, with statements for what the channels hold.
enum TrustPush {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    guard arguments.operands.count <= 2 else {
      throw UsageError("unexpected argument: \(arguments.operands[2])")
    }
    let given = try arguments.operands.dropFirst().first.map { try read($0) }
    let context = try TrustContext(arguments, terminal, file: given)
    let overview = try context.overview()
    guard let file = try given ?? next(overview, context) else {
      return say(
        "nothing to push: root \(overview.roots.last?.number ?? 0) is in force, and there is no draft",
        context)
    }
    if try isInForce(file, overview, context) { return }
    let before = try before(file, overview, context)
    let isNew = before.map { $0.newest.document.isOff } ?? true
    let holdings = file.root.isOff ? Holdings() : try read(overview, context)
    let judge = RootJudge(file.signed)
    let shared = holdings.sharedURLs
    guard shared.isEmpty else {
      throw Failure(
        "with a root, each URL is in one bundle of a channel; these are in two:\n"
          + shared.map { "  \($0)" }.joined(separator: "\n"), code: .refused, name: "shared-url")
    }
    let refused = holdings.refused(by: judge)
    if !isNew, let before { try Vouching.check(refused, by: before) }
    let raising = holdings.raisingFloors(of: file.signed)
    let signers = refused.isEmpty && (raising.isEmpty || !hasKey(context)) ? [] : try context.signers()
    let statements =
      try sign(refused, among: holdings, file, after: before?.roots ?? [], by: signers)
      + lower(raising, among: holdings, file, by: signers, context)
    try check(holdings.taking(statements), judge, file)
    guard try isConfirmed(file, before?.newest.document, statements, holdings, context) else { return }
    try send(file, statements, context)
  }

  /// Reads the root that was given. A draft that has been put in force has the name of a root now.
  private static func read(_ path: String) throws -> RootFile {
    if try Kernel.status(path) == nil, let settled = RootFolder.settled(path),
      try Kernel.status(settled) != nil
    {
      return try RootFile(path: settled)
    }
    return try RootFile(path: path)
  }

  /// The lowest draft that may be next, or the first root.
  private static func next(_ overview: TrustOverview, _ context: TrustContext) throws -> RootFile? {
    let newest = overview.roots.map(\.number).max() ?? 0
    let files = try context.folder.roots() + context.folder.drafts()
    if let next = files.first(where: { $0.root.app == context.app && $0.root.number.number == newest + 1 }) {
      return next
    }
    if newest == 0 { throw context.noRoot() }
    return nil
  }

  /// Whether the root is in force already, or was: then nothing is sent.
  private static func isInForce(
    _ file: RootFile, _ overview: TrustOverview, _ context: TrustContext
  ) throws -> Bool {
    let number = file.root.number
    let newest = overview.roots.map(\.number).max() ?? 0
    if let held = overview.roots.first(where: { $0.number == number.number }) {
      guard let other = try? Signed<TrustRoot>(json: held.envelope), other.digest == file.signed.digest else {
        throw Failure(
          "the origin has another root \(number) already, by \(held.author); \(file.path) was made beside it: make it again, "
            + "after root \(newest)", code: .refused, name: "root-refused")
      }
      try settle(file, context)
      let words = number.number == newest ? "is in force" : "was in force before root \(newest)"
      say("nothing to push: root \(number) \(words)", context)
      if number.number == newest { remarkFloors(overview, file.root, context) }
      return true
    }
    guard number.number == newest + 1 else {
      throw Failure(
        "\(file.path) is root \(number), and "
          + (newest == 0
            ? "the app has none yet: the first one has number 1"
            : "root \(newest) is in force, so that \(newest + 1) is next"),
        code: .refused, name: "root-refused")
    }
    return false
  }

  /// Says that what is live still has a floor that the root has lowered: pushing again changes nothing about that.
  private static func remarkFloors(_ overview: TrustOverview, _ root: TrustRoot, _ context: TrustContext) {
    if root.isOff { return }
    let raising = overview.channels.flatMap { channel in
      channel.bundles.filter { bundle in
        guard let floor = bundle.floor, let inForce = bundle.floorInForce else { return false }
        return bundle.problem == nil && floor > inForce
      }.map { "\($0.bundle) in \(channel.channel)" }
    }
    guard !raising.isEmpty else { return }
    context.terminal.remark(
      "what is live of \(raising.joined(separator: ", ")) leaves a higher floor than is in force; if it is yours, "
        + "`xcache trust resign --sign-key FILE` signs it without")
  }

  /// Returns the roots up to the one in force, of which the new one is checked as a device does it; nil for the first root.
  private static func before(
    _ file: RootFile, _ overview: TrustOverview, _ context: TrustContext
  ) throws -> RootChain? {
    guard !overview.roots.isEmpty else {
      if let failure = RootChain.failure(ofFirst: file.signed) {
        throw refused(file, failure, after: nil)
      }
      return nil
    }
    let chain = try context.chain(overview, below: file.root.number)
    if let failure = RootChain.failure(of: .success(file.signed), after: chain.newest) {
      throw refused(file, failure, after: chain.newest.document)
    }
    return chain
  }

  private static func refused(_ file: RootFile, _ failure: TrustFailure, after before: TrustRoot?) -> Failure
  {
    Failure(
      "devices would refuse \(file.path) (\(failure.rawValue)): \(TrustOutput.signatures(file.signed, after: before)). "
        + "`xcache trust sign \(file.path) --key FILE` signs it", code: .refused, name: "root-refused")
  }

  static func read(_ overview: TrustOverview, _ context: TrustContext) throws -> Holdings {
    defer { context.terminal.endProgress() }
    return try Holdings(overview, context.remote.api) { context.terminal.progress($0) }
  }

  // MARK: Statements

  private static func sign(
    _ refused: Holdings, among holdings: Holdings, _ file: RootFile, after before: [Signed<TrustRoot>],
    by signers: [any StatementSigner]
  ) throws -> NewStatements {
    if !refused.bundles.isEmpty, signers.isEmpty {
      let names = TrustOutput.refused(refused, by: RootJudge(file.signed))
      throw UsageError(
        "\(Count.text(names.count, "bundle")) must be signed: give the key that signs releases by --sign-key FILE or XCACHE_SIGN_KEY, "
          + "or --sign-with\n" + Listing.shown(names, hint: "").map { "  \($0)" }.joined(separator: "\n"))
    }
    return try NewStatements(
      for: refused, among: holdings, under: file.root, after: before, lowering: true, by: signers,
      now: Clock.unixMilliseconds())
  }

  /// Whether the command itself names a key. What leaves too high a floor may be a thief's: no key of a variable or a settings file signs
  /// it.
  static func hasKey(_ context: TrustContext) -> Bool {
    context.arguments.isGiven("sign-key") || context.arguments.isGiven("sign-with")
  }

  /// Signs anew, with the same serial, what devices take and would raise a floor with again that the root lowers.
  private static func lower(
    _ raising: Holdings, among holdings: Holdings, _ file: RootFile, by signers: [any StatementSigner],
    _ context: TrustContext
  ) throws -> NewStatements {
    if raising.isEmpty { return NewStatements() }
    let named = Set(file.root.grants.flatMap(\.signers.keys) + file.root.prefetch)
    var statements = NewStatements()
    if hasKey(context), signers.contains(where: { named.contains($0.key.id) }) {
      let made = try NewStatements(
        for: raising, among: holdings, under: file.root, lowering: true, by: signers,
        now: Clock.unixMilliseconds())
      // With a threshold of 2, one key isn't enough.
      if raising.taking(made).refused(by: RootJudge(file.signed)).isEmpty { statements = made }
    }
    let left = raising.taking(statements).raisingFloors(of: file.signed)
    if !left.isEmpty {
      let names =
        Set(left.bundles.map(\.live.bundle)).sorted().map { "bundle \($0)" }
        + (left.prefetch.isEmpty ? [] : ["the prefetch config"])
      context.terminal.remark(
        "warning: what the channels hold of \(names.joined(separator: ", ")) was signed with a higher floor than this root sets, and devices "
          + "raise it again with that, until the next release or rollback. If it isn't yours, roll back or unpublish after this. If it is, "
          + "push with --sign-key FILE, a key that may sign it: it is signed anew then with the lower floor")
    }
    return statements
  }

  /// Runs the check of the devices on all that the channels will have.
  private static func check(_ holdings: Holdings, _ judge: RootJudge, _ file: RootFile) throws {
    let left = TrustOutput.refused(holdings.refused(by: judge), by: judge)
    guard left.isEmpty else {
      throw Failure(
        "devices with \(file.path) would refuse what the channels hold, also with what these keys sign:\n"
          + Listing.shown(left, hint: "--json lists all").map { "  \($0)" }.joined(separator: "\n")
          + ownKeyHint(holdings, judge),
        code: .refused, name: "unsigned")
    }
  }

  /// What somebody can do who has one of two keys.
  static func ownKeyHint(_ holdings: Holdings, _ judge: RootJudge) -> String {
    let isShared = holdings.refused(by: judge).bundles.contains { bundle in
      judge.root.document.grants.contains {
        $0.signers.threshold > 1 && $0.covers(bundle.live.bundle, in: bundle.channel)
      }
    }
    guard isShared else { return "" }
    return
      "\nif others have the keys: while fewer have to sign, each runs `xcache trust resign --every --sign-key FILE` with their own; "
      + "then the root needs no key (docs/trust.md, Two people)"
  }

  private static func isConfirmed(
    _ file: RootFile, _ before: TrustRoot?, _ statements: NewStatements, _ holdings: Holdings,
    _ context: TrustContext
  ) throws -> Bool {
    let terminal = context.terminal
    if !context.arguments.has("json"), !terminal.isQuiet {
      for line in TrustOutput.differences(from: before, to: file.root) { terminal.note("  \(line)") }
      let table = TrustOutput.table(statements, holdings, file.root)
      if !table.isEmpty {
        terminal.note("signs \(Count.text(table.count - 1, "content")):")
        terminal.note(list: table, all: context.arguments.has("all"))
      }
      if file.root.isOff { terminal.note("devices that see this root check nothing any more") }
    }
    return try context.isConfirmed(
      "put root \(file.root.number) of app \(context.app) in force?", isNeeded: true)
  }

  // MARK: Sending

  private static func send(_ file: RootFile, _ statements: NewStatements, _ context: TrustContext) throws {
    let arguments = context.arguments
    var request = RootRequest(root: file.signed.envelope.json)
    if !statements.releases.isEmpty { request.releases = statements.releases.map(\.envelope.json) }
    if !statements.prefetch.isEmpty { request.prefetch = statements.prefetch.map(\.envelope.json) }
    request.message = try arguments.text("message")
    request.breakGlass = try arguments.breakGlass()
    request.dryRun = arguments.has("dry-run") ? true : nil
    let answer = try context.remote.api.push(request, of: context.app)
    let isDry = arguments.has("dry-run")
    if !isDry { try settle(file, context) }
    if arguments.has("json") {
      var document = answer.document.object ?? JSONObject()
      document["signed"] = .array(TrustOutput.json(statements))
      context.terminal.say(json: .object(document))
      return
    }
    let root = answer.value
    context.terminal.say(
      "\(isDry ? "dry run: would put" : "put") root \(root.number) of app \(context.app) in force"
        + (root.off ? ": devices check nothing any more" : ""))
    for channel in root.channels {
      context.terminal.say(
        "  \(channel.channel): version \(channel.version)"
          + (channel.rebased ? ", from which on entries name their bundles; no file is fetched again" : ""))
    }
    if root.headKey == false {
      context.terminal.say(HeadWords.line("no-head-key", context.terminal))
    }
    if !isDry, root.number == 1 {
      context.terminal.remark(
        "now build the app with \(file.path), and sign each publish: --sign-key FILE or XCACHE_SIGN_KEY")
    }
  }

  /// Gives a draft that is in force the name of a root. A second run does what an interrupted one didn't.
  private static func settle(_ file: RootFile, _ context: TrustContext) throws {
    guard file.path.hasSuffix(".draft.json"), !context.arguments.has("dry-run") else { return }
    let path = RootFolder(DurableFile.parent(of: file.path)).path(of: file.root.number)
    if try Kernel.status(path) == nil {
      try DurableFile.write(RootFile.bytes(file.signed), to: path, replaces: false)
    } else {
      guard try RootFile(path: path).signed.digest == file.signed.digest else {
        context.terminal.remark("warning: \(path) is another root \(file.root.number) than the one in force")
        return
      }
    }
    try Kernel.remove(file.path)
    context.terminal.remark("\(file.path) is \(path) now")
  }

  private static func say(_ words: String, _ context: TrustContext) {
    if context.arguments.has("json") {
      context.terminal.say(json: ["changed": false, "detail": .string(words)])
    } else {
      context.terminal.say(words)
    }
  }
}

/// Whether what is to be signed anew was signed before, by keys that a root named.
enum Vouching {
  /// - Throws: `Failure` with what nobody had signed.
  static func check(_ holdings: Holdings, by chain: RootChain) throws {
    // What was published while a root was off, nobody has signed.
    let judges = chain.roots.filter { !$0.document.isOff }.map { RootJudge($0) }
    let unsigned =
      holdings.bundles.filter { bundle in
        !judges.contains { $0.failure(of: bundle.live, bundle.statement, in: bundle.channel) == nil }
      }.map { "\($0.live.bundle) in \($0.channel)" }
      + holdings.prefetch.filter { config in
        !judges.contains {
          $0.failure(ofPrefetch: config.content, config.statement, in: config.channel) == nil
        }
      }.map { "the prefetch config of \($0.channel)" }
    guard unsigned.isEmpty else {
      throw Failure(
        "nobody that a root names has signed what the origin holds here, so that it isn't signed anew: publish it from its build\n"
          + Listing.shown(unsigned, hint: "").map { "  \($0)" }.joined(separator: "\n"), code: .refused,
        name: "unsigned")
    }
  }
}
