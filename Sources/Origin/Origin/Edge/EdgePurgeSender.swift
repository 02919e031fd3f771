import HTTP
import HTTPClient
import Values

/// Makes one attempt after another to purge at one edge, over one connection if that lasts.
struct EdgePurgeSender: Sendable {
  let target: EdgePurgeTarget
  /// The milliseconds that are left for an attempt: less than `timeout` once the process ends.
  let left: @Sendable () -> Int

  private let http = HTTPClient()

  /// Milliseconds for an attempt, from the name lookup to the answer.
  static let timeout = 5000
  /// The most bytes of an answer's body that are read.
  private static let maxRead = 65_536

  /// Thrown to read no more of an answer.
  private struct Enough: Error {}

  init(_ target: EdgePurgeTarget, left: @escaping @Sendable () -> Int) {
    (self.target, self.left) = (target, left)
  }

  func send(_ purges: [EdgePurge]) -> EdgePurgeOutcome {
    var (head, body): (HTTPHead?, [UInt8]) = (nil, [])
    do throws(HTTPClientError) {
      _ = try http.send(
        request(purges),
        into: .page(begin: { head = $0 }) { bytes in
          if body.count + bytes.count > Self.maxRead { throw Enough() }
          body += bytes
        })
    } catch {
      // If the status is known, it doesn't matter what became of the rest.
      guard head != nil else { return .failed(error.description(authorities: nil)) }
    }
    guard let head else { return .failed("there was no answer") }
    return target.outcome(status: head.status, retryAfter: head.retryAfter, body: body)
  }

  private func request(_ purges: [EdgePurge]) -> HTTPRequest {
    var request = target.request(for: purges)
    let time = max(1, min(Self.timeout, left()))
    request.timeouts = HTTPTimeouts(
      connectMilliseconds: time, stallSeconds: Self.timeout / 1000, totalMilliseconds: time)
    request.watch = { [left] _ in left() > 0 }
    return request
  }
}
