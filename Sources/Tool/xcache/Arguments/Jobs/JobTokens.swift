import HTTPClient
import OriginAPI
import OriginClient
import System
import Values

/// Trades a job's ID token for a token of the origin, which lasts 15 minutes.
struct JobTokens: Sendable {
  let server: BaseURL
  let given: GivenIDToken
  /// The identity to act as; nil if just one matches.
  let identity: String?
  let http: HTTPClient
  /// Where what was got is kept; nil: only in this process.
  let folder: JobTokenFolder?
  let trace: (@Sendable (String) -> Void)?
  let remark: @Sendable (String) -> Void

  /// What this process has got, by the name of its file.
  private static let known = Locked<[String: JobTokenFolder.Entry]>([:])

  /// A token that lasts less than that many milliseconds isn't taken from the cache if another one can be had.
  private static let leastLife: Int64 = 120_000

  /// Returns the credential with which the job asks.
  /// - Throws: `OriginError`, `Failure`, `SystemError`; none has a token in it.
  func credential() throws -> OriginCredential {
    var renewed: (@Sendable () -> OriginCredential.Token?)?
    // The origin takes an ID token once; only GitHub gives a job further ones. One that can't be had is refused as ended.
    if given.isRenewable { renewed = { try? self.token() } }
    return OriginCredential(
      try token(), source: words,
      remedy:
        "the origin refuses what \(words) was traded for: its 15 minutes are over, or its identity was removed. Run the job again, or "
        + "ask an admin to look at `xcache identity list`",
      renewed: renewed)
  }

  private var words: String { "the job's ID token (\(given.source))" }

  private func token() throws -> OriginCredential.Token {
    let name = JobTokenFolder.name(server: server.text, identity: identity, key: given.key)
    guard let folder, folder.isThere else {
      let entry = try entry(after: Self.known.withLock { $0[name] }) { entry in
        Self.known.withLock { $0[name] = entry }
      }
      return try token(of: entry)
    }
    return try folder.locked(name) {
      let entry = try entry(after: try folder.read(name, server: server.text)) { entry in
        try folder.write(entry, name)
      }
      folder.sweep()
      return try token(of: entry)
    }
  }

  private func token(of entry: JobTokenFolder.Entry) throws -> OriginCredential.Token {
    guard let text = entry.token, let end = entry.endsAt else {
      throw Failure("the origin's answer to the job's ID token can't be used", name: "id-token")
    }
    return OriginCredential.Token(text, endsAt: end)
  }

  /// Returns what there is already, or what the ID token is traded for; `keep` keeps it.
  private func entry(
    after last: JobTokenFolder.Entry?, _ keep: (JobTokenFolder.Entry) throws -> Void
  ) throws -> JobTokenFolder.Entry {
    let now = Clock.unixMilliseconds()
    if let last, last.token != nil, let end = last.endsAt {
      if end - now > (given.isRenewable ? Self.leastLife : 0) { return last }
      guard given.isRenewable else {
        throw Failure(
          "\(words) was traded at \(server) already, and what it got ended at \(Timestamp.words(end)). An ID token is taken once, and "
            + "gives 15 minutes: do this in a job of its own", name: "id-token-used")
      }
    }
    // A trade whose answer was lost is asked for again, with the same secret. GitHub gives another ID token then.
    let unanswered = given.isRenewable ? nil : last?.secret
    var entry = JobTokenFolder.Entry(server: server.text, secret: unanswered ?? Secrets.random(32))
    if unanswered == nil { try keep(entry) }
    let answer = try trade(entry.secret)
    (entry.id, entry.endsAt) = (answer.id, answer.expiresAt.milliseconds)
    try keep(entry)
    remark("acts as \(answer.name) until \(answer.expiresAt.formatted), by \(words)")
    return entry
  }

  private func trade(_ secret: [UInt8]) throws -> TradeAnswer {
    let text = try given.token(for: server.text, trace: trace)
    let request = TradeRequest(token: text, secretHash: SHA256.of(secret).hex, identity: identity)
    do throws(OriginError) {
      return try OriginClient(server: server, credential: nil, http: http).trade(request).value
    } catch {
      throw Self.explained(error, server, words)
    }
  }

  /// Returns the error with what is known here: where the ID token came from.
  static func explained(_ error: OriginError, _ server: BaseURL, _ words: String) -> any Error {
    switch error {
    case .notAnOrigin(_, _, 404):
      return Failure(
        "\(server) doesn't take ID tokens: the origin's xcache is too old for \(words); update it, or use a token",
        name: "not-found")
    case .refused(var problem) where problem.status < 500:
      problem.detail =
        problem.code == "not-found"
        ? "\(server) doesn't take ID tokens: the origin's xcache is too old for \(words); update it, or use a token"
        : "\(problem.detail ?? problem.title). It is about \(words), for \(server)"
      problem.isAboutGivenToken = true
      return OriginError.refused(problem)
    default: return error
    }
  }
}
