import Compression
import HTTPClient
import OriginAPI
import System
import Values

/// A client of an origin's `/api/v1` that authenticates with a token and retries where that may help.
///
/// Usable from any thread.
package final class OriginClient: Sendable {
  package let server: BaseURL
  private let credential: OriginCredential?
  private let http: HTTPClient
  /// Makes the retry policy for one request, given whether the server has answered before.
  private let retries: @Sendable (Bool) -> RetryPolicy
  private let state = Locked(State())

  private struct State {
    var hasAnswered = false
    /// Whether the origin has said that it accepts zstd-coded bodies.
    var takesZstd = false
    var bytesSent: Int64 = 0
    /// The token, and when it ends.
    var token: OriginCredential.Token?
  }

  /// Creates a client; `tokenSource` says where the token came from, for messages.
  package convenience init(
    server: BaseURL, token: String?, tokenSource: String? = nil, http: HTTPClient = HTTPClient(),
    retries: @escaping @Sendable (Bool) -> RetryPolicy = { OriginClient.policy(hasAnswered: $0) }
  ) {
    self.init(
      server: server, credential: token.map { OriginCredential($0, source: tokenSource) }, http: http,
      retries: retries)
  }

  /// Creates a client that sends `credential`; nil: no token.
  package init(
    server: BaseURL, credential: OriginCredential?, http: HTTPClient = HTTPClient(),
    retries: @escaping @Sendable (Bool) -> RetryPolicy = { OriginClient.policy(hasAnswered: $0) }
  ) {
    self.server = server
    self.credential = credential
    self.http = http
    self.retries = retries
    state.withLock { $0.token = credential?.token }
  }

  /// Returns the default retry policy: it gives up early on a server that has never answered, whose address may be wrong.
  package static func policy(hasAnswered: Bool) -> RetryPolicy {
    RetryPolicy(hasAnswered: hasAnswered)
  }

  /// The number of body bytes sent so far, including those of failed attempts.
  package var bytesSent: Int64 { state.withLock { $0.bytesSent } }

  /// Returns the JSON of a successful answer; `.null` if it has no body.
  /// - Throws: `unreachable`, `notAnOrigin`, `blocked`, `refused`, `body`.
  package func send(_ call: OriginCall) throws(OriginError) -> JSONValue {
    let body = try bytes(call)
    if body.isEmpty { return .null }
    guard let json = try? JSONValue.parse(body) else {
      throw .notAnOrigin(server: server.text, found: "an answer that isn't JSON")
    }
    return json
  }

  /// Returns the body of a successful answer, for documents that are read as a stream or kept as they are.
  package func bytes(_ call: OriginCall) throws(OriginError) -> [UInt8] {
    let reply = try reply(to: call)
    if reply.isSuccess { return reply.body }
    guard var problem = Problem(status: reply.status, body: reply.body) else {
      if (300..<400).contains(reply.status), let place = reply.fields["location"] {
        throw .notAnOrigin(
          server: server.text,
          found:
            "it redirects to \(Self.shown(place)), and tokens are not sent along; give the origin's own address",
          status: reply.status)
      }
      if reply.status == 401 || reply.status == 403 || reply.status == 407 {
        throw .blocked(
          server: server.text, status: reply.status, by: reply.fields["server"].flatMap(Self.name))
      }
      // Proxies answer plain HTTP on a TLS port with such a text, each in its own words.
      if reply.status == 400, server.text.hasPrefix("http:"),
        String(decoding: reply.body.prefix(4096), as: UTF8.self).uppercased().contains("HTTPS")
      {
        throw .notAnOrigin(
          server: server.text, found: "that port uses TLS: use https:// in the address", status: 400)
      }
      throw .notAnOrigin(
        server: server.text, found: "status \(reply.status) without a reason", status: reply.status)
    }
    problem.tokenSource = credential?.source
    // What helps is known here: the origin can't know how the token was got.
    if problem.code == "token", let remedy = credential?.remedy {
      (problem.detail, problem.tokenSource) = (remedy, nil)
      problem.isAboutGivenToken = true
    }
    throw .refused(problem)
  }

  /// Returns the name of a server's product: `nginx` of `nginx/1.22.1`; nil if it isn't a plain word.
  private static func name(_ field: String) -> String? {
    let name = field.prefix { $0 != "/" && $0 != " " }
    let isPlain = name.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x7A).contains($0) || $0 == 0x2D
    }
    return isPlain && (1...40).contains(name.utf8.count) ? String(name) : nil
  }

  /// Returns a redirect's target as shown in messages: without its query, line breaks and escape sequences.
  private static func shown(_ place: String) -> String {
    let text = place.prefix { $0 != "?" && $0 != "#" }.unicodeScalars.filter {
      (0x21...0x7e).contains($0.value)
    }
    return String(String.UnicodeScalarView(text.prefix(200)))
  }

  /// Sends a call and decodes the successful answer.
  /// - Throws: also `notAnOrigin`, naming the member that is missing or wrong.
  package func send<Value: Decodable>(_ call: OriginCall, as type: Value.Type = Value.self)
    throws(OriginError)
    -> OriginAnswer<Value>
  {
    let document = try send(call)
    return OriginAnswer(
      value: try reading { () throws(JSONError) in try document.decode(type) }, document: document)
  }

  /// Sends `GET /api/v1/{path}` and decodes the answer.
  package func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws(OriginError)
    -> OriginAnswer<Value>
  {
    try send(OriginCall("GET", path), as: type)
  }

  /// Runs `body`, which decodes an answer.
  /// - Throws: `notAnOrigin`, naming the member that is missing or wrong.
  package func reading<Value>(_ body: () throws(JSONError) -> Value) throws(OriginError) -> Value {
    do {
      return try body()
    } catch {
      throw .notAnOrigin(server: server.text, found: "an answer that can't be read (\(error))")
    }
  }

  /// Returns the file of a `download` from the origin itself, wherever its public URL points; nil if the origin doesn't
  /// serve it.
  package func file(_ download: String, limit: Int) -> [UInt8]? {
    // {space}/{app id}/{manifest version}/{resource version}/{uuid}/{name}
    let path = download.split(separator: "/").suffix(6).joined(separator: "/")
    let request = HTTPRequest("GET", "\(server.text)/\(path)", decodes: true)
    guard let reply = try? http.send(request, into: .memory(limit: limit)), reply.isSuccess else {
      return nil
    }
    return reply.body
  }

  private func reply(to call: OriginCall) throws(OriginError) -> HTTPReply {
    var call = call
    // The origin recognizes a retry by its key: however often the act is sent, it is carried out once.
    if !call.isRepeatable { call.fields.append(.newIdempotencyKey()) }
    // Retries of a call have the token of its first attempt: under another one, its key would be another act's.
    let token = call.area == "/auth/" ? nil : currentToken()
    var plain = code(&call)
    var policy = retries(state.withLock { $0.hasAnswered })
    policy.isAct = !call.isRepeatable
    // Whether an attempt with unknown outcome may have been carried out.
    var isOpen = false
    let end = Clock.monotonicNanoseconds() + UInt64(call.timeouts.stallSeconds) * 1_000_000_000
    while true {
      let outcome: RetryPolicy.Outcome
      let last: Result<HTTPReply, OriginError>
      do {
        let reply = try http.send(request(call, token), into: .memory(limit: call.limit))
        state.withLock { state in
          state.hasAnswered = true
          if reply.takesZstd { state.takesZstd = true }
        }
        if reply.status == 415, let uncoded = plain {
          // Whatever answers now isn't what said that it accepts coded bodies.
          (call, plain) = (uncoded, nil)
          state.withLock { $0.takesZstd = false }
          continue
        }
        guard RetryPolicy.transient.contains(reply.status) else { return reply }
        // Too many wrong tokens: the sender should read that now, not after a wait.
        if reply.status == 429, (reply.retryAfter ?? 0) > Self.maxSilentWait { return reply }
        if reply.isStillRunning, Clock.monotonicNanoseconds() < end {
          // The first attempt is still running: wait for it as long as for its answer.
          Clock.sleep(for: .seconds(min(reply.retryAfter ?? 1, 60)))
          continue
        }
        outcome = .status(reply.status, retryAfter: reply.retryAfter)
        last = .success(reply)
        // A refusal by the origin means that this attempt wasn't carried out. It says nothing about an earlier one: a busy
        // origin answers before it looks up the key.
        if Problem(status: reply.status, body: reply.body) == nil || reply.isStillRunning { isOpen = true }
      } catch {
        if case .callback(let cause) = error { throw .body(cause) }
        outcome = .error(error)
        last = .failure(.unreachable(server: server.text, error))
        if !outcome.isBefore { isOpen = true }
      }
      guard case .wait(let milliseconds) = policy.next(after: outcome) else {
        if isOpen, !call.isRepeatable { throw .unknownOutcome(server: server.text, outcome) }
        return try last.get()
      }
      http.reportRetry(of: server.text, after: outcome, in: milliseconds)
      Clock.sleep(for: .milliseconds(milliseconds))
    }
  }

  /// The longest Retry-After of a 429, in seconds, that is waited out silently.
  private static let maxSilentWait = 2

  /// The size in bytes above which bodies are coded.
  private static let codedFrom = 64 << 10

  /// Codes a large body, if the origin accepts that and it pays.
  /// - Returns: the original call, or nil if nothing was coded.
  private func code(_ call: inout OriginCall) -> OriginCall? {
    guard case .bytes(let body) = call.body, body.count > Self.codedFrom,
      state.withLock({ $0.takesZstd })
    else { return nil }
    let coded = Zstd.encode([body], level: 1)
    guard Coding.pays(coded.count, for: body.count) else { return nil }
    let plain = call
    call.body = .bytes(coded)
    call.fields.add("Content-Encoding", "zstd")
    guard let watch = call.watch else { return plain }
    // The watcher counts bytes of the body before coding.
    let sent = Locked<Int64>(0)
    let (all, count) = (Int64(body.count), Int64(coded.count))
    call.watch = { more in
      let grown = sent.withLock { sent in
        let before = sent * all / count
        sent += more
        return sent * all / count - before
      }
      return watch(grown)
    }
    return plain
  }

  /// Returns the token, or one that takes its place if it is about to end.
  private func currentToken() -> String? {
    guard let token = state.withLock({ $0.token }) else { return nil }
    guard let end = token.endsAt, end - Clock.unixMilliseconds() < Self.leastLife,
      let renewed = credential?.renewed?()
    else { return token.text }
    state.withLock { $0.token = renewed }
    return renewed.text
  }

  /// A token that ends within that many milliseconds is renewed before a call.
  private static let leastLife: Int64 = 60_000

  private func request(_ call: OriginCall, _ token: String?) -> HTTPRequest {
    var fields = call.fields
    if let token { fields.add("Authorization", "Bearer \(token)") }
    let counted = Locked<Int64>(0)
    let state = self.state
    return HTTPRequest(
      call.method, "\(server.text)\(call.area)\(call.path)", fields: fields, body: call.body,
      timeouts: call.timeouts, decodes: true
    ) { progress in
      let more = counted.withLock { last in
        defer { last = progress.sent }
        return max(0, progress.sent - last)
      }
      if more > 0 { state.withLock { $0.bytesSent += more } }
      return call.watch?(more) ?? true
    }
  }
}

extension HTTPReply {
  /// Whether the answer accepts zstd-coded bodies (RFC 9110 §12.5.3). A weighted entry isn't counted: its weight may be 0.
  fileprivate var takesZstd: Bool { fields.members("accept-encoding").contains("zstd") }

  /// Whether the origin is still carrying out an earlier attempt of the request.
  fileprivate var isStillRunning: Bool {
    status == 503 && Problem(status: status, body: body)?.code == "still-running"
  }
}
