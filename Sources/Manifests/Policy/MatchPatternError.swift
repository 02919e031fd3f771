/// Why a text is no match pattern.
package struct MatchPatternError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Problem: Error, Hashable, Sendable {
    /// No `http://`, `https://` or `*://` in front.
    case scheme
    /// A `*` in the host that is neither the host nor its first label.
    case hostWildcard
    case noPath
    case fragment
    case tooLong(limit: Int)
    case url(ResourceURLError.Problem)
  }

  package let text: String
  package let problem: Problem

  /// What is wrong and what to do.
  package var description: String {
    switch problem {
    case .scheme: "a pattern begins with http://, https:// or *://; write it like https://third.example.com/*"
    case .hostWildcard: "in a host, * stands for all of it or for its first labels; write *.example.com"
    case .noPath: "the pattern ends with the host; write /* behind it for all its pages"
    case .fragment: "a pattern can't have a #fragment, which pages don't send; write it without"
    case .tooLong(let limit): "the pattern is longer than \(limit) bytes; shorten it with *"
    case .url(let problem):
      // A text with a user name may hold a password, which belongs in no log.
      "\(ResourceURLError(text: text, problem: problem))"
    }
  }
}
