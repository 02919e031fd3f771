import Manifests
import System

/// What a publisher asks for: one or several bundles of a channel changed in one release, all or nothing.
package struct ReleaseInput: Sendable {
  /// The app, made where the request may.
  package var app: AppName
  /// The channel, made where the request may.
  package var channel: ChannelName
  /// Who publishes.
  package var author: String
  /// Why; may be empty.
  package var message: String
  /// What becomes of each bundle; no bundle twice.
  package var bundles: [BundleChange]
  /// Refuse when one of the bundles changed after this version.
  package var ifVersion: ManifestVersion?
  /// Refuse when the release would replace another version of the channel; `none`: when it isn't the first.
  package var replaces: ManifestVersion?
  /// Plan and check everything, change nothing.
  package var dryRun: Bool
  /// The public URL that a channel gets which is made because it, or its app, doesn't exist; nil: that is an error.
  package var publicURLForNew: BaseURL?
  /// Where the request came from; empty where no network did.
  package var address = ""
  /// The hosts that the publisher's token is limited to; nil: all.
  package var hosts: HostList?
  /// Why it is released though the channel is frozen.
  package var breakGlass: String?
  /// Where a promotion's content comes from.
  package var source: ReleaseSource?
  /// The prefetch config that is promoted with it.
  package var prefetch: PrefetchCarryOver?

  /// A request without an address, a source or a config.
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

  /// What makes a request one that can't be carried out, whatever the store holds.
  package enum Fault: Hashable, Sendable {
    case noBundle
    case bundleTwice(BundleName)
    case setAndRemoved(ResourceURL)
  }

  /// The release's kind, which its bundles decide.
  var kind: ReleaseKind {
    if source != nil { return .promote }
    return bundles.allSatisfy { if case .unpublish = $0.change { true } else { false } }
      ? .unpublish : .publish
  }

  func check() throws(StoreError) {
    guard !bundles.isEmpty else { throw .badRequest(.noBundle) }
    var names: Set<BundleName> = []
    for bundle in bundles {
      guard names.insert(bundle.name).inserted else { throw .badRequest(.bundleTwice(bundle.name)) }
      guard case .update(_, let set, let remove) = bundle.change else { continue }
      if let both = remove.first(where: { set[$0] != nil }) { throw .badRequest(.setAndRemoved(both)) }
    }
  }
}

/// What becomes of one bundle.
package struct BundleChange: Equatable, Sendable {
  /// How it changes.
  package enum Change: Equatable, Sendable {
    /// The bundle as it was at `base` (0: empty), with these URLs set and those gone. What changed in the bundle
    /// after `base` is taken back.
    case update(base: ManifestVersion, set: [ResourceURL: ResourceContent], remove: Set<ResourceURL>)
    /// Nothing is left of the bundle.
    case unpublish
  }

  /// Which bundle.
  package var name: BundleName
  /// How it changes.
  package var change: Change

  /// A bundle and how it changes.
  package init(_ name: BundleName, _ change: Change) {
    self.name = name
    self.change = change
  }
}

/// The acts that make a manifest version.
package enum ReleaseKind: String, Hashable, Sendable, CaseIterable {
  case publish, unpublish, rollback, promote, rebase, restore
}

/// A URL that a release gives other bytes, another type or other headers than another bundle holds for it.
package struct URLConflict: Hashable, Sendable {
  /// The URL.
  package let url: ResourceURL
  /// The other bundle, and what it holds.
  package let bundle: BundleName
  /// The digest of what it holds.
  package let sha256: SHA256
}

/// A URL that a release brings in and that matches another one that is live.
package struct URLDuplicate: Hashable, Sendable {
  /// The one that comes in.
  package let url: ResourceURL
  /// The one that is live.
  package let other: ResourceURL
}

extension ReleaseInput {
  /// What the audit trail says of a release that was made.
  func act(_ outcome: ReleaseOutcome) -> AuditAct {
    var parameters = JSONObject()
    parameters["breakGlass"] = breakGlass.map { .string($0) }
    parameters["bundles"] = .strings(bundles.map(\.name.text))
    parameters["message"] = .string(message)
    if let source {
      parameters["from"] = .string(source.channel.name.text)
      parameters["fromVersion"] = .string(source.version.text)
    }
    return AuditAct(
      kind.rawValue, app: app, channel: channel, parameters: .object(parameters),
      result: [
        "added": .integer(outcome.counts.added), "changed": .integer(outcome.counts.changed),
        "digest": outcome.channel?.digest.map { .string($0.hex) } ?? .null,
        "removed": .integer(outcome.counts.removed), "version": .string(outcome.version.text),
      ])
  }
}
