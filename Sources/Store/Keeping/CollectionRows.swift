/// How many rows one transaction of gc takes, so that whoever wants to write waits for it only shortly.
struct Pace {
  /// Rows of the next transaction.
  private(set) var rows = 200
  /// The longest time for which one had the connection that writes, in nanoseconds.
  private(set) var longest: Int64 = 0

  /// What a transaction should take: 15 ms.
  private static let aim: Int64 = 15_000_000
  private static let fewest = 20
  private static let most = 5000

  /// Notes what a transaction of so many rows took.
  mutating func took(_ nanoseconds: Int64, rows count: Int) {
    longest = max(longest, nanoseconds)
    // One that was small tells nothing of a large one.
    guard count >= rows || nanoseconds > Self.aim else { return }
    let wanted = Int64(count) * Self.aim / max(1, nanoseconds)
    rows = min(Self.most, max(Self.fewest, Int(min(wanted, Int64(rows) * 2))))
  }
}

// What is left of a channel that was removed: its row, its last release, and the newest of its documents, so that its
// numbers go on rising should it be made again.
extension Database {
  /// Forgets what was noted of a removed channel and what would keep its releases: nobody can unpin or look any more.
  func forgetNotes(ofRemoved channel: Int64) throws(StoreError) {
    guard try isRemoved(channel) else { return }
    try run("DELETE FROM pin WHERE channel_id = ?", channel)
    try run("DELETE FROM poll_count WHERE channel_id = ?", channel)
    try run("DELETE FROM failure_count WHERE channel_id = ?", channel)
    try run(
      """
      DELETE FROM document WHERE channel_id = ?1 AND version < (SELECT max(version) FROM document AS newest
        WHERE newest.channel_id = ?1 AND newest.name = document.name)
      """, channel)
  }

  /// Forgets bundles of a removed channel of which no row tells any more.
  func forgetBundles(ofRemoved channel: Int64) throws(StoreError) {
    guard try isRemoved(channel) else { return }
    try run(
      """
      DELETE FROM bundle WHERE channel_id = ?1
        AND NOT EXISTS (SELECT 1 FROM release_bundle WHERE bundle_id = bundle.id)
        AND NOT EXISTS (SELECT 1 FROM entry WHERE bundle_id = bundle.id AND until IS NULL)
        AND NOT EXISTS (SELECT 1 FROM entry WHERE bundle_id = bundle.id AND until IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM release_source WHERE bundle_id = bundle.id)
      """, channel)
  }
}
