import Manifests

/// `POST …/rollback`: an older version's content as a new version.
package struct RollbackRequest: ReleaseMembers {
  /// The one bundle that goes back, the others staying.
  package var bundle: String?
  /// The whole channel goes back. It is this or one bundle.
  package var allBundles: Bool?
  /// A number, or a time at which the version was live.
  package var to: String?
  /// So many distinct contents back from the one that is live. It is this or `to`.
  package var steps: Int64?
  /// Whether the prefetch config that was live then comes back with it.
  package var withPrefetch: Bool?
  package var message: String?
  package var ifVersion: String?
  package var breakGlass: String?
  package var now: Bool?
  package var dryRun: Bool?

  package init() {}
}

/// What a rollback did, or, of a dry run, would do.
package typealias RollbackAnswer = ReleaseAct<RollbackDetails>

/// What the answer to a rollback says beside the release.
package struct RollbackDetails: Codable, Sendable {
  /// The version whose content it has.
  package let target: ManifestVersion
  /// Those that change, sorted by name.
  package let takesBack: [Bundle]
  /// Nil where none was to come along.
  @OrNull package var prefetch: PrefetchResult?
  /// Of a dry run: what a device on the newest version would be sent (RFC 7396), and what becomes of each of its URLs; nil
  /// from an older origin.
  package var patch: JSONValue?
  package var changes: [String: Change]?
  /// What it costs devices on the newest version; nil where nothing changes, or from an older origin.
  package var cost: Cost?
  /// Where `cost` lacks `update`: by what it is asked for; nil where nothing works it out, or from an older origin.
  package var preparation: String?

  /// What becomes of a URL.
  package enum Change: String, Codable, Sendable {
    case added, changed, removed
  }

  /// What is taken back of one bundle.
  package struct Bundle: Codable, Sendable {
    package let bundle: String
    package let added: Int
    package let changed: Int
    package let removed: Int
    package var counts: ReleaseCounts?
    /// The releases of the bundle after the target, newest first.
    package let releases: [ReleaseReference]

    package init(bundle: String, counts: ReleaseCounts, releases: [ReleaseReference]) {
      self.bundle = bundle
      (added, changed, removed) = (counts.added, counts.changed, counts.removed)
      self.counts = counts
      self.releases = releases
    }
  }

  /// The patch, and the files which come back. A device that still has one doesn't fetch it. Bytes.
  package struct Cost: Codable, Sendable {
    package let fileBytes: Int64
    package let files: Int
    package let patchBytes: Int64
    package let patchGzipBytes: Int64
    /// What a device on the newest version downloads; nil: an older origin doesn't say, or it isn't worked out yet.
    package var update: TransferCost?

    package init(fileBytes: Int64, files: Int, patchBytes: Int, patchGzipBytes: Int) {
      self.fileBytes = fileBytes
      self.files = files
      self.patchBytes = Int64(patchBytes)
      self.patchGzipBytes = Int64(patchGzipBytes)
    }
  }

  package init(target: ManifestVersion, takesBack: [Bundle], prefetch: PrefetchResult?) {
    self.target = target
    self.takesBack = takesBack
    self.prefetch = prefetch
  }
}

extension OriginClient {
  package func rollback(_ request: RollbackRequest, in channel: ChannelAddress) throws(OriginError)
    -> OriginAnswer<RollbackAnswer>
  {
    var call = OriginCall("POST", "\(channel.path)/rollback", request)
    call.timeouts.stall = OriginCall.releaseTimeout
    return try send(call)
  }
}
