/// When a representation changed last (RFC 9110 §8.8.2).
package struct LastModified: Sendable {
  package let date: HTTPDate
  /// Gives the time, in seconds since 1970: by it the two-digit years in a request's dates are placed.
  let now: @Sendable () -> Int64

  package init(_ date: HTTPDate, now: @escaping @Sendable () -> Int64) {
    self.date = date
    self.now = now
  }
}
