import Manifests
import Values

/// What a token lets its holder do; each scope includes the previous ones.
package enum TokenScope: String, Hashable, Comparable, Sendable, CaseIterable {
  /// See what a channel has and had.
  case read
  /// Decide over what was published: roll back, change the policy, steer rollouts, approve, cancel what is scheduled.
  case release
  /// Publish new content.
  case publish
  /// Change channels and, without limits, everything.
  case admin

  /// Whether `b` allows more.
  package static func < (a: TokenScope, b: TokenScope) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .release: 1
    case .publish: 2
    case .admin: 3
    }
  }
}

/// A scope, and where it holds. A session has one for each role of its holder.
package struct Grant: Hashable, Sendable {
  /// The most grants of one session.
  package static let limit = 64

  /// What it allows.
  package let scope: TokenScope
  /// The only app; nil: every app.
  package let app: AppName?
  /// The only channel; nil: every channel.
  package let channel: ChannelName?
  /// The bundles that may be changed; nil: every bundle.
  package let bundles: BundleGlob?

  /// Creates a grant. An admin's acts concern whole channels, so that one for some bundles allows no more than to publish them.
  package init(
    _ scope: TokenScope, app: AppName? = nil, channel: ChannelName? = nil, bundles: BundleGlob? = nil
  ) {
    self.scope = bundles == nil ? scope : min(scope, .publish)
    self.app = app
    self.channel = channel
    self.bundles = bundles
  }

  /// Whether it covers all apps, channels and bundles.
  package var isUnlimited: Bool { app == nil && channel == nil && bundles == nil }

  /// Whether it holds in a channel, with whatever scope.
  package func covers(_ app: AppName, _ channel: ChannelName) -> Bool {
    (self.app ?? app) == app && (self.channel ?? channel) == channel
  }

  /// Whether it gives a scope in a channel, for whatever bundles.
  package func allows(_ scope: TokenScope, app: AppName, channel: ChannelName) -> Bool {
    self.scope >= scope && covers(app, channel)
  }
}

/// A pattern of bundle names: `*` matches any characters, `?` one. Commas separate alternatives: `shop-*,help`.
package struct BundleGlob: Hashable, Sendable, CustomStringConvertible {
  /// The most bytes of a pattern as it is written.
  package static let limit = 128

  /// The pattern as written.
  package let text: String

  /// The pattern as written.
  package var description: String { text }

  /// Creates a pattern; nil for a text with characters that no bundle name has, and for one with an empty alternative.
  package init?(_ text: String) {
    let alternatives = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard (1...Self.limit).contains(text.utf8.count), alternatives.allSatisfy({ !$0.isEmpty }),
      alternatives.allSatisfy({ $0.allSatisfy(Self.isAllowed) })
    else { return nil }
    self.text = text
  }

  /// The pattern that matches what any of some patterns does, which may be longer than one that is written.
  package init(anyOf globs: [BundleGlob]) {
    var known: Set<String> = []
    let alternatives = globs.flatMap { $0.text.split(separator: ",").map(String.init) }
    text = alternatives.filter { known.insert($0).inserted }.joined(separator: ",")
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: byte < 0x80 && (Unicode.Scalar(byte).properties.isAlphabetic || (0x30...0x39).contains(byte))
    }
  }

  /// Whether a bundle's name matches.
  package func matches(_ name: BundleName) -> Bool { Wildcard.matches(anyOf: text, name.text) }
}
