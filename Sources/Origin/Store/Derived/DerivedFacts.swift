import Manifests
import System

extension DerivedStore {
  /// The stored sketches of blobs; those that were never made are left out.
  package func sketches(of digests: [SHA256], cut: Int) throws(StoreError) -> [SHA256: [UInt8]] {
    var found: [SHA256: [UInt8]] = [:]
    for part in digests.batches(of: Self.rowsATurn) {
      let rows = try work { (db) throws(StoreError) in
        try db.snapshot { () throws(StoreError) in
          var rows: [(SHA256, [UInt8]?)] = []
          for sha256 in part {
            let hashes = try db.value(
              [UInt8].self, "SELECT hashes FROM sketch WHERE sha256 = ? AND cut = ?", sha256, cut)
            rows.append((sha256, hashes))
          }
          return rows
        }
      }
      for (sha256, hashes) in rows { found[sha256] = hashes }
    }
    return found
  }

  /// Stores blobs' sketches, replacing earlier ones.
  package func keep(sketches: [SHA256: [UInt8]], cut: Int) throws(StoreError) {
    for part in Array(sketches).batches(of: Self.rowsATurn) {
      try transaction { (db) throws(StoreError) in
        for (sha256, hashes) in part {
          try db.run(
            "INSERT OR REPLACE INTO sketch (sha256, cut, hashes) VALUES (?, ?, ?)", sha256, cut, hashes)
        }
      }
    }
  }

  /// The size of a blob's best body without a delta; nil if it was never determined.
  package func plainSize(of sha256: SHA256, coded: Bool) throws(StoreError) -> Int64? {
    try work { (db) throws(StoreError) in
      try db.value(
        Int64.self, "SELECT size FROM plain WHERE sha256 = ? AND coded = ?", sha256, coded ? 1 : 0)
    }
  }

  /// Stores the size of a blob's best body without a delta.
  package func keep(plainSize size: Int64, of sha256: SHA256, coded: Bool) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run(
        "INSERT OR REPLACE INTO plain (sha256, coded, size) VALUES (?, ?, ?)", sha256, coded ? 1 : 0, size)
    }
  }

  /// Whether every delta from `base` to `version` was made or found not to be worth it.
  package func isDone(_ channel: Int64, from base: ManifestVersion, to version: ManifestVersion)
    throws(StoreError) -> Bool
  {
    try work { (db) throws(StoreError) in
      try db.value(
        Int64.self, "SELECT 1 FROM done WHERE channel_id = ? AND base = ? AND version = ?", channel,
        base.number, version.number) != nil
    }
  }

  /// Records that every delta from `base` to `version` was made or found not to be worth it. While a rollout is open, there are two
  /// such versions: what is known of `other` stays, and nothing else.
  package func markDone(
    _ channel: Int64, from base: ManifestVersion, to version: ManifestVersion,
    beside other: ManifestVersion? = nil
  ) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      try db.run(
        "DELETE FROM done WHERE channel_id = ? AND base = ? AND version IS NOT ?", channel, base.number,
        other?.number)
      try db.run(
        "INSERT OR IGNORE INTO done (channel_id, base, version) VALUES (?, ?, ?)", channel, base.number,
        version.number)
    }
  }

  /// The tree of a large blob; nil if there is none for a file of this size, or it was damaged.
  func tree(of sha256: SHA256, size: Int64) throws(StoreError) -> BlockTree? {
    try work { (db) throws(StoreError) in
      try db.first("SELECT digests, root FROM block_tree WHERE sha256 = ? AND size = ?", sha256, size) {
        row in
        let tree = BlockTree(of: sha256, size: size, digests: row.get(0))
        return tree?.root.bytes == row.get(1, as: [UInt8].self) ? tree : nil
      } ?? nil
    }
  }

  /// Stores a blob's tree, replacing an earlier one.
  func keep(_ tree: BlockTree) throws(StoreError) {
    let root = tree.root
    try work { (db) throws(StoreError) in
      try db.run(
        "INSERT OR REPLACE INTO block_tree (sha256, size, digests, root) VALUES (?, ?, ?, ?)", tree.sha256,
        tree.size, tree.digests, root)
    }
  }

  /// Whether a coding was found not to be worth it for a blob.
  package func isPoor(_ coding: String, for sha256: SHA256) throws(StoreError) -> Bool {
    try work { (db) throws(StoreError) in
      try db.value(Int64.self, "SELECT 1 FROM poor_coding WHERE sha256 = ? AND coding = ?", sha256, coding)
        != nil
    }
  }

  /// Records that a coding isn't worth it for a blob.
  package func notePoor(_ coding: String, for sha256: SHA256) throws(StoreError) {
    try work { (db) throws(StoreError) in
      try db.run("INSERT OR IGNORE INTO poor_coding (sha256, coding) VALUES (?, ?)", sha256, coding)
    }
  }

  // MARK: - Removing

  /// The blobs and pairs that have rows.
  struct Known {
    fileprivate let blobs: [SHA256]
    fileprivate let pairs: [(target: SHA256, base: SHA256)]
  }

  func known() throws(StoreError) -> Known {
    try work { (db) throws(StoreError) in
      Known(
        blobs: try db.all(
          """
          SELECT sha256 FROM sketch UNION SELECT sha256 FROM plain
          UNION SELECT sha256 FROM block_tree UNION SELECT sha256 FROM poor_coding
          """
        ) { $0.get(0, as: SHA256.self) },
        pairs: try db.all("SELECT target, base FROM delta") {
          (target: $0.get(0, as: SHA256.self), base: $0.get(1, as: SHA256.self))
        })
    }
  }

  /// Deletes the rows in `known` that are about other blobs than `blobs`.
  func forget(_ known: Known, keeping blobs: Set<String>) throws(StoreError) {
    func gone(_ sha256: SHA256) -> Bool { !blobs.contains(sha256.hex) }
    for part in known.blobs.filter(gone).batches(of: 500) {
      try transaction { (db) throws(StoreError) in
        for sha256 in part {
          try db.run("DELETE FROM sketch WHERE sha256 = ?", sha256)
          try db.run("DELETE FROM plain WHERE sha256 = ?", sha256)
          try db.run("DELETE FROM block_tree WHERE sha256 = ?", sha256)
          try db.run("DELETE FROM poor_coding WHERE sha256 = ?", sha256)
        }
      }
    }
    for part in known.pairs.filter({ gone($0.target) || gone($0.base) }).batches(of: 500) {
      try transaction { (db) throws(StoreError) in
        for delta in part { try Self.delete(delta.target, on: delta.base, in: db) }
      }
    }
  }
}
