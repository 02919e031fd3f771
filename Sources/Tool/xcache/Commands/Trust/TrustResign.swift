import Manifests
import OriginAPI
import OriginClient
import Publishing
import System
import Trust
import Values

/// `xcache trust resign`: signs anew what was signed before, such as by a key that is to go.
enum TrustResign {
  static func run(_ arguments: Arguments, _ terminal: Terminal) throws {
    _ = try arguments.operands("resign")
    let context = try TrustContext(arguments, terminal)
    let overview = try context.overview()
    guard !overview.roots.isEmpty else { throw context.noRoot() }
    let chain = try context.chain(overview)
    let root = chain.newest
    guard !root.document.isOff else {
      throw Failure(
        "root \(root.document.number) is off: nothing has to be signed", code: .refused, name: "no-root")
    }
    let holdings = try TrustPush.read(overview, context)
    let judge = RootJudge(root)
    var wanted = holdings.refused(by: judge)
    let raising = try holdings.raisingFloors(above: context.known(chain))
    var signers: [any StatementSigner] = []
    if arguments.has("every") {
      signers = try context.signers()
      guard !signers.isEmpty else { throw noKey() }
      wanted = unsigned(holdings, by: signers, judge, root.document)
    }
    wanted = wanted.without(raising)
    let lowered = try lowering(raising, isAlone: wanted.isEmpty, context)
    guard !wanted.isEmpty || !lowered.isEmpty else { return say(nil, nil, holdings, root.document, context) }
    try Vouching.check(wanted, by: chain)
    if signers.isEmpty { signers = try context.signers() }
    guard !signers.isEmpty else { throw noKey() }
    let now = Clock.unixMilliseconds()
    let statements =
      try NewStatements(
        for: wanted, among: holdings, under: root.document, after: chain.roots.dropLast(), by: signers,
        now: now)
      + NewStatements(
        for: lowered, among: holdings, under: root.document, leavingOut: true, by: signers, now: now)
    wanted = Holdings(
      bundles: wanted.bundles + lowered.bundles, prefetch: wanted.prefetch + lowered.prefetch)
    let left = wanted.taking(statements).refused(by: judge)
    guard left.isEmpty else {
      throw Failure(
        "devices would refuse these also with what these keys sign:\n"
          + TrustOutput.refused(left, by: judge).map { "  \($0)" }.joined(separator: "\n"), code: .refused,
        name: "unsigned")
    }
    if !arguments.has("json"), !terminal.isQuiet {
      terminal.note(
        list: TrustOutput.table(statements, holdings, root.document), all: arguments.has("all"))
    }
    guard try context.isConfirmed("sign these anew?") else { return }
    var request = StatementsRequest(
      releases: statements.releases.map(\.envelope.json), prefetch: statements.prefetch.map(\.envelope.json))
    request.message = try arguments.text("message")
    request.dryRun = arguments.has("dry-run") ? true : nil
    let answer = try context.remote.api.keep(request, of: context.app)
    say(answer, statements, holdings, root.document, context)
  }

  /// Returns what is to be signed without the floor that it leaves: it may be a thief's, so the command itself has to name the key.
  private static func lowering(_ raising: Holdings, isAlone: Bool, _ context: TrustContext) throws -> Holdings
  {
    if raising.isEmpty { return raising }
    let names =
      raising.bundles.map { bundle in
        "\(bundle.live.bundle) in \(bundle.channel) leaves the floor \(bundle.statement.map { TrustOutput.time($0.document.floor) } ?? "")"
          + ", and \(bundle.floor.map { TrustOutput.time($0) } ?? "none") is in force"
      }
      + raising.prefetch.map { "the prefetch config of \($0.channel) leaves a higher floor than is in force" }
    let list = Listing.shown(names, hint: "").map { "  \($0)" }.joined(separator: "\n")
    guard TrustPush.hasKey(context) else {
      let words =
        "a root has lowered floors that what is live raises again. If it is yours, name a key that may sign it, by --sign-key FILE or "
        + "--sign-with, and it is signed without; if not, roll back or unpublish:\n\(list)"
      if isAlone { throw UsageError(words) }
      context.terminal.remark("warning: \(words)")
      return Holdings()
    }
    context.terminal.remark("signed without the floor that it leaves:\n\(list)")
    return raising
  }

  private static func noKey() -> UsageError {
    UsageError("give the key that signs releases by --sign-key FILE or XCACHE_SIGN_KEY, or --sign-with")
  }

  /// What these keys haven't signed and may sign.
  private static func unsigned(
    _ holdings: Holdings, by signers: [any StatementSigner], _ judge: RootJudge, _ root: TrustRoot
  ) -> Holdings {
    let keys = Dictionary(signers.map { ($0.key.id, $0.key) }) { key, _ in key }
    func isMissing<Document>(_ signed: Signed<Document>?, _ ids: Set<KeyID>) -> Bool {
      (signed?.signers(among: ids, keys: keys, by: SystemVerifier()).count ?? 0) < ids.count
    }
    // Of the prefetch keys one signs, the first that is given.
    let prefetch = signers.first { root.prefetch.contains($0.key.id) }
    return Holdings(
      bundles: holdings.bundles.filter { bundle in
        let grants = root.grants.filter { grant in
          grant.covers(bundle.live.bundle, in: bundle.channel)
            && bundle.live.items.allSatisfy { grant.covers($0.url) }
        }
        // A key that may not sign this bundle doesn't make it unsigned.
        return isMissing(bundle.statement, Set(grants.flatMap(\.signers.keys)).intersection(keys.keys))
      },
      prefetch: prefetch.map { signer in holdings.prefetch.filter { isMissing($0.statement, [signer.key.id]) }
      }
        ?? [])
  }

  private static func say(
    _ answer: OriginAnswer<StatementsAnswer>?, _ statements: NewStatements?, _ holdings: Holdings,
    _ root: TrustRoot, _ context: TrustContext
  ) {
    let terminal = context.terminal
    if context.arguments.has("json") {
      var document = answer?.document.object ?? JSONObject([.init(key: "kept", value: 0)])
      document["signed"] = .array(statements.map(TrustOutput.json) ?? [])
      terminal.say(json: .object(document))
    } else if let answer {
      let words = context.arguments.has("dry-run") ? "dry run: would sign" : "signed"
      terminal.say("\(words) anew: \(Count.text(answer.value.kept, "statement")) that the origin didn't have")
    } else {
      terminal.say(
        "nothing to sign: devices with root \(root.number) take all \(Count.text(holdings.bundles.count, "bundle"))"
      )
    }
  }
}
