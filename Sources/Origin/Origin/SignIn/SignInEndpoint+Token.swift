import HTTP
import OriginAPI
import Store
import System
import Values

extension SignInEndpoint {
  /// `POST /auth/session`: a session of the token in the Authorization field, for the console, in the cookie. Then no script has to keep
  /// the token's text.
  ///
  /// The field that the console's script sends is needed as at the API: a form of another site can send neither it nor a token.
  func session(_ request: borrowing Request) -> Answer {
    guard let text = APIRequest.bearer(request.field(.authorization)?.text) else {
      return .now(hardened(Problem.noBearer.response))
    }
    guard SessionCookie.isForConsole(request) else { return .now(hardened(Problem.notTheConsole.response)) }
    guard Self.keepsCookie(request) else { return .now(hardened(Problem.insecure.response)) }
    let client = SessionClient.console(of: request)
    let peer = request.peer
    return .later {
      respond {
        // Valid tokens first, as at the API.
        guard let token = try store.check(token: text) else {
          try noteFailure(of: peer)
          throw Problem.unknownToken
        }
        return try begin(token, client: client, from: peer)
      }
    }
  }

  private func begin(_ token: AccessToken, client: String, from peer: IPAddress) throws -> Response {
    guard token.kind == .token else { throw Problem.notAToken(token) }
    let secret = TokenSecret()
    let session = try store.createSession(
      of: token, hash: secret.hash, detail: client, lifetime: Self.tokenSessionTime * 1000,
      by: Actor(name: token.name, address: Self.address(peer)))
    let seconds = ((session.expiresAt ?? 0) - session.createdAt) / 1000
    let answer = Response.json(TokenInfo(session))
    let cookie = SessionCookie.setting(secret.text(id: session.id), for: seconds)
    return Response(answer.status, answer.head.fields.adding("Set-Cookie", cookie), answer.body)
  }

  /// Seconds after which the console asks for the token again.
  static let tokenSessionTime: Int64 = 12 * 3600

  /// Whether the browser keeps a cookie that is `Secure`: it came over https, or from the same machine. Browsers say where a script's POST
  /// comes from in Origin (Fetch §3.2), as they see it themselves, whatever proxies are in between.
  private static func keepsCookie(_ request: borrowing Request) -> Bool {
    guard let origin = request.field(.origin)?.text else { return request.peer.isLoopback }
    if origin.hasPrefix("https://") { return true }
    guard origin.hasPrefix("http://") else { return false }
    let authority = origin.dropFirst("http://".count)
    let host: Substring
    if authority.hasPrefix("[") {
      host = authority.dropFirst().prefix { $0 != "]" }
    } else {
      host = authority.prefix { $0 != ":" }
    }
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback ?? false
  }
}

extension Problem {
  fileprivate static var noBearer: Problem {
    Problem(.unauthorized, "token", "send the token as Authorization: Bearer TOKEN")
  }

  fileprivate static var unknownToken: Problem {
    Problem(.unauthorized, "token", "the token is unknown, expired or revoked; ask an admin for a new one")
  }

  fileprivate static var notTheConsole: Problem {
    Problem(
      .forbidden, "not-the-console",
      "sessions of tokens are for the console, which sends Xcache-Console: 1; others send the token itself")
  }

  fileprivate static var insecure: Problem {
    Problem(
      .conflict, "insecure",
      "browsers keep a session only over https, or at localhost; open the console there, or go on with the token, which its page "
        + "forgets when it is closed")
  }

  fileprivate static func notAToken(_ caller: AccessToken) -> Problem {
    Problem(
      .conflict, "not-a-token",
      "\"\(caller.name)\" is a \(caller.kind == .job ? "CI job's token" : "session"), which can't begin sessions; use a token that "
        + "an admin made, or sign in with the provider")
  }
}
