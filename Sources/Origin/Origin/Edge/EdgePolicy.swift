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
    /// Surrogate-Control (Edge Architecture Specification, §2.2), for Fastly and caches that follow it.
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
  /// minutes and go on with the copy: up to 30 seconds to the next poll, five that fail, and one more that may be the origin's (D-12).
  package var staleIfError: Int { 80 - ttl }

  /// The age in seconds after which no poll gets an answer, as long as the origin answers and though no purge arrives.
  package var oldest: Int { ttl + staleWhileRevalidate }
}

extension EdgePolicy {
  /// Returns the fields of an answer that caches may keep, from those of one that they may not.
  ///
  /// Devices, and browsers with them, go on asking each time: only `s-maxage` has to be said in the field that is also theirs, which
  /// then can't say for how long a stale answer serves (browsers would obey that).
  func fields(_ fields: HeadFields, _ tag: EdgeTag) -> HeadFields {
    let ages =
      "max-age=\(ttl), stale-while-revalidate=\(staleWhileRevalidate), stale-if-error=\(staleIfError)"
    var fields = fields
    switch header {
    case .cdnCacheControl: fields.add("CDN-Cache-Control", ages)
    case .surrogate: fields.add("Surrogate-Control", ages)
    case .sMaxAge:
      fields = fields.without("cache-control").adding("Cache-Control", "max-age=0, s-maxage=\(ttl)")
    }
    fields.add("Surrogate-Key", tag.text)
    fields.add("Cache-Tag", tag.text)
    return fields
  }
}
