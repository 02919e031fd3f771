/// What writing a tree did.
public struct TreeReport: Hashable, Sendable {
  /// Files that are new or had other bytes.
  public internal(set) var written = 0
  /// Files that were right already.
  public internal(set) var unchanged = 0
  /// Files that the manifest no longer lists there.
  public internal(set) var removed = 0
  /// Listed files that the device doesn't have, so neither has the tree; `complete` fetches them.
  public internal(set) var missing = 0
  /// Listed URLs below the base that name no file: they end in `/`, have a query, or hold what no file name can.
  public internal(set) var skipped: [String] = []
  /// URLs that want one place in the tree, as two files or as a file and a folder; the first of each is there.
  public internal(set) var clashes: [[String]] = []
}
