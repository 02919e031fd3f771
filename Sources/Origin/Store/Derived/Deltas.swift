import Manifests
import System

/// A stored delta, or a pair for which a delta isn't worth it.
package struct StoredDelta: Hashable, Sendable {
  /// The base that it is applied to.
  package let base: SHA256
  /// The size in bytes; nil if it was tried and isn't worth it.
  package let size: Int64?
}

extension DerivedStore {
  /// What is known about deltas that result in `target`. A delta whose file is gone is forgotten.
  package func pairs(of target: SHA256) throws(StoreError) -> [StoredDelta] {
    try existing(try work { (db) throws(StoreError) in try Self.rows(of: target, in: db) }, of: target)
  }

  /// What is known about the deltas of several targets. One transaction reads a hundred, because one for each would
  /// take and release SQLite's lock each time, which is most of the cost of such a query.
  package func pairs(of targets: [SHA256]) throws(StoreError) -> [SHA256: [StoredDelta]] {
    var found: [SHA256: [StoredDelta]] = [:]
    for part in targets.batches(of: Self.rowsATurn) {
      let rows = try work { (db) throws(StoreError) in
        try db.snapshot { () throws(StoreError) in
          var rows: [(SHA256, [StoredDelta])] = []
          for target in part { rows.append((target, try Self.rows(of: target, in: db))) }
          return rows
        }
      }
      for (target, deltas) in rows where !deltas.isEmpty { found[target] = try existing(deltas, of: target) }
    }
    return found
  }

  private static func rows(of target: SHA256, in db: Database) throws(StoreError) -> [StoredDelta] {
    try db.all("SELECT base, size FROM delta WHERE target = ?", target) { row in
      StoredDelta(base: row.get(0), size: row.isNull(1) ? nil : row.get(1, as: Int64.self))
    }
  }

  /// The rows whose file exists; the others are deleted.
  private func existing(_ rows: [StoredDelta], of target: SHA256) throws(StoreError) -> [StoredDelta] {
    var kept: [StoredDelta] = []
    for row in rows {
      guard let size = row.size, (try? Kernel.status(path(target, row.base)))??.size != size else {
        kept.append(row)
        continue
      }
      try work { (db) throws(StoreError) in try Self.delete(target, on: row.base, in: db) }
    }
    return kept
  }

  /// Stores a delta: its file first, then the row that names it.
  package func keep(_ delta: [UInt8], of target: SHA256, on base: SHA256) throws(StoreError) {
    let path = path(target, base)
    try keepFile(delta, at: path)
    try note(target, base, Int64(delta.count))
  }

  /// Records that the bases result in no delta worth storing for `target`.
  package func reject(_ bases: [SHA256], for target: SHA256) throws(StoreError) {
    for base in bases { try note(target, base, nil) }
  }

  private func note(_ target: SHA256, _ base: SHA256, _ size: Int64?) throws(StoreError) {
    try work { (db) throws(StoreError) in
      if let size {
        try db.run("INSERT OR REPLACE INTO delta (target, base, size) VALUES (?, ?, ?)", target, base, size)
      } else {
        try db.run("INSERT OR IGNORE INTO delta (target, base, size) VALUES (?, ?, NULL)", target, base)
      }
    }
  }

