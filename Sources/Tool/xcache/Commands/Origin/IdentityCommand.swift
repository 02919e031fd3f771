import Manifests
import OriginAPI
import OriginClient
import Store
import Values

/// `xcache identity add | list | remove`: which CI jobs may trade their ID tokens.
enum IdentityCommand {
  static let command = Command(
    name: "identity", operands: "add NAME | list | remove NAME",
    summary: "let CI jobs in without a secret",
    examples: [
      .init(
        "add ci-shop --issuer https://token.actions.githubusercontent.com --subject 'repo:acme/shop:ref:refs/heads/main' --scope publish --app shop --bundle main",
        "GitHub Actions: jobs of the branch main of acme/shop"),
      .init(
        "add ci-help --issuer https://gitlab.com --subject 'project_path:acme/help:ref_type:branch:ref:main' --scope publish --app shop --bundle help",
        "GitLab CI"),
      .init("list", "all of them, and who may what"),
      .init("remove ci-shop", "takes effect at once, also for jobs that run"),
    ],
    notes: """
      A CI system signs an ID token for each job: who vouches for it (issuer), what job it is (subject), and whom it is for
      (audience). Every command takes it from --id-token FILE, XCACHE_ID_TOKEN, XCACHE_ID_TOKEN_FILE or, in a job of GitHub
      Actions with 'permissions: id-token: write', from GitHub. The server checks it with the keys of the issuer, which has to
      be one that is named here, and gives a token of 15 minutes with what is said here. It takes an ID token once; what was
      got is kept in ~/.cache/xcache/jobs for the job's other commands. GitLab: 'id_tokens: XCACHE_ID_TOKEN: aud: URL'.
      The subject is exact, or has * for any characters but ':' and '/'. Say as much as you can: 'repo:acme/shop:*' lets in
      every pull request of that repository. The audience is the server's URL as it is given here; if jobs reach it by another
      one, give that with --audience. If several identities fit a job, XCACHE_IDENTITY names the one to use.
      """,
    options: Command.remote + [
      .value("issuer", "URL", "who signs the ID tokens, exactly as they name it (add)").only("add"),
      .value("subject", "PATTERN", "the jobs: the ID token's sub, with * as a wildcard (add)").only("add"),
      .value(
        "audience", "URL", "what the ID token has to be for (add; default: the server's URL)"
      ).only("add"),
      .value("scope", "SCOPE", choices: scopes, "read, release or publish (add)").only("add"),
      .value("app", "NAME", "only for this app (add)").only("add"),
      .flag("all-apps", "for every app, also those made later (add)").only("add"),
      .value("channel", "NAME", "only for this channel of the app (add; default: all channels)").only("add"),
      .value(
        "bundle", "GLOB",
        "only for matching bundles, with * and ? as wildcards and commas in between (add; default: all bundles)"
      ).only("add"),
      .value(
        "hosts", "NAMES",
        "only for URLs of these hosts, such as m.example.com,*.example.org (add; default: all hosts)"
      ).only("add"),
      Command.all.only("list"),
    ],
    run: run)

  private static let scopes = ["read", "release", "publish"]

  private static func run(_ arguments: Arguments, _ terminal: Terminal) throws -> ExitCode {
    let remote = try RemoteOrigin(arguments, namesApp: false, namesChannel: false)
    let document: JSONValue
    let lines: [String]
    switch arguments.operands.first {
    case "add":
      let request = try request(try arguments.operands("add", "NAME")[1], arguments, remote)
      warn(of: request, remote, arguments, terminal)
      let added = try remote.api.addIdentity(request)
      document = added.document
      lines = ["\(added.value.name) \(words(of: added.value))"]
    case "list":
      _ = try arguments.operands("list")
      let list = try remote.api.identities()
      (document, lines) = (list.document, table(list.value.identities))
    case "remove":
      let removed = try remote.api.removeIdentity(try arguments.operands("remove", "NAME")[1])
      document = removed.document
      lines = ["removed \(removed.value.name)"]
      terminal.remark(
        "its jobs are refused from now on, also those that run; what they released stays: `xcache audit log` shows it"
      )
    default: throw UsageError("expected identity add NAME, identity list or identity remove NAME")
    }
    if arguments.has("json") {
      terminal.say(json: document)
    } else {
      terminal.say(list: lines, head: 1, all: arguments.has("all"))
    }
    return .done
  }

