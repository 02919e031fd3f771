import HTTP
import HTTPClient
import Manifests
import Store
import System

/// Makes one attempt at a delivery.
struct WebhookSender: Sendable {
  /// Whether the process ends.
  let isStopping: @Sendable () -> Bool

  /// Milliseconds for an attempt, from the name lookup to the answer.
  private static let timeout = 10_000
  /// The most bytes of an answer's body that are read.
  private static let maxRead = 1024

  /// Thrown to read no more of an answer.
  private struct Enough: Error {}

  /// Sends a message, signed as Standard Webhooks wants it.
  /// - Parameter seconds: the time of the attempt, since 1970.
  /// - Returns: how it ended; nil if it was broken off because the process ends.
  func send(_ job: WebhookJob, at seconds: Int64) -> WebhookOutcome? {
    var head: HTTPHead?
    var read = 0
    do throws(HTTPClientError) {
      // With a client of its own: what a reused connection leads to was checked for another webhook, if at all.
      let reply = try HTTPClient().send(
        request(job, at: seconds),
        into: .page(begin: { head = $0 }) { bytes in
          read += bytes.count
          if read > Self.maxRead { throw Enough() }
        })
      return .answered(status: reply.status, retryAfter: reply.retryAfter)
    } catch {
      if case .cancelled = error, isStopping() { return nil }
      // The status is known, whatever became of the rest.
      if let head { return .answered(status: head.status, retryAfter: head.retryAfter) }
      let reason = error.description(authorities: "--ca")
      guard case .refusedAddress = error, !job.webhook.allowsPrivate else { return .failed(reason) }
      return .failed(
        "\(reason): it is in a private network; add the webhook with --allow-private to allow that")
    }
  }

  private func request(_ job: WebhookJob, at seconds: Int64) -> HTTPRequest {
    let id = job.delivery.message
    var request = HTTPRequest(
      "POST", job.webhook.url.text,
      fields: [
        ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
        ("webhook-signature", job.secret.signature(of: id, at: seconds, job.body)),
      ], body: .bytes(job.body),
      timeouts: HTTPTimeouts(
        connectMilliseconds: Self.timeout, stallSeconds: Self.timeout / 1000, totalMilliseconds: Self.timeout),
      watch: { [isStopping] _ in !isStopping() })
    request.asksBeforeBody = false
    request.authorityCertificates = job.authorities
    // A proxy would look the name up by itself, so that the address can't be checked.
    request.usesProxy = job.webhook.allowsPrivate
    let isSecure = job.webhook.url.scheme == "https"
    request.admits = { [allowsPrivate = job.webhook.allowsPrivate] address in
      switch AddressScope(address) {
      case .global: isSecure
      case .network: allowsPrivate
      case .special: false
      }
    }
    return request
  }
}
