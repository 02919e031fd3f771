import Manifests
import System
import Trust
import Values

/// A publisher's request: changes to one or more bundles of a channel in one release, all or nothing.
package struct ReleaseInput: Sendable {
  /// The app, created if the request may do so.
  package var app: AppName
  /// The channel, created if the request may do so.
  package var channel: ChannelName
  /// The author.
  package var author: String
  /// The author's message; may be empty.
  package var message: String
  /// The changes, at most one per bundle.
  package var bundles: [BundleChange]
  /// Refuse the release if one of the bundles changed after this version.
  package var ifVersion: ManifestVersion?
  /// Refuse the release if the channel's newest version is another one; `none`: if it isn't the first release.
  package var replaces: ManifestVersion?
  /// Plan and check everything, but change nothing.
  package var dryRun: Bool
  /// The public URL for the channel if it, or its app, has to be created; nil: that is an error.
  package var publicURLForNew: BaseURL?
  /// The network address of the request; empty if it didn't come over a network.
  package var address = ""
  /// The hosts that the publisher's token is limited to; nil: all.
  package var hosts: HostList?
  /// The reason for releasing although the channel is frozen.
  package var breakGlass: String?
  /// Files that look like secrets and are released all the same: their URLs, with what they look like.
  package var allowedSecrets: [String] = []
  /// The source of a promotion's content.
  package var source: ReleaseSource?
  /// The prefetch config that is promoted along with it.
  package var prefetch: PrefetchCarryOver?
  /// Whom it goes to first; nil: to all.
  package var rollout: RolloutAudience?
  /// Whether it may have URLs of hosts that its channel or token doesn't list: it only goes back to what was released.
  package var ignoresHosts = false
  /// Refuse the release if it would end an open rollout, or change what its candidate is made on.
  package var ifNoRollout = false
  /// What becomes of the prefetch config of an open rollout that this release completes.
  package var candidatePrefetch = CandidatePrefetch.completed
  /// Statements for the bundles, in an app with a root, beside those that are stored.
  package var statements: [Signed<ReleaseStatement>] = []
  /// The same for the prefetch config that comes along.
  package var prefetchStatement: Signed<PrefetchStatement>?
  /// The kind of release, if it doesn't follow from the source and the bundles.
  var act: Act?

  /// What becomes of the prefetch config of an open rollout that a release completes.
  package enum CandidatePrefetch: Hashable, Sendable {
    /// It is the channel's.
    case completed
    /// It is dropped: the release only means the files.
    case dropped
    /// The release is refused: it isn't for the publisher to decide.
    case refused
  }

  /// Acts that make a release by other means than a publisher's request.
  enum Act: Hashable, Sendable {
    /// A rollback of a bundle, or of all, to the version of the source.
    case rollback(bundle: BundleName?, withPrefetch: Bool)
    /// The end of a rollout: the content of the full version for those who have the candidate.
    case halt
    /// A candidate that is made again.
    case remake(ReleaseKind)
    /// A candidate that only brings a prefetch config.
    case prefetch
  }

  /// Creates a request without an address, a source or a config.
  package init(
    app: AppName, channel: ChannelName, author: String, message: String = "", bundles: [BundleChange],
    ifVersion: ManifestVersion? = nil, dryRun: Bool = false, publicURLForNew: BaseURL? = nil
  ) {
    self.app = app
    self.channel = channel
    self.author = author
    self.message = message
    self.bundles = bundles
    self.ifVersion = ifVersion
    self.dryRun = dryRun
    self.publicURLForNew = publicURLForNew
  }

  /// Why a request can't be carried out, whatever the store holds.
  package enum Fault: Hashable, Sendable {
    case noBundle
    case bundleTwice(BundleName)
    case setAndRemoved(ResourceURL)
  }

  /// The kind of release, which depends on its source and bundles.
  var kind: ReleaseKind {
    switch act {
    case .rollback, .halt: return .rollback
    case .remake(let kind): return kind
    case .prefetch: return .publish
    case nil: break
    }
    if source != nil { return .promote }
    return bundles.allSatisfy { if case .unpublish = $0.change { true } else { false } }
      ? .unpublish : .publish
  }

  func check() throws(StoreError) {
    guard !bundles.isEmpty || act == .halt else { throw .badRequest(.noBundle) }
    var names: Set<BundleName> = []
    for bundle in bundles {
      guard names.insert(bundle.name).inserted else { throw .badRequest(.bundleTwice(bundle.name)) }
      guard case .update(_, let set, let remove) = bundle.change else { continue }
      if let both = remove.first(where: { set[$0] != nil }) { throw .badRequest(.setAndRemoved(both)) }
    }
  }
}

