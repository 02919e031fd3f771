import System
import Values

/// A parsed answer of `configure.json`.
package enum ConfigureAnswer: Hashable, Sendable {
  /// The device has this version, which is the newest.
  case upToDate(ManifestVersion, AnswerExtras)
  case whole(WholeAnswer)
  case patch(PatchAnswer)
  case pack(PackAnswer)
  /// The body's `code` isn't 200.
  case failure(code: Int64, message: String)

  /// Parses a body. Unknown members are skipped; known ones must be valid, and within `DocumentBudget`.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> ConfigureAnswer {
    var reader = JSONReader(bytes, values: DocumentBudget.values)
    var code: Int64?
    var message = ""
    var data: AnswerReader?
    try reader.members { (key, reader) throws(JSONError) in
      switch key {
      case "code": code = try reader.value(atMost: 1).integer
      case "message": message = try reader.value(atMost: 1).string ?? ""
      case "data": data = try AnswerReader(reading: &reader)
      default: try reader.skip()
      }
    }
    try reader.end()
    guard let code else { throw .member("code") }
    if code != 200 { return .failure(code: code, message: message) }
    guard let data else { throw .member("data") }
    return try data.answer()
  }

  /// What the answer carries besides its manifest.
  package var extras: AnswerExtras {
    switch self {
    case .upToDate(_, let extras): extras
    case .whole(let answer): answer.extras
    case .patch(let answer): answer.extras
    case .pack(let answer): answer.extras
    case .failure: .none
    }
  }

  /// The member `trust`, as written: the envelopes that `AnswerTrust` reads.
  package var trust: [UInt8]? {
    switch self {
    case .whole(let answer): answer.trust
    case .patch(let answer): answer.trust
    case .pack(let answer): answer.trust
    case .upToDate, .failure: nil
    }
  }
}

/// A whole manifest.
package struct WholeAnswer: Hashable, Sendable {
  package let version: ManifestVersion
  package let digest: SHA256
  let items: [ManifestItem]
  /// Set if the device named a version that the origin knows; `deltas` are over its resources.
  package let base: ManifestVersion?
  package let deltas: [DeltaOffer]
  /// A first pack: one download that has most of the manifest's files; nil if none is named.
  package let first: PackOffer?
  package let extras: AnswerExtras
  /// The member `trust`, as written; nil if there is none.
  package let trust: [UInt8]?

  /// Returns the manifest.
  ///
  /// - Throws: `digest`, if it doesn't match the one in the answer.
  package func manifest() throws(ManifestMismatch) -> Manifest {
    let manifest = Manifest(version: version, sorted: items)
    try manifest.check(digest)
    return manifest
  }
}

/// A patch; `Manifest.applying(_:)` turns it into a manifest.
package struct PatchAnswer: Hashable, Sendable {
  package let base: ManifestVersion
  package let version: ManifestVersion
  /// The digest of the resulting resourcemap.
  package let digest: SHA256
  /// Sorted by URL.
  package let changes: [ManifestChange]
  /// Sorted by URL.
  package let deltas: [DeltaOffer]
  package let extras: AnswerExtras
  /// The member `trust`, as written; nil if there is none.
  package let trust: [UInt8]?
}

/// The change of one URL.
package struct ManifestChange: Hashable, Sendable {
  /// The URL that changes.
  package let url: ResourceURL
  /// A merge patch for its entry; null if it is removed.
  package let value: JSONValue
}

/// What every answer of `configure.json` carries besides its manifest.
package struct AnswerExtras: Hashable, Sendable {
  /// The allowed values of `interval`.
  package static let intervals = 30...3600

  /// The allowed values of `edge`.
  package static let edges = 1...60

  /// The number of batches of which `reports` is a share.
  package static let allReports = 10_000

  /// The seconds for which a shared cache keeps an answer, where one takes the polls: then devices count these.
  package let edge: Int?
  /// The seconds that devices wait between polls.
  package let interval: Int?
  /// The newest version of the policy, once there is one.
  package let policy: Int64?
  /// The newest version of the prefetch config, once there is one.
  package let prefetch: Int64?
  /// How many of 10,000 batches of counts devices send; nil for all.
  package let reports: Int?
  /// 0 if devices send no error samples; nil if they do.
  package let samples: Int?
  /// The newest version that a rollback made, once there is one.
  package let rollback: ManifestVersion?
  /// Who follows the candidate, while one is open.
  package let rollout: RolloutRule?
  /// The number of the newest root, in an app that has one (docs/protocol.md §14).
  package let root: Int64?

  /// No extras.
  package static let none = AnswerExtras()

  package init(
    edge: Int? = nil, interval: Int? = nil, policy: Int64? = nil, prefetch: Int64? = nil, reports: Int? = nil,
    samples: Int? = nil, rollback: ManifestVersion? = nil, rollout: RolloutRule? = nil, root: Int64? = nil
  ) {
    self.edge = edge
    self.interval = interval
    self.policy = policy
    self.prefetch = prefetch
    self.reports = reports
    self.samples = samples
    self.rollback = rollback
    self.rollout = rollout
    self.root = root
  }

  /// Returns a copy with the newest version that a rollback made.
  package func with(rollback: ManifestVersion?) -> AnswerExtras {
    AnswerExtras(
      edge: edge, interval: interval, policy: policy, prefetch: prefetch, reports: reports,
      samples: samples, rollback: rollback, rollout: rollout, root: root)
  }

  /// Returns a copy with the rule of an open rollout.
  package func with(rollout: RolloutRule?) -> AnswerExtras {
    AnswerExtras(
      edge: edge, interval: interval, policy: policy, prefetch: prefetch, reports: reports,
      samples: samples, rollback: rollback, rollout: rollout, root: root)
  }

  /// Returns a copy with the seconds for which a shared cache keeps an answer.
  package func with(edge: Int?) -> AnswerExtras {
    AnswerExtras(
      edge: edge, interval: interval, policy: policy, prefetch: prefetch, reports: reports,
      samples: samples, rollback: rollback, rollout: rollout, root: root)
  }

  /// Returns a copy with the number of the newest root.
  package func with(root: Int64?) -> AnswerExtras {
    AnswerExtras(
      edge: edge, interval: interval, policy: policy, prefetch: prefetch, reports: reports,
      samples: samples, rollback: rollback, rollout: rollout, root: root)
  }
}
