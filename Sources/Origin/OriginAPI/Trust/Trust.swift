import Manifests
import System
import Values

/// `GET /api/v1/apps/{app}/trust`: the app's roots, and what its channels have of signatures.
package struct TrustOverview: Codable, Sendable {
  /// A root, as it was put in force.
  package struct Root: Codable, Sendable {
    package let number: Int64
    /// The envelope.
    package let envelope: JSONValue
    package let at: Moment
    package let author: String

    package init(number: Int64, envelope: JSONValue, at: Moment, author: String) {
      self.number = number
      self.envelope = envelope
      self.at = at
      self.author = author
    }
  }

  package let app: AppName
  /// From number 1 on; empty if the app has none.
  package let roots: [Root]
  /// The keys with which this origin can sign heads, newest first; empty for tokens that aren't an admin's.
  package let headKeys: [HeadKey]
  package let channels: [TrustedChannel]

  package init(app: AppName, roots: [Root], headKeys: [HeadKey], channels: [TrustedChannel]) {
    self.app = app
    self.roots = roots
    self.headKeys = headKeys
    self.channels = channels
  }
}

/// A key with which the origin signs heads.
package struct HeadKey: Codable, Hashable, Sendable {
  /// Its id, in hexadecimal.
  package let keyid: String
  /// Its SubjectPublicKeyInfo, in base64.
  package let key: String

  package init(keyid: String, key: String) {
    self.keyid = keyid
    self.key = key
  }
}

/// What a channel has of signatures.
package struct TrustedChannel: Codable, Sendable {
  /// The newest head.
  package struct Head: Codable, Sendable {
    package let at: Moment
    package let until: Moment
    /// The ids of the keys that have signed it.
    package let keys: [String]
    package let version: ManifestVersion

    package init(at: Moment, until: Moment, keys: [String], version: ManifestVersion) {
      self.at = at
      self.until = until
      self.keys = keys
      self.version = version
    }
  }

  /// A bundle, and its statement.
  package struct Bundle: Codable, Sendable {
    package let bundle: BundleName
    /// The digest of what is signed of it.
    package let content: SHA256
    /// The serial of the statement that devices get; nil if there is none.
    @OrNull package var serial: Int64?
    /// What that statement leaves as the floor.
    @OrNull package var floor: Int64?
    /// The lowest serial that devices of the channel still take, by roots and statements before; absent without a root.
    package var floorInForce: Int64?
    /// The channels that the statement is for.
    package let channels: [ChannelName]
    /// The ids of the keys of the root in force that have signed it.
    package let keys: [String]
    /// Why devices would refuse it, such as `release-missing`; nil if they take it.
    @OrNull package var problem: String?
    /// The envelope of the statement that devices get, for those who verify it themselves.
    package var envelope: JSONValue?

    package init(
      bundle: BundleName, content: SHA256, serial: Int64?, floor: Int64?, channels: [ChannelName],
      keys: [String],
      problem: String?, envelope: JSONValue? = nil
    ) {
      self.bundle = bundle
      self.content = content
      self.channels = channels
      self.keys = keys
      self.serial = serial
      self.floor = floor
      self.problem = problem
      self.envelope = envelope
    }
  }

  package let channel: ChannelName
  /// The full version.
  package let version: ManifestVersion
  /// Nil without a root, or with one that is off.
  @OrNull package var head: Head?
  /// The bundles of the full version, ordered by name. Without a root, with no statement.
  package let bundles: [Bundle]
  /// The bundles of the candidate that differ; empty if no rollout is open.
  package let candidate: [Bundle]
  /// The version of the prefetch config, and the digest of what is signed of it; nil if there is none.
  @OrNull package var prefetch: Prefetch?

  /// A prefetch config, and its statement.
  package struct Prefetch: Codable, Sendable {
    package let version: Int64
    package let content: SHA256
    @OrNull package var serial: Int64?
    /// The lowest serial that devices of the channel still take; absent without a root.
    package var floorInForce: Int64?
    package let keys: [String]
    /// The envelope of the statement that devices get.
    package var envelope: JSONValue?

    package init(version: Int64, content: SHA256, serial: Int64?, keys: [String], envelope: JSONValue? = nil)
    {
      self.version = version
      self.content = content
      self.keys = keys
      self.serial = serial
      self.envelope = envelope
    }
  }

  package init(
    channel: ChannelName, version: ManifestVersion, head: Head?, bundles: [Bundle], candidate: [Bundle],
    prefetch: Prefetch?
  ) {
    self.channel = channel
    self.version = version
    self.bundles = bundles
    self.candidate = candidate
    self.head = head
    self.prefetch = prefetch
  }
}

/// `POST /api/v1/apps/{app}/trust/head-key`: asks for the origin's key for heads, which is made if there is none.
package struct HeadKeyRequest: Codable, Sendable {
  /// Whether to make another one; the old one stays in use until no root names it.
  package var another: Bool?

  package init(another: Bool = false) { self.another = another ? true : nil }
}

/// The answer to `HeadKeyRequest`.
package struct HeadKeyAnswer: Codable, Sendable {
  package let keyid: String
  package let key: String
  /// Whether it was made by this request.
  package let isNew: Bool

  package init(keyid: String, key: String, isNew: Bool) {
    self.keyid = keyid
    self.key = key
    self.isNew = isNew
  }
}

/// `POST /api/v1/apps/{app}/trust/root`: puts a root in force.
package struct RootRequest: Codable, Sendable {
  /// The root's envelope.
  package var root: JSONValue?
  /// Envelopes of release statements for the bundles of the app's channels.
  package var releases: [JSONValue]?
  /// Envelopes of prefetch statements.
  package var prefetch: [JSONValue]?
  package var message: String?
  package var breakGlass: String?
  package var dryRun: Bool?

  package init(root: JSONValue) { self.root = root }
}

/// The answer to `RootRequest`.
package struct RootAnswer: Codable, Sendable {
  /// What a channel got.
  package struct Channel: Codable, Sendable {
    package let channel: ChannelName
    package let version: ManifestVersion
    /// Whether that version is the release from which on its entries name their bundles.
    package let rebased: Bool

    package init(channel: ChannelName, version: ManifestVersion, rebased: Bool) {
      self.channel = channel
      self.version = version
      self.rebased = rebased
    }
  }

  /// Whether it changed anything: a root that is in force already doesn't.
  package let changed: Bool
  package let number: Int64
  package let off: Bool
  package let channels: [Channel]
  /// False if the origin has none of the root's keys for heads, so that devices get no new head, and take no release, until a root names
  /// one of its keys; otherwise absent.
  package var headKey: Bool?

  package init(changed: Bool, number: Int64, off: Bool, channels: [Channel]) {
    self.changed = changed
    self.number = number
    self.off = off
    self.channels = channels
  }
}

/// `POST /api/v1/apps/{app}/trust/statements`: statements for contents that are stored.
package struct StatementsRequest: Codable, Sendable {
  package var releases: [JSONValue]?
  package var prefetch: [JSONValue]?
  package var message: String?
  package var dryRun: Bool?

  package init(releases: [JSONValue] = [], prefetch: [JSONValue] = []) {
    self.releases = releases
    self.prefetch = prefetch
  }
}

/// The answer to `StatementsRequest`.
package struct StatementsAnswer: Codable, Sendable {
  /// How many weren't known before.
  package let kept: Int

  package init(kept: Int) { self.kept = kept }
}