  /// Records that deltas were pushed to where devices download from (`serve --cdn push`).
  package func notePushed(_ offers: [DeltaOffer]) throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      for path in offers.compactMap({ DeltaPath(download: $0.download) }) {
        try db.run(
          "INSERT OR IGNORE INTO pushed_delta (channel, target, base) VALUES (?, ?, ?)", path.channel.text,
          path.target, path.base)
      }
    }
  }

  /// Those of the deltas that were pushed for a channel of this name.
  func pushed(_ deltas: [SHA256: [StoredDelta]], for channel: ChannelName) throws(StoreError) -> [SHA256:
    [StoredDelta]]
  {
    var kept: [SHA256: [StoredDelta]] = [:]
    for part in Array(deltas).batches(of: Self.rowsATurn) {
      let pushed = try work { (db) throws(StoreError) in
        try db.snapshot { () throws(StoreError) in
          var pushed: [(SHA256, [StoredDelta])] = []
          for (target, deltas) in part {
            let bases = try db.all(
              "SELECT base FROM pushed_delta WHERE channel = ? AND target = ?", channel.text, target
            ) { $0.get(0, as: SHA256.self) }
            if !bases.isEmpty { pushed.append((target, deltas.filter { bases.contains($0.base) })) }
          }
          return pushed
        }
      }
      for (target, deltas) in pushed { kept[target] = deltas }
    }
    return kept
  }

  /// The paths and sizes of the deltas that were pushed.
  func pushedDeltas() throws(StoreError) -> [(path: String, size: Int64)] {
    try work { (db) throws(StoreError) in
      try db.all(
        """
        SELECT p.channel, p.target, p.base, d.size FROM pushed_delta AS p
        JOIN delta AS d ON d.target = p.target AND d.base = p.base WHERE d.size IS NOT NULL
        """
      ) { (row) throws(StoreError) in
        let path = DeltaPath(channel: try Stored.channel(row.get(0)), target: row.get(1), base: row.get(2))
        return (path: path.text, size: row.get(3, as: Int64.self))
      }
    }
  }

  /// Forgets which deltas and packs were pushed, and has the backlog look at all of them again.
  func forgetPushes() throws(StoreError) {
    try transaction { (db) throws(StoreError) in
      try db.run("DELETE FROM pushed_delta")
      try db.run("UPDATE pack SET pushed = 0 WHERE pushed = 1")
      try db.run("DELETE FROM done")
    }
  }

  /// Opens a stored delta and checks its bytes; nil if there is none.
  package func open(_ target: SHA256, on base: SHA256) throws(StoreError) -> DerivedFile? {
    try openFile(path(target, base))
  }

  /// The checked bytes of a stored delta; nil if there is none.
  package func bytes(of target: SHA256, on base: SHA256) throws(StoreError) -> [UInt8]? {
    let path = path(target, base)
    // A file with wrong bytes is removed by this.
    guard let file = try openFile(path) else { return nil }
    let sha256 = file.sha256
    let bytes = try StoreError.disk { () throws(SystemError) in try DurableFile.read(path) }
    return bytes.flatMap { SHA256.of($0) == sha256 ? $0 : nil }
  }

  /// Forgets a delta whose file was bad, so that it is made again.
  func forgetDelta(at path: String) throws(StoreError) {
    guard path.hasSuffix(".dcz") else { return }
    let name = path.dropLast(4).filter { $0 != "/" }.split(separator: ".")
    guard name.count == 2, let target = SHA256(hex: name[0]), let base = SHA256(hex: name[1]) else { return }
    try transaction { (db) throws(StoreError) in
      try Self.delete(target, on: base, in: db)
      // It isn't known between which versions the delta is. Versions whose other deltas exist are soon done again.
      try db.run("DELETE FROM done")
    }
  }

  static func delete(_ target: SHA256, on base: SHA256, in db: Database) throws(StoreError) {
    try db.run("DELETE FROM delta WHERE target = ? AND base = ?", target, base)
  }

  /// The path of a delta's file, whether or not it exists.
  package func deltaFile(_ target: SHA256, on base: SHA256) -> String { path(target, base) }

  private func path(_ target: SHA256, _ base: SHA256) -> String { file(target, "\(base.hex).dcz") }
}

/// The deltas that an answer offers besides its patch: for each new resource the smallest stored delta whose base is in
/// the device's manifest.
package struct DeltaOffers: Sendable {
  private let store: Store
  private let arePushed: Bool

  /// Creates offers from a store's deltas; with `arePushed`, only from those that were pushed to where devices download.
  package init(store: Store, arePushed: Bool = false) {
    self.store = store
    self.arePushed = arePushed
  }

  /// The JSON value of `deltas`.
  package func render(_ changes: [EntryChange], _ channel: ChannelInfo, from base: ManifestVersion)
    throws(StoreError) -> [UInt8]
  {
    DeltaOffer.render(try offers(changes, channel, from: base))
  }

  /// The offers, sorted by URL like the changes.
  package func offers(_ changes: [EntryChange], _ channel: ChannelInfo, from base: ManifestVersion)
    throws(StoreError) -> [DeltaOffer]
  {
    let targets = Set(changes.compactMap { $0.entry?.sha256 })
    var pairs = try store.derived.pairs(of: Array(targets)).mapValues { $0.filter { $0.size != nil } }
    if arePushed { pairs = try store.derived.pushed(pairs, for: channel.name) }
    let bases = Set(pairs.values.joined().map(\.base))
    if bases.isEmpty { return [] }
    let held = try store.held(bases, channel, at: base)
    var offers: [DeltaOffer] = []
    for change in changes {
      guard let sha256 = change.entry?.sha256,
        let best = pairs[sha256]?.filter({ held.contains($0.base) }).min(by: { $0.size ?? 0 < $1.size ?? 0 }),
        let size = best.size
      else { continue }
      offers.append(
        DeltaOffer(
          url: change.url, base: best.base,
          download: DeltaPath(channel: channel.name, target: sha256, base: best.base)
            .url(publicURL: channel.publicURL), size: size))
    }
    return offers
  }

  /// The offers whose delta wasn't pushed yet.
  package func unpushed(_ changes: [EntryChange], _ channel: ChannelInfo, from base: ManifestVersion)
    throws(StoreError) -> [DeltaOffer]
  {
    let pushed = Set(try DeltaOffers(store: store, arePushed: true).offers(changes, channel, from: base))
    return try DeltaOffers(store: store).offers(changes, channel, from: base).filter { !pushed.contains($0) }
  }
}
