import Manifests

/// The error samples of failed pages: which were made, and which wait to be sent (docs/protocol.md §12).
///
/// All in memory, so a process that starts again may send one more of each.
struct PageSamples: Sendable {
  /// The most versions of which samples are remembered; beyond that, the oldest is forgotten.
  private static let mostVersions = 4

  /// What there is one sample of.
  private struct Key: Hashable {
    let page: String
    let kind: ErrorSample.Kind
  }

  /// What was made, the oldest version first.
  private var made: [(version: ManifestVersion, keys: Set<Key>)] = []
  /// What hasn't been sent.
  private var waiting: [SampleReport] = []

  /// Whether there is one for this version, page and kind, or no room for another of the version.
  func isFull(for version: ManifestVersion, _ page: String, _ kind: ErrorSample.Kind) -> Bool {
    guard let keys = made.first(where: { $0.version == version })?.keys else { return false }
    return keys.count >= ErrorSample.perVersion || keys.contains(Key(page: page, kind: kind))
  }

  /// Adds a sample to what is to be sent, unless `isFull`.
  /// - Parameter page: the page's key, which its URL in the sample is made from.
  mutating func add(_ sample: ErrorSample, of page: String, _ version: ManifestVersion) {
    guard !isFull(for: version, page, sample.kind) else { return }
    if !made.contains(where: { $0.version == version }) {
      made.append((version, []))
      if made.count > Self.mostVersions {
        let oldest = made.removeFirst().version
        waiting.removeAll { $0.version == oldest }
      }
    }
    for place in made.indices where made[place].version == version {
      made[place].keys.insert(Key(page: page, kind: sample.kind))
    }
    waiting.append(SampleReport(version: version, sample: sample))
  }

  /// Returns what is to be sent, which then counts as sent.
  mutating func take() -> [SampleReport] {
    defer { waiting = [] }
    return waiting
  }
}
