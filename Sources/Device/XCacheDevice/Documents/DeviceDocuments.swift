import Manifests
import System

/// The documents that a device holds besides the manifest.
struct DeviceDocuments: Sendable {
  enum Kind: CaseIterable {
    case policy, prefetch
    /// The prefetch config that goes along with the candidate of a rollout.
    case candidatePrefetch
  }

  private(set) var policy = RuntimePolicy.none
  private(set) var prefetch = PrefetchPlan(.empty)
  private(set) var candidatePrefetch = PrefetchPlan(.empty)
  /// Documents in force that couldn't be written to the disk.
  var unwritten: Set<Kind> = []

  /// Reads the folder's documents; one that can't be read counts as missing, so the next poll fetches it again.
  init(_ folder: CacheFolder) {
    for kind in Kind.allCases {
      if let bytes = try? DurableFile.read(folder.document(kind), limit: Int(Self.limit)) {
        replace(kind, with: bytes)
      }
    }
  }

  /// The size in bytes above which a document is refused.
  static let limit: Int64 = 2 << 20

  func version(_ kind: Kind) -> Int64 {
    switch kind {
    case .policy: policy.number
    case .prefetch: prefetch.number
    case .candidatePrefetch: candidatePrefetch.number
    }
  }

  /// Replaces a document; false, changing nothing, if the bytes aren't such a document.
  @discardableResult
  mutating func replace(_ kind: Kind, with bytes: [UInt8]) -> Bool {
    switch kind {
    case .policy:
      guard let policy = RuntimePolicy(document: bytes) else { return false }
      self.policy = policy
    case .prefetch:
      guard let prefetch = PrefetchPlan(document: bytes) else { return false }
      self.prefetch = prefetch
    case .candidatePrefetch:
      guard let prefetch = PrefetchPlan(document: bytes) else { return false }
      candidatePrefetch = prefetch
    }
    return true
  }
}

extension CacheFolder {
  func document(_ kind: DeviceDocuments.Kind) -> String {
    switch kind {
    case .policy: "\(root)/policy.json"
    case .prefetch: "\(root)/prefetchConfig.json"
    case .candidatePrefetch: "\(root)/candidatePrefetch.json"
    }
  }
}

extension CheckedSettings {
  /// Returns the URL of one of the channel's documents, of which a version is wanted.
  func url(_ kind: DeviceDocuments.Kind, _ version: Int64, from source: PollPolicy.Source) -> String {
    switch (source, kind) {
    case (.origin, .policy): "\(server)/policy.json?app=\(app)&channel=\(channel)"
    case (.origin, .prefetch): "\(server)/prefetchConfig?app=\(app)&channel=\(channel)"
    case (.origin, .candidatePrefetch):
      "\(server)/prefetchConfig?app=\(app)&channel=\(channel)&version=\(version)"
    case (.mirror, .candidatePrefetch): mirrorURL("prefetchConfig/\(version).json")
    case (.mirror, .policy): mirrorURL("policy.json")
    case (.mirror, .prefetch): mirrorURL("prefetchConfig.json")
    }
  }
}
