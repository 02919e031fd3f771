import HTTPClient
import System
import Values

/// Where a job of GitHub Actions gets its ID tokens: a job with `permissions: id-token: write` has the address, and a bearer token for
/// it, in its environment.
struct GitHubIDTokens: Sendable {
  private let url: String
  private let bearer: String

  /// Reads the environment; nil outside of such a job.
  /// - Throws: `UsageError` if the address isn't one that the bearer token may be sent to.
  init?(_ environment: [String: String]) throws {
    guard let url = environment["ACTIONS_ID_TOKEN_REQUEST_URL"], !url.isEmpty,
      let bearer = environment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"], !bearer.isEmpty
    else { return nil }
    guard Self.isFit(url), bearer.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      throw UsageError(
        "ACTIONS_ID_TOKEN_REQUEST_URL isn't an https URL, so the job's ID token isn't asked for; GitHub sets it"
      )
    }
    self.url = url
    self.bearer = bearer
  }

  /// Whether it is an https URL, or http on this machine, without a user name.
  private static func isFit(_ url: String) -> Bool {
    let place = String(url.prefix { $0 != "?" })
    guard !url.contains("#"), url.utf8.count <= 4096, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      let base = try? BaseURL(place)
    else { return false }
    return base.text.hasPrefix("https://") || base.isLoopback
  }

  /// What stays the same in all commands of a job.
  var key: String { bearer }

  /// The request for a token with this audience. It goes to that address only: redirects aren't followed.
  func request(for audience: String) -> HTTPRequest {
    let separator = url.contains("?") ? "&" : "?"
    var request = HTTPRequest(
      "GET", "\(url)\(separator)audience=\(PercentEncoding.encode(audience))",
      fields: [("Accept", "application/json"), ("Authorization", "Bearer \(bearer)")],
      timeouts: HTTPTimeouts(totalMilliseconds: 20_000))
    request.isRepeatable = true
    return request
  }

  /// Asks for a token.
  /// - Throws: `Failure`, without the tokens.
  func token(for audience: String, trace: (@Sendable (String) -> Void)?) throws -> String {
    // The certificates of --cacert are those of the origin, not of GitHub.
    let http = HTTPClient(trace: trace)
    var policy = RetryPolicy(attempts: 4, first: 500, hasAnswered: false)
    while true {
      let outcome: RetryPolicy.Outcome
      var answer: [UInt8]?
      do throws(HTTPClientError) {
        let reply = try http.send(request(for: audience), into: .memory(limit: 64 << 10))
        if reply.status == 200 { answer = reply.body }
        outcome = .status(reply.status, retryAfter: reply.retryAfter)
      } catch {
        outcome = .error(error)
      }
      if let answer { return try Self.token(in: answer) }
      guard case .wait(let milliseconds) = policy.next(after: outcome) else {
        throw Failure(
          "GitHub gave no ID token for this job: \(outcome); the job needs `permissions: id-token: write`",
          name: "id-token")
      }
      Clock.sleep(for: .milliseconds(milliseconds))
    }
  }

  private static func token(in body: [UInt8]) throws(Failure) -> String {
    guard let text = (try? JSONValue.parse(body))?["value"]?.string, let token = GivenIDToken.token(text)
    else {
      throw Failure("what GitHub answered has no ID token in it", name: "id-token")
    }
    return token
  }
}
