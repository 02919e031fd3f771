/// Times as the API writes them (RFC 3339, UTC, to the millisecond): `2026-11-20T15:17:27.000Z`.
package enum Timestamp {
  /// - Parameter milliseconds: since 1970.
  package static func text(_ milliseconds: Int64) -> String {
    let second = Instant(milliseconds: milliseconds)
    let fraction = String(milliseconds - second.milliseconds)
    return "\(second.text.dropLast()).\(String(repeating: "0", count: 3 - fraction.count))\(fraction)Z"
  }
}