/// A change of one bundle.
package struct BundleChange: Equatable, Sendable {
  /// How a bundle changes.
  package enum Change: Equatable, Sendable {
    /// The bundle as it was at `base` (0: empty), with some URLs set and others removed. What changed in the bundle
    /// after `base` is reverted.
    case update(base: ManifestVersion, set: [ResourceURL: ResourceContent], remove: Set<ResourceURL>)
    /// The bundle is removed completely.
    case unpublish
  }

  /// The bundle's name.
  package var name: BundleName
  /// How it changes.
  package var change: Change

  /// Creates a change of a bundle.
  package init(_ name: BundleName, _ change: Change) {
    self.name = name
    self.change = change
  }
}

/// The acts that make a manifest version.
package enum ReleaseKind: String, Hashable, Sendable, CaseIterable {
  case publish, unpublish, rollback, promote, rebase, restore
}

/// A URL for which a release has other bytes, another type, other headers or other fallbacks than another bundle, or is lazy in only one.
package struct URLConflict: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// The other bundle.
  package let bundle: BundleName
  /// The digest of that bundle's content.
  package let sha256: SHA256
}

/// A new URL that matches one that is already published.
package struct URLDuplicate: Hashable, Sendable {
  /// The new URL.
  package let url: ResourceURL
  /// The published URL.
  package let other: ResourceURL
}

extension ReleaseInput {
  /// The audit trail's record of a release.
  func act(_ outcome: ReleaseOutcome) -> AuditEvent {
    var parameters = JSONObject()
    parameters["breakGlass"] = breakGlass.map { .string($0) }
    parameters["message"] = .string(message)
    var name = kind.rawValue
    switch act {
    case .rollback(let bundle, let withPrefetch):
      parameters["breakGlass"] = breakGlass.map { .string($0) } ?? .null
      parameters["bundle"] = bundle.map { .string($0.text) } ?? .null
      parameters["to"] = source.map { .string($0.version.text) } ?? .null
      parameters["withPrefetch"] = withPrefetch ? true : .null
    case .halt:
      name = "rollout.halt"
      parameters["to"] = source.map { .string($0.version.text) } ?? .null
    case .remake, .prefetch, nil:
      parameters["allowedSecrets"] = allowedSecrets.isEmpty ? nil : .strings(allowedSecrets)
      parameters["bundles"] = .strings(bundles.map(\.name.text))
      if let source {
        parameters["from"] = .string(source.channel.name.text)
        parameters["fromVersion"] = .string(source.version.text)
      }
    }
    let result: JSONValue = [
      "added": .integer(outcome.counts.added), "changed": .integer(outcome.counts.changed),
      "digest": outcome.channel?.answered(outcome.version)?.digest.map { .string($0.hex) } ?? .null,
      "previous": .string(outcome.previous.text), "removed": .integer(outcome.counts.removed),
      "version": .string(outcome.version.text),
    ]
    var members = result.object ?? JSONObject()
    if let change = outcome.rollout {
      var rollout = change.json.object ?? JSONObject()
      if change.open != nil, let course = self.rollout?.course, !course.isEmpty {
        rollout["course"] = RolloutPlan().with(course).terms
      }
      members["rollout"] = .object(rollout)
    }
    var act = AuditEvent(
      name, app: app, channel: channel, parameters: .object(parameters), result: .object(members))
    act.note(outcome.trust)
    return act
  }
}
