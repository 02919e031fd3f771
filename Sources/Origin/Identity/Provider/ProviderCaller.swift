import HTTP
import HTTPClient
import System
import Values

/// Makes the requests to one provider: few at once, none for long, and none that is redirected.
final class ProviderCaller: Sendable {
  /// The most requests at once: a provider that hangs may hold so many threads.
  static let atOnce = 4
  /// The time for a request, in milliseconds.
  static let timeout = 10_000
  /// How long a request waits for others to end, in milliseconds: whoever signs in is rather told than kept waiting for a provider that
  /// hangs.
  static let patience = 1000
  /// The most bytes of an answer.
  static let limit = 1 << 20

  private let transport: IdentityTransport
  private let open = Monitor(0)

  init(_ transport: IdentityTransport) { self.transport = transport }

  /// Returns the body of a document.
  /// - Throws: `providerDown`, `providerAnswer`, `busy`.
  func document(_ url: ProviderURL, bearer: String? = nil, limit: Int = limit) throws(IdentityError)
    -> [UInt8]
  {
    var fields: HTTPFields = [("Accept", "application/json")]
    if let bearer { fields.add("Authorization", "Bearer \(bearer)") }
    let reply = try send(HTTPRequest("GET", url.text, fields: fields), url, limit)
    guard reply.status == 200 else {
      throw .providerAnswer(url.place, problem: "it answers with status \(reply.status)")
    }
    return reply.body
  }

  /// Posts a form, and returns the answer, which may be of status 200 or 4xx.
  /// - Throws: `providerDown`, `providerAnswer`, `busy`.
  func post(_ form: [(String, String)], to url: ProviderURL, fields: HTTPFields) throws(IdentityError)
    -> HTTPReply
  {
    var request = HTTPRequest("POST", url.text, fields: fields, body: .bytes(Array(Self.encoded(form).utf8)))
    request.fields.add("Content-Type", "application/x-www-form-urlencoded")
    request.fields.add("Accept", "application/json")
    request.asksBeforeBody = false
    return try send(request, url, Self.limit)
  }

  /// Names and values as a form or a query has them.
  static func encoded(_ form: [(String, String)]) -> String {
    form.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
  }

  private func send(_ request: HTTPRequest, _ url: ProviderURL, _ limit: Int) throws(IdentityError)
    -> HTTPReply
  {
    let isAdmitted: Bool? = open.waiting(for: .milliseconds(Self.patience)) { count in
      if count >= Self.atOnce { return nil }
      count += 1
      return true
    }
    guard isAdmitted ?? false else { throw .busy }
    defer { open.signalling { $0 -= 1 } }
    var request = request
    request.timeouts = HTTPTimeouts(
      connectMilliseconds: Self.timeout, stallSeconds: Self.timeout / 1000, totalMilliseconds: Self.timeout)
    let reply: HTTPReply
    do throws(HTTPClientError) {
      reply = try transport.send(request, limit)
    } catch {
      throw Self.failure(error, url)
    }
    if (300..<400).contains(reply.status) {
      // A code, a secret or a token would go where the provider didn't say beforehand.
      throw .providerAnswer(url.place, problem: "it redirects, which isn't followed")
    }
    if reply.status >= 500 || reply.status == 429 {
      throw .providerDown(host: url.host, reason: "it answers with status \(reply.status)")
    }
    return reply
  }

  private static func failure(_ error: HTTPClientError, _ url: ProviderURL) -> IdentityError {
    switch error {
    case .answerTooLong(let limit):
      .providerAnswer(url.place, problem: "its answer is longer than \(limit) bytes")
    case .redirect: .providerAnswer(url.place, problem: "it redirects, which isn't followed")
    default: .providerDown(host: url.host, reason: error.description(authorities: nil))
    }
  }
}