  /// Returns what the command line says. Nothing is granted by leaving it out.
  private static func request(
    _ name: String, _ arguments: Arguments, _ remote: RemoteOrigin
  ) throws -> IdentityRequest {
    try Arguments.check(name, .line(bytes: 64), in: "NAME")
    let app = try arguments.all("app").first.map { try SettingsValue.app($0, in: "--app") }
    let channel = try arguments.all("channel").first.map { try SettingsValue.channel($0, in: "--channel") }
    if app != nil, arguments.has("all-apps") { throw UsageError("give either --app or --all-apps, not both") }
    if app == nil, channel != nil { throw UsageError("--channel needs --app: a channel belongs to an app") }
    guard let issuer = try arguments.value("issuer"), let subject = try arguments.value("subject"),
      let scope = try arguments.value("scope"), app != nil || arguments.has("all-apps")
    else {
      let missing = ["issuer": "URL", "subject": "PATTERN", "scope": "read, release or publish"].filter {
        !arguments.isGiven($0.key)
      }.map { "--\($0.key) \($0.value)" }.sorted()
      let place = app == nil && !arguments.has("all-apps") ? ["--app NAME or --all-apps"] : []
      throw UsageError(
        "an identity may do only what is said; add " + (missing + place).joined(separator: "; "))
    }
    guard scopes.contains(scope) else {
      throw UsageError(
        "--scope \(scope): expected read, release or publish"
          + (scope == "admin"
            ? "; a CI job is no admin: whoever may change its branch could do everything" : ""))
    }
    let audience = try arguments.value("audience")
    var request = IdentityRequest(
      name: name, issuer: issuer, subject: subject, audience: try audience ?? remote.server.text, scope: scope
    )
    (request.app, request.channel) = (app?.text, channel?.text)
    if let glob = try arguments.value("bundle") { request.bundles = glob }
    request.hosts = try arguments.value("hosts").flatMap { try HostOutput.list($0) }?.names
    return request
  }

  /// Warns of what is allowed, and probably not meant.
  private static func warn(
    of request: IdentityRequest, _ remote: RemoteOrigin, _ arguments: Arguments, _ terminal: Terminal
  ) {
    if arguments.all("audience").isEmpty, let server = try? remote.server,
      server.isLoopback || server.isOfEveryAddress
    {
      terminal.remark(
        "warning: only jobs on this machine ask for an ID token for \(server); give the URL by which jobs reach the server with --audience"
      )
    }
    // Legitimate before its first publish, but usually a spelling mistake.
    if let app = request.app, let all = try? remote.api.channels().value.channels.map(\.app.text),
      !all.contains(app)
    {
      terminal.remark(
        "warning: there is no app \(app) yet\(Spelling.suggestion(for: app, among: Set(all).sorted()))")
    }
    if request.subject?.hasSuffix("*") == true {
      terminal.remark(
        "warning: the subject ends with *: make sure that nobody who isn't meant can run a job that fits it, such as one of a pull request"
      )
    }
  }

  private static func words(of identity: IdentityInfo) -> String {
    let grant = GrantInfo(
      scope: identity.scope, app: identity.app, channel: identity.channel, bundles: identity.bundles)
    return
      "\(TokenGrant.words(of: grant, hosts: identity.hosts)), by ID tokens of \(identity.issuer) for \(identity.audience), of jobs that are "
      + identity.subject
  }

  static func table(_ identities: [IdentityInfo]) -> [String] {
    if identities.isEmpty {
      return [
        "there are no identities: no CI job gets a token for its ID token; `xcache identity add` adds one"
      ]
    }
    var table = Table([
      "NAME", "SCOPE", "APP", "CHANNEL", "BUNDLES", "HOSTS", "SUBJECT", "ISSUER", "AUDIENCE", "CREATED",
    ])
    for identity in identities {
      table.add([
        identity.name + (identity.removedAt == nil ? "" : " (removed)"), identity.scope,
        identity.app?.text ?? "all", identity.channel?.text ?? "all", identity.bundles ?? "all",
        HostOutput.cell(identity.hosts), identity.subject, identity.issuer, identity.audience,
        identity.createdAt.formatted,
      ])
    }
    return table.lines
  }
}
