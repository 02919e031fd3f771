import Manifests
import System

// A rollback waits for no approval, since it brings back what all devices had. What only the devices of a rollout had is something else:
// others approved that these get it, and no more.
extension Store {
  /// Whether a rollback brings back what only the devices of a rollout had. Where a channel is protected, it waits like a release.
  /// - Throws: the refusals of a rollback.
  package func letsOutCandidate(_ request: RollbackInput) throws(StoreError) -> Bool {
    var trial = request
    trial.dryRun = true
    return try connections.reading { [trial] (db) throws(StoreError) in
      try db.letsOutCandidate(try RollbackPlan(trial, now: clock(), in: db), trial)
    }
  }
}

extension Database {
  /// Whether a rollback brings back what only the devices of a rollout had, by its files or by its prefetch config.
  func letsOutCandidate(_ plan: RollbackPlan, _ request: RollbackInput) throws(StoreError) -> Bool {
    let isOpen = plan.channel.rollout?.candidate == plan.target
    guard plan.isChange || isOpen else { return false }
    // One that was made again has the content of its successor.
    let full = try value(
      Int64.self,
      """
      SELECT full_version FROM rollout AS r
      WHERE channel_id = ?1 AND version = ?2 AND state <> 'completed'
        AND NOT (state = 'remade' AND EXISTS (SELECT 1 FROM rollout AS n
          WHERE n.channel_id = ?1 AND n.seed = r.seed AND n.state = 'completed'))
      """, plan.channel.id, plan.target.number)
    guard let full else { return false }
    if isOpen, request.withPrefetch, try candidatePrefetch(of: plan.channel.id) != nil { return true }
    for bundle in try bundles(of: plan.channel.id) where (request.bundle ?? bundle.name) == bundle.name {
      if try holdsOther(bundle.id, at: plan.target.number, thanAt: full) { return true }
    }
    return false
  }

  /// Whether a bundle held other files in one version than in another.
  private func holdsOther(_ bundle: Int64, at version: Int64, thanAt other: Int64) throws(StoreError) -> Bool
  {
    try value(
      Int64.self,
      """
      SELECT 1 WHERE EXISTS (
        SELECT url_id, resource_id FROM entry WHERE bundle_id = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2)
        EXCEPT
        SELECT url_id, resource_id FROM entry WHERE bundle_id = ?1 AND since <= ?3 AND (until IS NULL OR until > ?3)
      ) OR EXISTS (
        SELECT url_id, resource_id FROM entry WHERE bundle_id = ?1 AND since <= ?3 AND (until IS NULL OR until > ?3)
        EXCEPT
        SELECT url_id, resource_id FROM entry WHERE bundle_id = ?1 AND since <= ?2 AND (until IS NULL OR until > ?2))
      """, bundle, version, other) != nil
  }
}
