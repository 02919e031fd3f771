import Manifests
import System

/// The documents that a device holds beside the manifest.
struct DeviceDocuments: Sendable {
  enum Kind: CaseIterable {
    case policy, prefetch
  }

  private(set) var policy = RuntimePolicy.none
  private(set) var prefetch = PrefetchPlan(.empty)
  /// Those that hold, and that the disk didn't take.
  var unwritten: Set<Kind> = []

  /// Reads what the folder has; a file that can't be read counts as none, so the next poll brings it again.
  init(_ folder: CacheFolder) {
    for kind in Kind.allCases {
      if let bytes = try? DurableFile.read(folder.document(kind), limit: Int(Self.limit)) {
        take(kind, bytes)
      }
    }
  }

  /// Bytes of a document above which it is refused.
  static let limit: Int64 = 8 << 20

  func version(_ kind: Kind) -> Int64 {
    switch kind {
    case .policy: policy.number
    case .prefetch: prefetch.number
    }
  }

  /// Takes a document in the place of the one held; false, and nothing changes, where it is none.
  @discardableResult
  mutating func take(_ kind: Kind, _ bytes: [UInt8]) -> Bool {
    switch kind {
    case .policy:
      guard let policy = RuntimePolicy(document: bytes) else { return false }
      self.policy = policy
    case .prefetch:
      guard let prefetch = PrefetchPlan(document: bytes) else { return false }
      self.prefetch = prefetch
    }
    return true
  }
}

extension CacheFolder {
  func document(_ kind: DeviceDocuments.Kind) -> String {
    switch kind {
    case .policy: "\(root)/policy.json"
    case .prefetch: "\(root)/prefetchConfig.json"
    }
  }

  func script(_ sha256: SHA256) -> String { "\(root)/scripts/\(sha256.hex).js" }
}

extension CheckedSettings {
  /// Where a document of the channel is.
  func url(_ kind: DeviceDocuments.Kind, from source: PollPolicy.Source) -> String {
    switch (source, kind) {
    case (.origin, .policy): "\(server)/policy.json?app=\(app)&channel=\(channel)"
    case (.origin, .prefetch): "\(server)/prefetchConfig?app=\(app)&channel=\(channel)"
    case (.mirror, .policy): mirrorURL("policy.json")
    case (.mirror, .prefetch): mirrorURL("prefetchConfig.json")
    }
  }
}
