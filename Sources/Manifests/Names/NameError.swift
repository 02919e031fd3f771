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

/// The grammar that the three kinds of names share: a first character, further ones, a greatest length.
struct NameGrammar {
  let kind: NameError.Kind
  let limit: Int
  let isFirst: (UInt8) -> Bool
  let isFurther: (UInt8) -> Bool

  /// Passes when `text` is a name of this kind.
  func check(_ text: String) throws(NameError) {
    guard let first = text.utf8.first else { throw error(text, .empty) }
    guard isFirst(first) else { throw error(text, .start) }
    for scalar in text.unicodeScalars {
      guard scalar.isASCII, isFurther(UInt8(scalar.value)) else { throw error(text, .character(scalar)) }
    }
    guard text.utf8.count <= limit else { throw error(text, .tooLong(limit: limit)) }
  }

  func error(_ text: String, _ problem: NameError.Problem) -> NameError {
    NameError(kind: kind, text: text, problem: problem)
  }
}
