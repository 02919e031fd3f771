import Compression
import HTTPClient
import Manifests
import System

/// Talks to an origin's `/api/v1`, with a token, and tries again what is worth it.
///
/// Usable from any thread.
package final class OriginClient: Sendable {
  package let server: BaseURL
  private let token: String?
  private let tokenSource: String?
  private let http: HTTPClient
  /// Makes the policy of one request; the argument: whether the server has answered before.
  private let retries: @Sendable (Bool) -> RetryPolicy
  private let state = Locked(State())

  private struct State {
    var hasAnswered = false
    /// The origin has said that it takes bodies that are coded by zstd.
    var takesZstd = false
    var bytesSent: Int64 = 0
  }

  /// - Parameter tokenSource: where the token came from, for messages.
  package init(
    server: BaseURL, token: String?, tokenSource: String? = nil, http: HTTPClient = HTTPClient(),
    retries: @escaping @Sendable (Bool) -> RetryPolicy = { OriginClient.policy(hasAnswered: $0) }
  ) {
    self.server = server
    self.token = token
    self.tokenSource = tokenSource
    self.http = http
    self.retries = retries
  }

  /// A server that never answered is given up soon: its address may be wrong.
  package static func policy(hasAnswered: Bool) -> RetryPolicy {
    RetryPolicy(hasAnswered: hasAnswered)
  }

  /// Body bytes sent so far, those of attempts that failed included.
  package var bytesSent: Int64 { state.withLock { $0.bytesSent } }

  /// The JSON of a success; `.null` where the answer has no body.
  /// - Throws: `unreachable`, `notAnOrigin`, `refused`, `body`.
  package func send(_ call: OriginCall) throws(OriginError) -> JSONValue {
    let body = try bytes(call)
    if body.isEmpty { return .null }
    guard let json = try? JSONValue.parse(body) else {
      throw .notAnOrigin(server: server.text, found: "an answer that isn't JSON")
    }
    return json
  }

  /// The body of a success, for documents that are read as a stream or kept as they are.
  package func bytes(_ call: OriginCall) throws(OriginError) -> [UInt8] {
    let reply = try reply(to: call)
    if reply.isSuccess { return reply.body }
    guard var problem = Problem(status: reply.status, body: reply.body) else {
      if (300..<400).contains(reply.status), let place = reply.field("location") {
        throw .notAnOrigin(
          server: server.text,
          found:
            "it redirects to \(Self.shown(place)), and tokens are not sent along; give the origin's own address",
          status: reply.status)
      }
      // What proxies say, each in its words, to http that comes to a port of theirs for TLS.
      if reply.status == 400, server.text.hasPrefix("http:"),
        String(decoding: reply.body.prefix(4096), as: UTF8.self).uppercased().contains("HTTPS")
      {
        throw .notAnOrigin(
          server: server.text, found: "that port uses TLS: use https:// in the address", status: 400)
      }
      throw .notAnOrigin(
        server: server.text, found: "status \(reply.status) without a reason", status: reply.status)
    }
    problem.tokenSource = tokenSource
    throw .refused(problem)
  }

  /// A redirect's target, as a message may have it: without its query, and without line breaks or escape sequences.
  private static func shown(_ place: String) -> String {
    let text = place.prefix { $0 != "?" && $0 != "#" }.unicodeScalars.filter {
      (0x21...0x7e).contains($0.value)
    }
    return String(String.UnicodeScalarView(text.prefix(200)))
  }

  /// The answer of a success as a value.
  /// - Throws: `notAnOrigin` too, naming the member that is missing or wrong.
  package func send<Value: Decodable>(_ call: OriginCall, as type: Value.Type = Value.self)
    throws(OriginError)
    -> OriginAnswer<Value>
  {
    let document = try send(call)
    return OriginAnswer(
      value: try reading { () throws(JSONError) in try document.decode(type) }, document: document)
  }

  /// What answers `GET /api/v1/{path}`, as a value.
  package func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) throws(OriginError)
    -> OriginAnswer<Value>
  {
    try send(OriginCall("GET", path), as: type)
  }

  /// What `body` makes of an answer.
  /// - Throws: `notAnOrigin`, naming the member that is missing or wrong.
  package func reading<Value>(_ body: () throws(JSONError) -> Value) throws(OriginError) -> Value {
    do {
      return try body()
    } catch {
      throw .notAnOrigin(server: server.text, found: "an answer that can't be read (\(error))")
    }
  }

  /// What the origin itself gives for a `download`, wherever its public URL leads; nil where it doesn't.
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
    // The origin knows an act by its key: however often it is sent, it is carried out once.
    if !call.isRepeatable { call.fields.append(.newIdempotencyKey()) }
    var plain = code(&call)
    var policy = retries(state.withLock { $0.hasAnswered })
    policy.isAct = !call.isRepeatable
    // Whether an attempt may have been carried out of which nothing is known.
    var isOpen = false
    let end = Clock.monotonicNanoseconds() + UInt64(call.timeouts.stall) * 1_000_000_000
    while true {
      let outcome: RetryPolicy.Outcome
      let last: Result<HTTPReply, OriginError>
      do {
        let reply = try http.send(request(call), into: .memory(limit: call.limit))
        state.withLock { state in
          state.hasAnswered = true
          if reply.takesZstd { state.takesZstd = true }
        }
        if reply.status == 415, let uncoded = plain {
          // What answers there now isn't what said that it takes coded bodies.
          (call, plain) = (uncoded, nil)
          state.withLock { $0.takesZstd = false }
          continue
        }
        guard RetryPolicy.transient.contains(reply.status) else { return reply }
        // Too many wrong tokens: whoever sent one should read that now, not after a wait.
        if reply.status == 429, (reply.retryAfter ?? 0) > Self.longestSilence { return reply }
        if reply.tellsRunning, Clock.monotonicNanoseconds() < end {
          // Its first attempt goes on, and is waited for as long as its answer would have been.
          Clock.sleep(for: .seconds(min(reply.retryAfter ?? 1, 60)))
          continue
        }
        outcome = .status(reply.status, retryAfter: reply.retryAfter)
        last = .success(reply)
        // What the origin refuses it didn't carry out in this attempt; of an earlier one that says nothing, since an origin
        // that is busy says so before it looks the act up.
        if Problem(status: reply.status, body: reply.body) == nil || reply.tellsRunning { isOpen = true }
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

  /// Seconds that a client waits for an origin's leave without a word.
  private static let longestSilence = 2

  /// Bodies of more bytes are coded.
  private static let codedFrom = 64 << 10

  /// Codes a large body, where the origin has said that it takes that and where it pays.
  /// - Returns: the call as it was; nil where nothing is coded.
  private func code(_ call: inout OriginCall) -> OriginCall? {
    guard case .bytes(let body) = call.body, body.count > Self.codedFrom,
      state.withLock({ $0.takesZstd })
    else { return nil }
    let coded = Zstd.encode([body], level: 1)
    guard Coding.pays(coded.count, for: body.count) else { return nil }
    let plain = call
    call.body = .bytes(coded)
    call.fields.append(HTTPField("Content-Encoding", "zstd"))
    guard let watch = call.watch else { return plain }
    // Whoever watches counts the bytes of what is sent, not of how.
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

  private func request(_ call: OriginCall) -> HTTPRequest {
    var fields = call.fields
    if let token { fields.append(HTTPField("Authorization", "Bearer \(token)")) }
    let counted = Locked<Int64>(0)
    let state = self.state
    return HTTPRequest(
      call.method, "\(server.text)/api/v1/\(call.path)", fields: fields, body: call.body,
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
  /// Whether the answer says that bodies may be coded by zstd (RFC 9110 §12.5.3). One with a weight may be meant not to.
  fileprivate var takesZstd: Bool {
    fields.contains { field in
      field.name.lowercased() == "accept-encoding"
        && field.value.lowercased().split(separator: ",").contains { $0.filter { $0 != " " } == "zstd" }
    }
  }

  /// Whether the origin is carrying the request out since an earlier attempt.
  fileprivate var tellsRunning: Bool {
    status == 503 && Problem(status: status, body: body)?.code == "still-running"
  }
}
