import HTTP
import Identity
import OriginAPI
import Store
import System
import Values

extension SignInEndpoint {
  // MARK: - To the provider

  /// `GET /auth/login?return=%23/…&prompt=none`
  func login(_ request: borrowing Request) -> Answer {
    let query = SignInQuery(request)
    let fragment = ConsoleFragment.checked(query["return"])
    guard let options else { return .now(page(Self.noProvider, fragment)) }
    // The same key for all tabs of a browser; see LoginState.
    let browser = LoginCookie.key(in: request) ?? Secrets.random(LoginState.browserKeyCount)
    let prompt = query["prompt"] == "none" ? "none" : nil
    let peer = request.peer
    return .later {
      let keys = keys(browser)
      let state = LoginState(returnTo: fragment, now: seconds)
      do throws(IdentityError) {
        let url = try options.provider.authorizationURL(
          redirectURI: options.redirectURI, scopes: options.scopes, secrets: state.secrets(keys),
          prompt: prompt)
        return SignInPages.redirect(.found, to: url, cookies: [LoginCookie.setting(browser)])
      } catch {
        return refuse(SignInRefusal(error), fragment, from: peer)
      }
    }
  }

  // MARK: - From the provider

  /// `GET /auth/callback?code&state&iss`
  func callback(_ request: borrowing Request) -> Answer {
    // A HEAD asks what the page would be like; a code is redeemed once, by whoever opens the page.
    if request.method == .head {
      return .now(SignInPages.page(.ok, "Signing in", "Open this page to sign in."))
    }
    guard let options else { return .now(page(Self.noProvider, "")) }
    let query = SignInQuery(request)
    let browser = LoginCookie.key(in: request)
    let client = SessionClient.console(of: request)
    let peer = request.peer
    return .later {
      var fragment = ""
      do {
        let (state, keys) = try state(query["state"], browser, options)
        fragment = state.returnTo
        return try signIn(query, state, keys, options, client: client, from: peer)
      } catch let refusal as SignInRefusal {
        return refuse(refusal, fragment, from: peer)
      } catch let error as IdentityError {
        return refuse(SignInRefusal(error), fragment, from: peer)
      } catch let error as StoreError {
        let refusal = SignInRefusal(error)
        if refusal.status.code >= 500 { failures.note(Problem(error), error.description) }
        return refuse(refusal, fragment, from: peer)
      } catch {
        let problem = Problem(error)
        failures.note(problem, problem.detail ?? problem.title)
        return refuse(
          SignInRefusal(.internalServerError, "internal", "The origin's log says why."), fragment, from: peer)
      }
    }
  }

  /// Returns the sign-in that an answer belongs to.
  private func state(_ text: String?, _ browser: [UInt8]?, _ options: SignInOptions) throws(SignInRefusal)
    -> (
      LoginState, LoginState.Keys
    )
  {
    guard let browser else {
      throw SignInRefusal(
        .badRequest, "no-cookie",
        "The sign-in was begun in another browser, or more than ten minutes ago, or this browser takes no cookies. Open "
          + "\(options.origin)/console/ and sign in there.")
    }
    let keys = keys(browser)
    do throws(LoginState.Refusal) {
      return (try LoginState(text ?? "", keys, now: seconds), keys)
    } catch .late {
      throw SignInRefusal(
        .badRequest, "late", "The sign-in was begun more than ten minutes ago. Sign in again.")
    } catch {
      throw SignInRefusal(
        .badRequest, "state",
        "This answer doesn't belong to a sign-in that was begun in this browser, or the origin was started again meanwhile. "
          + "Sign in again; if you followed a link from somebody else, don't.")
    }
  }

  private func signIn(
    _ query: SignInQuery, _ state: LoginState, _ keys: LoginState.Keys, _ options: SignInOptions,
    client: String, from peer: IPAddress
  ) throws -> Response {
    guard isFirstAnswer(to: state) else {
      throw SignInRefusal(
        .conflict, "answered",
        "This page was opened before, and each sign-in is good for one time. If it worked then, you are signed in: go to the "
          + "console.", title: "This sign-in was used before")
    }
    if let error = query["error"] { throw Self.refusal(error, of: options.provider.issuer) }
    guard let code = query["code"], !code.isEmpty else {
      throw SignInRefusal(
        .badRequest, "no-code", "The provider's answer has no code. Sign in again.")
    }
    let claims = try options.provider.signIn(
      code: code, answerIssuer: query["iss"], redirectURI: options.redirectURI, secrets: state.secrets(keys),
      needed: options.neededClaims)
    let name = Self.shown(options.name(of: claims)) ?? Self.shown(claims.subject) ?? "?"
    let grants = options.grants(of: claims)
    guard !grants.isEmpty else {
      // Most often the provider doesn't send groups yet: an admin who sets this up reads here what to look for.
      let absent = RoleRule.claims(of: options.roles).filter { claims.values(of: $0).isEmpty }.sorted()
      let names = absent.joined(separator: ", ")
      throw SignInRefusal(
        .forbidden, "no-role",
        "\(options.provider.issuer.host) says that you are \(name), but no role on this origin is for you. Ask an admin for one "
          + "(serve --role), or sign in there as somebody else."
          + (absent.isEmpty
            ? ""
            : " It sent nothing in the claim\(absent.count == 1 ? "" : "s") \(names), which roles here go by."),
        title: "You have no role here")
    }
    // Always a new session, with a new secret: nothing that was in the browser before becomes one.
    let secret = TokenSecret()
    let session = try store.createSession(
      name: name, hash: secret.hash, grants: grants,
      identity: SignedInIdentity(issuer: claims.issuer, subject: claims.subject, detail: client),
      expiresAt: store.now + options.sessionTime * 1000,
      by: Actor(name: name, address: Self.address(peer)))
    counts.noteSuccess(.signIn)
    return SignInPages.redirect(
      .seeOther, to: "/console/" + state.returnTo,
      cookies: [SessionCookie.setting(secret.text(id: session.id), for: options.sessionTime)])
  }

