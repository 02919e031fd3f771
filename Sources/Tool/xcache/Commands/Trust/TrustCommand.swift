import Publishing
import Values

/// `xcache trust init | push | off | on | status | …`.
enum TrustCommand {
  static let command = Command(
    name: "trust",
    operands: """
      init | push [FILE] | status | sign FILE | resign | off | on
         | add-key | remove-key KEY | add-root | remove-root KEY | rotate-head | set-scope KEY… | set-floor BUNDLE
         | set-threshold roots N | set-threshold releases N
      """,
    summary: "decide who signs what an app's devices run",
    examples: [
      .init("init --app shop", "make the keys and root.json"),
      .init("push --sign-key release.key", "sign what the channels hold; put the root in force"),
      .init("status", "the root, its keys, and what isn't signed"),
      .init("add-key --new ci2.key", "another key for CI"),
      .init("remove-key 60303f8b", "in place of this one; both changes are in one draft"),
      .init("sign root-2.draft.json --key root.key", "sign a change, on the machine with the key"),
      .init("push root-2.draft.json --sign-key ci2.key", "and put it in force"),
    ],
    notes: """
      An app that is built with a root takes only what keys have signed that the root names (docs/trust.md). init makes
      three keys (PEM with a passphrase, readable only by you), asks the origin for the key with which it signs heads,
      and writes root.json, which it signs by both root keys. A file that is there already is used, not made: a
      private key, or the public key of one elsewhere. Nothing is overwritten. A passphrase has 8 characters or more.
      push signs what all channels hold, with --sign-key, and puts the root in force by one release in each channel. It
      computes what it signs from the entries, and runs the check of the devices before it sends anything. Pushed
      twice, it changes nothing. Build the app with root.json only after the first push.
      add-key, remove-key, add-root, remove-root, rotate-head, set-scope, set-threshold, set-floor, off and on write
      the next root as root-N.draft.json, further ones change the same draft. sign needs no server; as many root keys
      as the threshold says have to sign: of the root before, and of the draft. Then push it. A KEY is the beginning
      of an id, 4 digits at least, or a key's file, also that of its public key. What the root says already changes
      nothing.
      add-key lets a key sign what the others may, or with --channels, --bundles and --prefix what these say; set-scope
      says it for keys that are there, in place of what they may sign until then. remove-key --stolen also sets the floors of all bundles that the key could
      sign, also of those that channels had before, so that nothing comes back that it has signed, and recovers from
      floors that it has signed too high. set-floor sets one: --to SERIAL or now. A floor stays until a later root
      sets it anew, so that root needn't repeat it. If a root lowers a floor, push signs what is live anew where that
      leaves a higher one, with the key that --sign-key or --sign-with names, and warns without. rotate-head asks the
      origin for another key, or takes --public-key, that of a copy for example; --keep leaves the ones before in the
      root. set-threshold says how many keys must sign. off writes a last root after which devices check nothing any
      more; on takes that back.
      resign signs what the root in force wouldn't take any more, or with --every all that this key hasn't signed: it
      compares each bundle with what was signed before, and refuses those that nobody had signed. Serials stay. push
      does the same for what a new root wouldn't take. With --sign-key or --sign-with, resign also signs without its
      floor what leaves a higher one than is in force, since a root has lowered it.
      status --key FILE says which key of the root a file has.
      The files are in the folder --out (default: this one). The origin's roots are believed only as far as they follow
      from the newest root there, or from --root.
      """,
    options: Command.remote + [
      .value("app", "NAME", environment: "XCACHE_APP", "the app (default: that of the root in the folder)"),
      .value("out", "DIR", "the folder of the root and its drafts (default: .)"),
      .value("root", "FILE", "a root that is known to be the app's (default: the newest in the folder)"),
    ] + TrustInit.options + TrustDrafts.options + TrustSign.options + signing + [
      .flag("every", "everything that this key hasn't signed (resign)").only("resign"),
      .value("message", "TEXT", short: "m", "a message for the audit trail").only("push", "resign"),
      .value(
        "break-glass", "REASON",
        "even if a channel is frozen, which only refuses a push that makes releases: the first root's (push)"
      ).only("push"),
      .flag("dry-run", "sign and check; change nothing").only("push", "resign"),
      .flag("yes", short: "y", "don't ask; push needs it where there is no terminal").only("push", "resign"),
      Command.all.only("status", "push", "resign"),
    ],
    run: run)

  private static let signing = Command.signing.map {
    $0.only("push", "resign", "sign", "add-key", "add-root", "rotate-head")
  }

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    switch arguments.operands.first {
    case "init": try TrustInit.run(arguments, terminal)
    case "push": try TrustPush.run(arguments, terminal)
    case "status": try TrustStatus.run(arguments, terminal)
    case "sign": try TrustSign.run(arguments, terminal)
    case "resign": try TrustResign.run(arguments, terminal)
    case let act?: try TrustDrafts.run(act, arguments, terminal)
    case nil:
      throw UsageError("expected trust \(command.acts.filter { $0.count == 1 }.map { $0[0] }.alternatives)")
    }
    return .done
  }
}
