import HTTP
import HTTPClient
import System

/// HTTP requests with retries for temporary failures.
struct Web: Sendable {
  var http = HTTPClient()
  var attempts = 6

  /// Sends a request, and returns the answer, whatever its status.
  ///
  /// - Parameters:
  ///   - final: Statuses that aren't retried.
  ///   - make: Makes the request and the sink for its answer, anew for each attempt.
  func send(final: Set<Int> = [], _ make: () throws(MirrorError) -> (HTTPRequest, HTTPSink))
    throws(MirrorError) -> HTTPReply
  {
    var policy = RetryPolicy(attempts: attempts)
    while true {
      let (request, sink) = try make()
      policy.repeats = request.mayBeRepeated
      let outcome: RetryPolicy.Outcome
      let last: Result<HTTPReply, MirrorError>
      do {
        let reply = try http.send(request, into: sink)
        guard RetryPolicy.transient.subtracting(final).contains(reply.status) else { return reply }
        outcome = .status(reply.status, retryAfter: reply.retryAfter)
        last = .success(reply)
      } catch {
        if case .callback(let cause as MirrorError) = error { throw cause }
        if case .callback(let cause as SystemError) = error { throw .system(cause) }
        outcome = .error(error)
        last = .failure(.unreachable(url: request.url, error))
      }
      guard case .wait(let milliseconds) = policy.next(after: outcome) else { return try last.get() }
      http.reportRetry(of: Self.server(of: request.url), after: outcome, in: milliseconds)
      Clock.sleep(for: .milliseconds(milliseconds))
    }
  }

  /// Returns the scheme and host of a URL, such as `https://cdn.example.com`, for messages.
  private static func server(of url: String) -> String {
    guard let scheme = url.firstRange(of: "://") else { return url }
    return String(url[..<scheme.upperBound] + url[scheme.upperBound...].prefix { !"/?#".contains($0) })
  }

  /// Returns the answer to a GET, with a body of at most `limit` bytes, or nil if nothing is there.
  /// - Throws: `refused` for every status but 200 and 404.
  func get(_ url: String, limit: Int = 1 << 30, fields: HTTPFields = []) throws(MirrorError) -> HTTPReply? {
    let reply = try send { () throws(MirrorError) in
      (HTTPRequest("GET", url, fields: fields, redirects: 5), .memory(limit: limit))
    }
    if reply.status == 404 { return nil }
    guard reply.isSuccess else { throw .refused(url: url, status: reply.status, message: "") }
    return reply
  }

  /// Downloads a file; returns false if nothing is there.
  func download(
    _ url: String, to path: String, limit: Int64, fields: HTTPFields = [], final: Set<Int> = []
  ) throws(MirrorError) -> Bool {
    let reply = try send(final: final) { () throws(MirrorError) in
      let file = try WrittenFile(path)
      return (
        HTTPRequest("GET", url, fields: fields, redirects: 5), .stream(limit: limit) { try file.write($0) }
      )
    }
    if reply.status == 404 { return false }
    guard reply.isSuccess else { throw .refused(url: url, status: reply.status, message: "") }
    return true
  }
}

/// A new file for an answer's body.
final class WrittenFile {
  private let file: Descriptor

  init(_ path: String) throws(MirrorError) {
    file = try MirrorError.disk { () throws(SystemError) in
      try Kernel.open(path, [.write, .create, .truncate], mode: 0o644)
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws { try Kernel.write(bytes.bytes, to: file) }
}
