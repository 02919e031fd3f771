import Manifests
import Values

/// What a token lets its holder do; each scope includes the previous ones.
package enum TokenScope: String, Hashable, Comparable, Sendable, CaseIterable {
  case read, publish, admin

  /// Whether `b` allows more.
  package static func < (a: TokenScope, b: TokenScope) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .publish: 1
    case .admin: 2
    }
  }
}

/// A token as it is stored: everything but its secret.
package struct AccessToken: Hashable, Sendable {
  /// The part of the token's text that identifies it.
  package let id: String
  /// The token's name, unique among tokens in use.
  package let name: String
  /// What it lets its holder do.
  package let scope: TokenScope
  /// The only app; nil: every app.
  package let app: AppName?
  /// The only channel; nil: every channel.
  package let channel: ChannelName?
  /// Milliseconds since 1970, like all times here.
  package let createdAt: Int64
  /// When it was last used, to the minute; nil if never.
  package let lastUsedAt: Int64?
  /// When it was revoked; nil if it wasn't.
  package let revokedAt: Int64?
  /// The bundles that its holder may change; nil: every bundle.
  package let bundles: BundleGlob?
  /// When it expires; nil: never.
  package let expiresAt: Int64?
  /// The hosts whose URLs its holder may publish; nil: all.
  package let hosts: HostList?

  /// Whether the holder has `scope` in a channel.
  package func allows(_ scope: TokenScope, app: AppName, channel: ChannelName) -> Bool {
    self.scope >= scope && (self.app ?? app) == app && (self.channel ?? channel) == channel
  }

  /// Whether the holder may change a bundle, given a sufficient scope.
  package func allows(bundle: BundleName) -> Bool { bundles?.matches(bundle) ?? true }

  /// Whether the token covers all apps, channels, bundles and hosts.
  package var isUnlimited: Bool { app == nil && channel == nil && bundles == nil && hosts == nil }
}

/// A pattern of bundle names: `*` matches any characters, `?` one.
package struct BundleGlob: Hashable, Sendable, CustomStringConvertible {
  /// The pattern as written.
  package let text: String

  /// The pattern as written.
  package var description: String { text }

  /// Creates a pattern; nil for a text with characters that no bundle name has.
  package init?(_ text: String) {
    let wildcards = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
      default: byte < 0x80 && (Unicode.Scalar(byte).properties.isAlphabetic || (0x30...0x39).contains(byte))
      }
    }
    guard wildcards, (1...128).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  /// Whether a bundle's name matches.
  package func matches(_ name: BundleName) -> Bool {
    Wildcard.matches(
      Array(text.utf8), name.text.utf8, isMany: { $0 == UInt8(ascii: "*") },
      fits: { $0 == UInt8(ascii: "?") || $0 == $1 })
  }
}
