import HTTP
import Manifests

/// How shared caches between devices and this origin keep the answers of polls (docs/protocol.md §2).
///
/// Everything that says how old an answer may be is here, and follows from `ttl`.
package struct EdgePolicy: Hashable, Sendable {
  /// The seconds for which a cache answers without asking the origin.
  package let ttl: Int
  package let header: Header

  /// The field that tells a cache about it.
  package enum Header: String, CaseIterable, Sendable {
    /// RFC 9213.
    case cdnCacheControl = "cdn-cache-control"
    /// In Cache-Control, for caches that know no field of their own.
    case sMaxAge = "s-maxage"
    /// Surrogate-Control (Edge Architecture Specification, §2.2), which Fastly and Varnish's users know.
    case surrogate
  }

  /// The allowed values of `ttl`, which devices get as `edge`.
  package static var ttls: ClosedRange<Int> { AnswerExtras.edges }

  /// Creates a policy; `ttl` is in `ttls`.
  package init(ttl: Int, header: Header = .cdnCacheControl) {
    precondition(Self.ttls.contains(ttl))
    (self.ttl, self.header) = (ttl, header)
  }

  /// The seconds after `ttl` in which a cache still answers at once, while it asks the origin.
  package var staleWhileRevalidate: Int { min(2 * ttl, 20) }

  /// The seconds after `ttl` in which a cache answers while the origin can't. After that polls fail, so that devices notice within 5
  /// minutes, with five failed polls at 30 seconds, and go on with the copy.
  package var staleIfError: Int { 100 - ttl }

  /// The age in seconds after which no poll gets an answer, as long as the origin answers and though no purge arrives.
  package var oldest: Int { ttl + staleWhileRevalidate }
}
