import Values

/// The name of a mobile app: a letter, then letters, digits, `-` and `_`, 64 at most, e.g. `yanxuan`.
package struct AppName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
    // `/xcache/delta/…` is the folder of deltas.
    if caseKey == "delta" { throw Self.grammar.error(text, .reserved) }
  }

  /// The lowercase name, which must be unique: no two apps may differ only in case.
  package var caseKey: String { text.lowercased() }

  package var description: String { text }

  package static func < (a: AppName, b: AppName) -> Bool { a.text < b.text }

  private static var grammar: NameGrammar {
    NameGrammar(kind: .app, limit: 64, isFirst: ASCII.isLetter) {
      ASCII.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
    }
  }
}

/// The name of a bundle: a letter or digit, then letters, digits, `.`, `-` and `_`, 128 at most.
package struct BundleName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
  }

  package var description: String { text }

  package static func < (a: BundleName, b: BundleName) -> Bool { a.text < b.text }

  private static var grammar: NameGrammar {
    NameGrammar(kind: .bundle, limit: 128, isFirst: ASCII.isLetterOrDigit) {
      ASCII.isUnreserved($0) && $0 != UInt8(ascii: "~")
    }
  }
}

/// The name of an environment of an app: `[a-z][a-z0-9-]{0,31}`, e.g. `online`.
package struct ChannelName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  /// The default channel.
  package static let online = ChannelName(unchecked: "online")

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
  }

  /// Parses a channel's first path segment, `xcache` or `xcache_test`; nil for any other.
  package init?(space: some StringProtocol) {
    if space == "xcache" {
      self = .online
    } else {
      guard space.hasPrefix("xcache_"), let name = try? ChannelName(String(space.dropFirst(7))),
        name != .online
      else { return nil }
      self = name
    }
  }

  private init(unchecked text: String) { self.text = text }

  /// The first segment of the channel's paths.
  package var space: String { self == .online ? "xcache" : "xcache_" + text }

  package var description: String { text }

  package static func < (a: ChannelName, b: ChannelName) -> Bool { a.text < b.text }

  private static var grammar: NameGrammar {
    NameGrammar(kind: .channel, limit: 32, isFirst: ASCII.isLower) {
      ASCII.isLower($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-")
    }
  }
}

/// The grammar of the three kinds of names: a first character, further ones, a maximum length.
struct NameGrammar {
  let kind: NameError.Kind
  let limit: Int
  let isFirst: (UInt8) -> Bool
  let isFurther: (UInt8) -> Bool

  /// Checks that `text` is a name of this kind.
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

/// Why a text can't be the name of an app, a channel or a bundle.
package struct NameError: Error, Hashable, Sendable {
  /// What the name is of.
  package enum Kind: Hashable, Sendable {
    case app, channel, bundle
  }

  /// What is wrong with it.
  package enum Problem: Hashable, Sendable {
    case empty
    /// Longer than `limit` characters.
    case tooLong(limit: Int)
    /// A first character that the name may not begin with.
    case start
    /// A character that the name may not contain.
    case character(Unicode.Scalar)
    /// The word has another meaning in a path.
    case reserved
  }

  /// What the name is of.
  package let kind: Kind
  package let text: String
  /// What is wrong with it.
  package let problem: Problem
}
