/// The methods that a prefetched call may have.
package enum PrefetchMethod: String, Hashable, Sendable, CaseIterable {
  case get = "GET"
  case post = "POST"
  case put = "PUT"
  case delete = "DELETE"

  /// Reads a method in any case.
  package init?(_ text: String) {
    self.init(rawValue: text.uppercased())
  }
}