  /// What a provider's error says (RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6).
  private static func refusal(_ error: String, of issuer: IssuerURL) -> SignInRefusal {
    switch error {
    case "access_denied":
      SignInRefusal(.forbidden, "access-denied", "\(issuer.host) says that you, or it, declined the sign-in.")
    case "login_required", "interaction_required", "consent_required", "account_selection_required":
      SignInRefusal(.forbidden, "login-required", "\(issuer.host) wants to ask you something first.")
    case "temporarily_unavailable", "server_error":
      SignInRefusal(
        .serviceUnavailable, "provider-down",
        "\(issuer.host) can't sign you in now. Try again in a minute. If it can't wait, an admin signs in to the console with "
          + "a token, which needs no provider.", title: "Signing in doesn't work now")
    default:
      SignInRefusal(
        .forbidden, "provider-error",
        "\(issuer.host) answered with the error “\(HumanText.line(error, limit: 60))”. Ask whoever runs it to look at the "
          + "client's registration.")
    }
  }

  // MARK: - Ending a session

  /// `POST /auth/logout`, with the console's cookie or a bearer token.
  func logout(_ request: borrowing Request) -> Answer {
    let bearer = APIRequest.bearer(request.field(.authorization)?.text)
    guard let text = bearer ?? SessionCookie.token(in: request) else {
      return .now(hardened(Problem.noSession.response))
    }
    let address = Self.address(request.peer)
    return .later {
      respond {
        if let token = try store.check(token: text), token.kind == .session {
          try store.endSession(token, by: Actor(name: token.name, address: address))
        }
        // Also where the session is over already: the answer to the first request may have been lost.
        return Response(.noContent, HeadFields([("Set-Cookie", SessionCookie.deleting)]))
      }
    }
  }

  // MARK: - Words

  private func refuse(_ refusal: SignInRefusal, _ fragment: String, from peer: IPAddress) -> Response {
    counts.noteRefusal(.signIn, refusal.code, refusal.words, from: peer)
    return page(refusal, fragment)
  }

  private func page(_ refusal: SignInRefusal, _ fragment: String) -> Response {
    SignInPages.page(
      refusal.status, refusal.title, refusal.words, again: refusal.mayTryAgain ? fragment : nil)
  }

  private static let noProvider = SignInRefusal(
    .notFound, "no-sso",
    "This origin has no sign-in with a provider. Use a token in the console, or have the origin started with --oidc-issuer.",
    mayTryAgain: false)

  /// A name from outside, as lists and the audit trail show it: one line of at most 128 bytes, without what nobody sees, since two names
  /// that look the same are taken for one person's. Nil if nothing is left.
  static func shown(_ name: String) -> String? {
    let line = HumanText.line(name, limit: 128)
    let seen = line.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
    var shown = String(String.UnicodeScalarView(seen)).split(whereSeparator: \.isWhitespace).joined(
      separator: " ")
    while shown.utf8.count > 128 { shown.unicodeScalars.removeLast() }
    return shown.isEmpty ? nil : shown
  }

  /// An address for the audit trail; empty if it isn't known.
  static func address(_ peer: IPAddress) -> String { peer == .unknown ? "" : peer.description }
}

/// The query of a request below `/auth/`, decoded; a name that comes twice has no value (RFC 6749 §3.1: "parameters MUST NOT be
/// included more than once").
struct SignInQuery: Sendable {
  private var values: [String: String] = [:]

  init(_ request: borrowing Request) {
    guard let query = request.query else { return }
    var items = QueryItems(query)
    var repeated: Set<String> = []
    while let item = items.next() {
      guard let name = item.name.formDecodedText, let value = item.value.formDecodedText else { continue }
      if values.updateValue(value, forKey: name) != nil { repeated.insert(name) }
    }
    for name in repeated { values[name] = nil }
  }

  subscript(_ name: String) -> String? { values[name] }
}

extension Problem {
  fileprivate static var noSession: Problem {
    Problem(
      .unauthorized, "token",
      "nobody is signed in here; the console sends its cookie with Xcache-Console: 1, others Authorization: Bearer TOKEN"
    )
  }
}
