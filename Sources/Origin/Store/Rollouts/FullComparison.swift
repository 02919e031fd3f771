import Manifests
import Values

/// What a release changes of the full version, while what is live is a candidate: what it is for all devices but those that have
/// the candidate.
struct FullComparison: Sendable {
  /// A URL that is different afterwards.
  struct Change: Sendable {
    let url: ResourceURL
    let old: ResourceContent?
    let new: ResourceContent?
    /// Whether the entry names another bundle.
    var isMove = false

    fileprivate var isChange: Bool { isMove || old?.identity != new?.identity }
  }

  /// The changes to the manifest, sorted by URL.
  let manifest: [Change]
  private let bundles: [BundleName: ChangeCounts]

  /// - Parameters:
  ///   - plan: the release, planned on the candidate.
  ///   - back: what takes all bundles of the candidate back to the full version.
  init(_ plan: ReleasePlan, back: ReleasePlan) {
    manifest = Self.changes(plan.union, back.union)
    let backs = Dictionary(back.bundles.map { ($0.name, $0.steps) }) { $1 }
    bundles = Dictionary(
      plan.bundles.map { ($0.name, Self.counts(Self.changes($0.steps, backs[$0.name] ?? []))) }
    ) { $1 }
  }

  /// Whether each bundle is what it is in the full version.
  var isEmpty: Bool { bundles.values.allSatisfy(\.isEmpty) }
  var counts: ChangeCounts { Self.counts(manifest) }
  var newBytes: Int64 { manifest.clampedSum { $0.new?.newBytes(since: $0.old) ?? 0 } }

  func counts(of bundle: BundleName) -> ChangeCounts { bundles[bundle] ?? ChangeCounts() }

  private static func counts(_ changes: [Change]) -> ChangeCounts {
    changes.reduce(into: ChangeCounts()) { $0.count(hadEntry: $1.old != nil, hasEntry: $1.new != nil) }
  }

  private static func changes(_ steps: [ReleasePlan.Step], _ back: [ReleasePlan.Step]) -> [Change] {
    if back.isEmpty {
      return steps.map {
        Change(url: $0.url, old: $0.old?.content, new: $0.new, isMove: $0.bundle != $0.oldBundle)
      }
    }
    // What a step of `back` leads to is the full version's, and what it comes from the candidate's.
    var candidates = Dictionary(back.map { ($0.url, $0) }) { $1 }
    var changes: [Change] = []
    for step in steps {
      let back = candidates.removeValue(forKey: step.url)
      let (full, bundle) = back.map { ($0.new, $0.bundle) } ?? (step.old?.content, step.oldBundle)
      changes.append(Change(url: step.url, old: full, new: step.new, isMove: bundle != step.bundle))
    }
    for (url, step) in candidates {
      changes.append(
        Change(url: url, old: step.new, new: step.old?.content, isMove: step.bundle != step.oldBundle))
    }
    return changes.filter(\.isChange).sorted { $0.url < $1.url }
  }
}
