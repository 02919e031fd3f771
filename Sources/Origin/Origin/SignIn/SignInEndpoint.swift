import HTTP
import Identity
import OriginAPI
import Store
import System
import Values

/// Everything below `/auth/`: people sign in with a provider, command lines by a person's leave, CI jobs with their ID tokens.
///
/// No answer is kept by any cache, and none allows a script of another site (CORS) anything.
struct SignInEndpoint: Sendable {
  let store: Store
  /// How people sign in; nil if they don't.
  let options: SignInOptions?
  /// The issuers of jobs' ID tokens.
  let issuers: IdentityProviders
  /// The command lines that wait for a person.
  let pending: PendingSignInTable
  let counts: SignInLog
  let failures: FailureLog
  /// The addresses that recently sent what isn't taken.
  let attempts = LoginAttempts()
  /// Authenticates states, for as long as the process runs.
  private let key = Secrets.random(32)
  private let answered = Locked(AnsweredStates())

  init(_ store: Store, _ options: Origin.Options, failures: FailureLog) {
    self.store = store
    self.options = options.signIn
    self.failures = failures
    issuers = options.issuers
    pending = PendingSignInTable(store: store)
    counts = SignInLog(log: options.log)
  }

  func answer(_ request: borrowing Request) -> Answer {
    guard let route = SignInRoute.at(request.path) else { return .now(hardened(Problem.notFound.response)) }
    if request.method == .options {
      return .now(Response(.noContent, HeadFields([("Allow", route.allow)] + SignInPages.fields)))
    }
    guard route.takes(request.method) else {
      return .now(hardened(Problem.methodNotAllowed(route.allow).response))
    }
    switch route {
    case .configuration: return .now(hardened(.json(configuration)))
    case .login: return login(request)
    case .callback: return callback(request)
    case .session: return session(request)
    case .logout: return logout(request)
    case .trade: return collect(request, route) { (body: TradeRequest, peer) in try trade(body, from: peer) }
    case .device:
      return collect(request, route) { (body: DeviceSignInRequest, peer) in try device(body, from: peer) }
    case .token:
      return collect(request, route) { (body: SignInTokenRequest, peer) in try token(body, from: peer) }
    }
  }

  /// `GET /auth/`
  private var configuration: SignInConfiguration {
    SignInConfiguration(
      sso: options.map { .init(issuer: $0.provider.issuer.text, host: $0.provider.issuer.host) })
  }

  /// Seconds since 1970.
  var seconds: Int64 { store.now / 1000 }

  /// The keys of a browser's states.
  func keys(_ browser: [UInt8]) -> LoginState.Keys { LoginState.Keys(own: key, browser: browser) }

  /// Whether a state is answered for the first time.
  func isFirstAnswer(to state: LoginState) -> Bool {
    answered.withLock { $0.note(state, now: seconds) }
  }

  // MARK: - Documents

  /// Receives a small JSON document and answers it on a worker. A form of another site can't send that type.
  private func collect<Body: Decodable & Sendable>(
    _ request: borrowing Request, _ route: SignInRoute,
    _ act: @escaping @Sendable (Body, IPAddress) throws -> Response
  ) -> Answer {
    guard request.announcesBody else { return .now(hardened(Problem.lengthRequired.response)) }
    guard Self.isJSON(request.field(.contentType)?.text), request.field(.contentEncoding) == nil else {
      return .now(hardened(Problem.onlyJSON.response))
    }
    let limit = route.bodyLimit
    if case .length(let length) = request.bodyLength, length > UInt64(limit) {
      return .now(hardened(Problem.tooLarge(limit: UInt64(limit)).response))
    }
    let peer = request.peer
    return .collect(limit: limit) { bytes in
      respond {
        guard bytes.count <= limit else { throw Problem.tooLarge(limit: UInt64(limit)) }
        return try act(try JSONValue.parse(bytes).decodeKnown(), peer)
      }
    }
  }

  private static func isJSON(_ type: String?) -> Bool {
    let name = type?.prefix { $0 != ";" } ?? ""
    return HTTPField.trimmed(name).lowercased() == "application/json"
  }

  /// Turns what an act throws into its answer; internal errors are logged.
  func respond(_ act: () throws -> Response) -> Response {
    do {
      return hardened(try act())
    } catch {
      let problem = Problem(error)
      if problem.status >= 500, !(error is Problem) {
        failures.note(problem, problem.detail ?? problem.title)
      }
      return hardened(problem.response)
    }
  }

  /// An answer with what all answers here have.
  func hardened(_ response: Response) -> Response {
    var fields = response.head.fields.without("cache-control").without("referrer-policy")
      .without("x-content-type-options")
    for (name, value) in SignInPages.fields { fields.add(name, value) }
    return Response(response.status, fields, response.body)
  }

  // MARK: - Refusals

  /// Notes that an address sent what isn't taken.
  /// - Throws: 429 if it did so too often.
  func noteFailure(of peer: IPAddress) throws(Problem) {
    if let seconds = attempts.retryDelay(peer) {
      var problem = Problem(
        .tooManyRequests, "slow-down", "too many failed attempts from this address; try again in \(seconds) s"
      )
      problem.retryAfter = seconds
      throw problem
    }
    attempts.noteFailure(peer)
  }
}

/// The command lines that wait for a person, for the routes that ask and the one that decides.
final class PendingSignInTable: Sendable {
  private let table = Locked(PendingSignIns())
  private let store: Store

  init(store: Store) { self.store = store }

  /// - Parameter act: gets the table, and monotonic milliseconds.
  func with<Result>(_ act: (inout PendingSignIns, _ now: Int64) -> Result) -> Result {
    let now = Int64(Clock.monotonicNanoseconds() / 1_000_000)
    return table.withLock { act(&$0, now) }
  }
}

extension Problem {
  fileprivate static var onlyJSON: Problem {
    Problem(
      .unsupportedMediaType, "content-type", "send the body as Content-Type: application/json, without coding"
    )
  }
  /// Nobody signs in here with a provider.
  static var noProvider: Problem {
    Problem(
      .notFound, "no-sso",
      "this origin has no sign-in with a provider; use a token, or have it started with --oidc-issuer")
  }
}
