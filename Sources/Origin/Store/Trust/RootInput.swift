import Manifests
import Trust

/// A request to put a root in force, with the statements that make its app's channels whole.
package struct RootInput: Sendable {
  package var app: AppName
  package var root: Signed<TrustRoot>
  /// Statements for the bundles of the app's channels, beside those that are stored.
  package var releases: [Signed<ReleaseStatement>] = []
  /// The same for prefetch configs.
  package var prefetch: [Signed<PrefetchStatement>] = []
  package var actor: Actor
  package var message = ""
  /// The reason for putting it in force although a channel is frozen.
  package var breakGlass: String?
  package var dryRun = false

  package init(app: AppName, root: Signed<TrustRoot>, by actor: Actor) {
    self.app = app
    self.root = root
    self.actor = actor
  }
}

/// What a root did, or would do.
package struct RootOutcome: Sendable {
  /// What a channel got.
  package struct Channel: Sendable {
    package let info: ChannelInfo
    /// The release of kind `rebase` from which on its entries name their bundles; nil if they did before.
    package let release: ReleaseOutcome?

    package init(info: ChannelInfo, release: ReleaseOutcome?) {
      self.info = info
      self.release = release
    }
  }

  /// Whether it changed anything: a root that is in force already doesn't.
  package let changed: Bool
  package let root: TrustRoot
  /// Every channel of the app that has a release.
  package let channels: [Channel]
  /// Whether this origin can sign heads under it: otherwise devices get no new one until a root names a key of this origin.
  package let hasHeadKey: Bool

  package init(changed: Bool, root: TrustRoot, channels: [Channel], hasHeadKey: Bool) {
    self.changed = changed
    self.root = root
    self.channels = channels
    self.hasHeadKey = hasHeadKey
  }
}

/// Statements to keep for contents that are stored: of a bundle that is signed anew, or for further channels.
package struct StatementsInput: Sendable {
  package var app: AppName
  package var releases: [Signed<ReleaseStatement>] = []
  package var prefetch: [Signed<PrefetchStatement>] = []
  package var actor: Actor
  package var message = ""
  package var dryRun = false

  package init(app: AppName, by actor: Actor) {
    self.app = app
    self.actor = actor
  }
}
