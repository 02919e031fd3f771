import Manifests

/// What a token lets its holder do; each scope includes those before it.
package enum TokenScope: String, Hashable, Comparable, Sendable, CaseIterable {
  case read, publish, admin

  /// Whether `b` lets do more.
  package static func < (a: TokenScope, b: TokenScope) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .read: 0
    case .publish: 1
    case .admin: 2
    }
  }
}

/// A token as it is kept: everything but its secret.
package struct AccessToken: Hashable, Sendable {
  /// Stands in its text.
  package let id: String
  /// What people call it; one in use has it.
  package let name: String
  /// What it lets its holder do.
  package let scope: TokenScope
  /// nil: every app.
  package let app: AppName?
  /// nil: every channel.
  package let channel: ChannelName?
  /// Milliseconds since 1970, as all times here.
  package let createdAt: Int64
  /// To the minute.
  package let lastUsedAt: Int64?
  /// nil: it wasn't revoked.
  package let revokedAt: Int64?
  /// nil: every bundle.
  package let bundles: BundleGlob?
  /// From then on it opens nothing; nil: it never ends by itself.
  package let expiresAt: Int64?
  /// The hosts whose URLs its holder may publish; nil: all.
  package let hosts: HostList?

  /// Whether the holder may do what needs `scope` in a channel.
  package func allows(_ scope: TokenScope, app: AppName, channel: ChannelName) -> Bool {
    self.scope >= scope && (self.app ?? app) == app && (self.channel ?? channel) == channel
  }

  /// Whether the holder may change a bundle, where the scope is enough.
  package func allows(bundle: BundleName) -> Bool { bundles?.matches(bundle) ?? true }

  /// Whether it reaches all apps and channels.
  package var isUnlimited: Bool { app == nil && channel == nil && bundles == nil && hosts == nil }
}

/// Names of bundles with wildcards: `*` stands for any characters, `?` for one.
package struct BundleGlob: Hashable, Sendable, CustomStringConvertible {
  /// As it was written.
  package let text: String

  /// The same.
  package var description: String { text }

  /// nil for a text that holds what no bundle's name does.
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

  /// Whether a bundle's name is one of those.
  package func matches(_ name: BundleName) -> Bool {
    Wildcard.matches(
      Array(text.utf8), name.text.utf8, isMany: { $0 == UInt8(ascii: "*") },
      fits: { $0 == UInt8(ascii: "?") || $0 == $1 })
  }
}
