import Manifests
import System
import Values

/// What a bundle holds under a URL: a resource row and its content.
struct HeldContent: Hashable, Sendable {
  let resource: Int64
  let content: ResourceContent
}

/// A release planned against one state of the database, before anything is written.
struct ReleasePlan: Sendable {
  /// One row of one bundle that ends, begins, or is replaced.
  struct Step: Sendable {
    let url: ResourceURL
    let old: HeldContent?
    let new: ResourceContent?
    /// In the union, where entries name their bundle: the bundle that holds the URL before the release.
    var oldBundle: BundleName?
    /// The same after it.
    var bundle: BundleName?

    /// The size of the URL's bytes if they are others than before: type, headers or fallbacks that changed bring none.
    var newBytes: Int64 { new?.newBytes(since: old?.content) ?? 0 }
  }

  struct Bundle: Sendable {
    let name: BundleName
    /// The bundle before the release; nil if it is new.
    let info: BundleInfo?
    let replaced: ReleaseStamp?
    /// Sorted by URL.
    var steps: [Step]
  }

  /// The channel; nil if it is yet to be created.
  let channel: ChannelInfo?
  let appExists: Bool
  /// The bundles that change, in the order of the request.
  var bundles: [Bundle]
  /// The changes to the channel's manifest, the union of its bundles, sorted by URL.
  var union: [Step]
  /// The ids of the URLs that the channel has seen before.
  let urlIDs: [ResourceURL: Int64]
  /// Resources with the wanted content that another bundle holds under the same URL.
  let shared: [ResourceURL: Int64]
  /// Whether the entries of the version that it makes name their bundle.
  var namesBundles = false
  /// What the release does to the channel's rollouts.
  var effect = RolloutEffect.none
  /// Whether there will be a version even if no bundle changes.
  var makesVersion = false
  /// The bundles that the request is about, out of those that change; nil: all.
  var asked: Set<BundleName>?
  /// Whether all devices would get what the candidate's bundles hold, as it is.
  var keepsCandidate = false
  /// The bundles of the candidate that is to be made again.
  var candidateBundles: [BundleName] = []
  /// The version that has the wanted content, if nothing is released and that isn't the full version.
  var holder: ManifestVersion?

  /// What it changes of the full version; nil if that is what is live, or nothing is released.
  var comparison: FullComparison?

  var isChange: Bool { bundles.contains { !$0.steps.isEmpty } }
  /// The changes to the manifest of all devices but those that have a candidate.
  var counts: ChangeCounts { comparison?.counts ?? Self.counts(union) }

  /// Bytes of what those changes add or change.
  var newBytes: Int64 { comparison?.newBytes ?? union.clampedSum(\.newBytes) }

  /// The changes to one bundle, as those of the manifest.
  func counts(of bundle: Bundle) -> ChangeCounts {
    comparison?.counts(of: bundle.name) ?? Self.counts(bundle.steps)
  }

  var resources: Int { (channel?.resources ?? 0) + Self.growth(union).resources }
  var bytes: Int64 { (channel?.bytes ?? 0).addingClamped(Self.growth(union).bytes) }

  /// Every new content of a bundle's row, with a URL that gets it.
  var contents: [(url: ResourceURL, content: ResourceContent)] {
    bundles.flatMap { bundle in bundle.steps.compactMap { step in step.new.map { (step.url, $0) } } }
  }

  static func counts(_ steps: [Step]) -> ChangeCounts {
    steps.reduce(into: ChangeCounts()) { $0.count(hadEntry: $1.old != nil, hasEntry: $1.new != nil) }
  }

  static func growth(_ steps: [Step]) -> (resources: Int, bytes: Int64) {
    steps.reduce(into: (0, 0)) { total, step in
      total.0 += (step.new == nil ? 0 : 1) - (step.old == nil ? 0 : 1)
      total.1 = total.1.addingClamped((step.new?.size ?? 0) - (step.old?.content.size ?? 0))
    }
  }
}

extension ResourceContent {
  /// What makes two contents of one URL the same.
  struct Identity: Hashable, Sendable {
    let sha256: SHA256
    let form: Form
  }

  /// What is said of a content's bytes: type, headers and fallbacks, and whether it is lazy.
  struct Form: Hashable, Sendable {
    let ctype: ContentType
    let headers: EntryHeaders
    let fallbacks: PageFallbacks
    let isLazy: Bool
  }

  /// The content's bytes and what is said of them; MD5 and size follow from the bytes.
  var identity: Identity {
    Identity(sha256: sha256, form: Form(ctype: ctype, headers: headers, fallbacks: fallbacks, isLazy: isLazy))
  }

  /// The size of the bytes, or 0 if `old` of the same URL has the same ones.
  func newBytes(since old: ResourceContent?) -> Int64 { old?.sha256 == sha256 ? 0 : size }
}
