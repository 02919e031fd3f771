/// Why a text can't be the name of an app, a channel or a bundle.
package struct NameError: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case app, channel, bundle
  }

  package enum Problem: Hashable, Sendable {
    case empty
    /// Longer than `limit` characters.
    case tooLong(limit: Int)
    /// The first character isn't one that a name may begin with.
    case start
    /// A character that the name may not hold.
    case character(Unicode.Scalar)
    /// The word has another meaning in a path.
    case reserved
  }

  package let kind: Kind
  package let text: String
  package let problem: Problem
}
