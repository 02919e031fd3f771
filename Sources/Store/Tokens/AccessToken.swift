import Manifests

/// What a token lets its holder do; each scope includes those before it.
package enum TokenScope: String, Hashable, Comparable, Sendable, CaseIterable {
  case read, publish, admin

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
  package let id: String
  package let name: String
  package let scope: TokenScope
  /// nil: every app.
  package let app: AppName?
  /// nil: every channel.
  package let channel: ChannelName?
  /// Milliseconds since 1970, as all times here.
  package let createdAt: Int64
  /// To the minute.
  package let lastUsedAt: Int64?
  package let revokedAt: Int64?
  /// nil: every bundle.
  package let bundles: BundleGlob?
  /// From then on it opens nothing; nil: it never ends by itself.
  package let expiresAt: Int64?

  /// Whether the holder may do what needs `scope` in a channel.
  package func allows(_ scope: TokenScope, app: AppName, channel: ChannelName) -> Bool {
    self.scope >= scope && (self.app ?? app) == app && (self.channel ?? channel) == channel
  }

  /// Whether the holder may change a bundle, where the scope is enough.
  package func allows(bundle: BundleName) -> Bool { bundles?.matches(bundle) ?? true }

  /// Whether it reaches all apps and channels.
  package var isUnlimited: Bool { app == nil && channel == nil && bundles == nil }
}
