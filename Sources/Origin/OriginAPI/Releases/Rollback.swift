import Manifests
import System
import Values

/// `POST …/rollback`: releases an older version's content as a new version.
package struct RollbackRequest: ReleaseMembers {
  /// The only bundle to roll back.
  package var bundle: String?
  /// Whether to roll back the whole channel. Either this or `bundle` is given.
  package var allBundles: Bool?
  /// A number, or a time at which the version was live.
  package var to: String?
  /// How many distinct contents to go back from the live one. Either this or `to` is given.
  package var steps: Int64?
  /// Whether to restore the prefetch config that was live at that time, too.
  package var withPrefetch: Bool?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?
  package var rollout: RolloutTerms?
  package var ifNoRollout: Bool?
  /// When it is to be made; nil: now.
  package var schedule: Moment?
  package var statements: [JSONValue]?
  /// The envelope of a statement for the prefetch config that comes along, in an app with a root.
  package var prefetchStatement: JSONValue?
  package var now: Bool?
  package var dryRun: Bool?

  package init() {}
}

/// What a rollback did or, for a dry run, would do.
package typealias RollbackAnswer = ReleaseAct<RollbackDetails>

/// The members of a rollback's answer other than the release's.
package struct RollbackDetails: Codable, Sendable {
  /// The version whose content was released.
  package let target: ManifestVersion
  /// The bundles that change, sorted by name.
  package let takesBack: [Bundle]
  /// Nil if no prefetch config was to be restored.
  @OrNull package var prefetch: PrefetchOutcome?
  /// For a dry run: the patch for a device on the newest version (RFC 7396), and what happens to each of its URLs; nil from
  /// an older origin.
  package var patch: JSONValue?
  package var changes: [String: Change]?
  /// What it costs devices on the newest version; nil if nothing changes, or from an older origin.
  package var cost: Cost?
  /// If `cost` lacks `update`: the preparation to ask for it; nil if none works it out, or from an older origin.
  package var preparation: String?

  /// What happens to a URL.
  package enum Change: String, Codable, Sendable {
    case added, changed, removed
  }

  /// What is rolled back in one bundle.
  package struct Bundle: Codable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ChangeCounts?
    /// The releases of the bundle after the target, newest first.
    package let releases: [ReleaseStamp]

    package init(bundle: String, counts: ChangeCounts, releases: [ReleaseStamp]) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
      self.releases = releases
    }
  }

  /// The bytes of the patch and of the files that return. Devices that still have a file don't fetch it.
  package struct Cost: Codable, Sendable {
    package let fileBytes: Int64
    package let files: Int
    package let patchBytes: Int64
    package let patchGzipBytes: Int64
    /// What a device on the newest version downloads; nil from an older origin, or if it hasn't been worked out yet.
    package var update: TransferCost?

    package init(fileBytes: Int64, files: Int, patchBytes: Int, patchGzipBytes: Int) {
      self.fileBytes = fileBytes
      self.files = files
      self.patchBytes = Int64(patchBytes)
      self.patchGzipBytes = Int64(patchGzipBytes)
    }
  }

  package init(target: ManifestVersion, takesBack: [Bundle], prefetch: PrefetchOutcome?) {
    self.target = target
    self.takesBack = takesBack
    self.prefetch = prefetch
  }
}
