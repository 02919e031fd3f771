import Manifests
import Platform

// What a release asks of the blobs.
extension BlobStore {
  /// Which bytes a release needs beyond those that rows name.
  struct Survey {
    /// Arrived, not yet durable or without a row.
    var waiting: [SHA256] = []
    /// To be sent.
    var missing: [SHA256] = []
  }

  /// Looks up each content's bytes once.
  /// - Throws: `contentMismatch` where a claim differs from what is stored or arrived.
  func survey(_ contents: [(url: ResourceURL, content: ResourceContent)]) throws(StoreError) -> Survey {
    var known: [SHA256: FileDigest] = [:]
    var open: [SHA256] = []
    try promise(contents.lazy.map(\.content.sha256))
    try connections.reading { (db) throws(StoreError) in
      var seen: Set<SHA256> = []
      for (_, content) in contents where seen.insert(content.sha256).inserted {
        if let row = try Self.row(of: content.sha256, in: db), !row.isQuarantined {
          known[content.sha256] = row.digest
        } else {
          open.append(content.sha256)
        }
      }
    }
    var survey = Survey()
    for sha256 in open {
      if let digest = try waiting(sha256) {
        known[sha256] = digest
        survey.waiting.append(sha256)
      } else {
        survey.missing.append(sha256)
      }
    }
    for (url, content) in contents {
      if let stored = known[content.sha256] { try content.check(against: stored, url) }
    }
    return survey
  }

  /// What is durable under `blobs/` and has no row yet.
  func placed(_ sha256: SHA256) -> FileDigest? { state.withLock { $0.placed[sha256] } }

  /// Forgets what rows name from now on.
  func forgetPlaced(_ digests: [SHA256]) {
    state.withLock { state in digests.forEach { state.placed[$0] = nil } }
  }
}
