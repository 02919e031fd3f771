import HTTPClient
import OriginAPI
import OriginClient
import System
import Values

/// `xcache login --sso`: a person who signs in to the origin's console in a browser allows this command line there.
struct SingleSignOn {
  let server: BaseURL
  let http: HTTPClient
  let environment: [String: String]
  let terminal: Terminal
  /// Whether the browser may be on another machine.
  let isDevice: Bool

  /// Each question is one attempt, or two: it is asked again anyway.
  private var client: OriginClient {
    OriginClient(server: server, credential: nil, http: http) { RetryPolicy(attempts: 2, hasAnswered: $0) }
  }

  /// Waits until a person has decided, 10 minutes at most.
  /// - Throws: `Failure`, `OriginError`, `SystemError`.
  func signIn() throws -> SignInTokenAnswer {
    try checkProvider()
    if isDevice { return try byDevice() }
    guard let browser = BrowserProgram(environment) else {
      terminal.remark("no browser can be opened here: use one anywhere, as with --device")
      return try byDevice()
    }
    return try byLoopback(browser)
  }

  /// Asks whether people sign in there.
  private func checkProvider() throws {
    let configuration: SignInConfiguration
    do throws(OriginError) {
      configuration = try client.signInConfiguration()
    } catch {
      switch error {
      case .notAnOrigin(_, _, 404): throw unsupported("its xcache is too old; update it")
      case .refused(let problem) where problem.status == 404:
        throw unsupported("its xcache is too old; update it")
      default: throw error
      }
    }
    guard let provider = configuration.sso else {
      throw unsupported("it has no sign-in provider (`xcache serve --oidc-issuer`)")
    }
    terminal.remark("people sign in to \(server) at \(provider.host)")
  }

  private func unsupported(_ why: String) -> Failure {
    Failure(
      "\(server) has no single sign-on: \(why). With a token: xcache login \(server)", name: "no-sign-in")
  }

  // MARK: - On this machine (RFC 8252 §7.3)

  private func byLoopback(_ browser: BrowserProgram) throws -> SignInTokenAnswer {
    let listener = try LoopbackListener()
    // RFC 7636 §4.1: 43 to 128 characters.
    let verifier = Base64URL.encode(Secrets.random(48))
    let state = Base64URL.encode(Secrets.random(24))
    let challenge = Base64URL.encode(Array(SHA256.of(Array(verifier.utf8)).bytes))
    let pending = try client.beginSignIn(
      DeviceSignInRequest(port: Int(listener.port), challenge: challenge, state: state))
    try show(
      pending,
      "a browser opens; sign in there, compare the code \(pending.userCode), and allow it. If none opens, open this page on this "
        + "machine; on another one, use --device:")
    do {
      try browser.open(pending.verifyURL, environment)
    } catch {
      terminal.note("no browser could be opened (\(error)); open the page yourself")
    }
    let seconds = max(1, min(Int64(pending.expiresIn), SignInPolling.longest))
    let end = Clock.monotonicNanoseconds() + UInt64(seconds) * 1_000_000_000
    switch try listener.wait(for: state, until: end) {
    case .allowed(let code): return try token(for: code, verifier, until: end)
    case .denied: throw denied
    case nil: throw late
    }
  }

  /// Gets the token for a code. An outage in that moment isn't the end: the code is good until then.
  private func token(for code: String, _ verifier: String, until end: UInt64) throws -> SignInTokenAnswer {
    while true {
      do throws(OriginError) {
        return try client.signInToken(SignInTokenRequest(code: code, verifier: verifier))
      } catch {
        guard error.isOutage, Clock.monotonicNanoseconds() < end else { throw explained(error) }
        Clock.sleep(for: .seconds(2))
      }
    }
  }

  // MARK: - On any machine (RFC 8628)

  private func byDevice() throws -> SignInTokenAnswer {
    let pending = try client.beginSignIn(DeviceSignInRequest())
    guard let code = pending.deviceCode else {
      throw OriginError.notAnOrigin(server: server.text, found: "a sign-in without a device code")
    }
    try show(
      pending, "open this page in a browser, sign in, compare the code \(pending.userCode), and allow it:")
    var polling = SignInPolling(
      interval: pending.interval, expiresIn: pending.expiresIn, now: Self.now)
    var action = polling.first(now: Self.now)
    while case .wait(let seconds) = action {
      Clock.sleep(for: .seconds(seconds))
      do throws(OriginError) {
        return try client.signInToken(SignInTokenRequest(deviceCode: code))
      } catch {
        guard let outcome = Self.outcome(of: error) else { throw explained(error) }
        action = polling.next(after: outcome, now: Self.now)
      }
    }
    throw late
  }

  private static var now: Int64 { Int64(Clock.monotonicNanoseconds() / 1_000_000_000) }

  /// Returns what a refusal says about going on; nil if it is the end.
  static func outcome(of error: OriginError) -> SignInPolling.Outcome? {
    switch error.problem?.code {
    case "authorization-pending": .pending
    case "slow-down": .slowDown
    default: error.problem?.status == 429 ? .slowDown : error.isOutage ? .outage : nil
    }
  }

  // MARK: - Words

  /// Shows the page and the code, also with --quiet: nothing goes on without them.
  private func show(_ pending: DeviceSignInAnswer, _ words: String) throws {
    guard VerifyPage.isFit(pending.verifyURL, of: server), Self.isCode(pending.userCode) else {
      throw OriginError.notAnOrigin(server: server.text, found: "a sign-in page that can't be opened")
    }
    terminal.note(words)
    terminal.note("  \(pending.verifyURL)")
  }

  /// Whether a text is a user code: letters, digits and hyphens.
  static func isCode(_ text: String) -> Bool {
    (4...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~") }
  }

  private var denied: Failure {
    Failure("the sign-in was denied in the console; nothing was saved", code: .refused, name: "access-denied")
  }

  private var late: Failure {
    Failure(
      "nobody allowed the sign-in in time; nothing was saved: run this again", name: "expired-token")
  }

  private func explained(_ error: OriginError) -> any Error {
    switch error.problem?.code {
    case "access-denied": denied
    case "expired-token": late
    default: error
    }
  }
}
