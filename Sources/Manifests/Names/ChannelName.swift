/// The name of an environment of an app: `[a-z][a-z0-9-]{0,31}`, e.g. `online`.
package struct ChannelName: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let text: String

  /// The channel that is meant where none is named.
  package static let online = ChannelName(unchecked: "online")

  package init(_ text: String) throws(NameError) {
    try Self.grammar.check(text)
    self.text = text
  }

  /// Reads a channel's first path segment, `xcache` or `xcache_test`; nil for any other.
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
