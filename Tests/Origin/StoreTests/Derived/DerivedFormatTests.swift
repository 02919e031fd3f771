import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// `derived.db` as an earlier program left it.
@Suite struct DerivedFormatTests {
  private static let sha256 = SHA256.of([1])

  /// What the tables have stays; only which versions are done is looked at again.
  @Test(arguments: [
    DerivedSchema.formatBeforePacks, DerivedSchema.formatBeforePushes, DerivedSchema.formatBeforeVersions,
  ])
  func whatEarlierFormatsHaveStays(format: Int64) throws {
    let scratch = Scratch()
    do { try scratch.open().derived.keep(plainSize: 7, of: Self.sha256, coded: true) }
    do {
      let database = try Database(path: "\(scratch.data)/derived.db", .writing)
      try database.script(
        """
        DROP TABLE done;
        CREATE TABLE done (
          channel_id INTEGER NOT NULL, base INTEGER NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (channel_id, base)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO done VALUES (1, 1, 2);
        PRAGMA user_version = \(format);
        """)
      if format <= DerivedSchema.formatBeforePushes {
        try database.script(
          "DROP TRIGGER delta_is_gone; DROP TABLE pushed_delta; DROP TABLE block_tree; DROP TABLE poor_coding"
        )
      }
      if format <= DerivedSchema.formatBeforePacks { try database.script("DROP TABLE pack") }
    }
    let derived = try scratch.open().derived
    #expect(try derived.plainSize(of: Self.sha256, coded: true) == 7)
    let (base, full, candidate) = (ManifestVersion(1), ManifestVersion(2), ManifestVersion(3))
    #expect(try !derived.isDone(1, from: base, to: full))
    try derived.markDone(1, from: base, to: full)
    try derived.markDone(1, from: base, to: candidate, beside: full)
    #expect(try derived.isDone(1, from: base, to: full) && derived.isDone(1, from: base, to: candidate))
    let tables = try derived.work { (db) throws(StoreError) in
      try db.all("SELECT name FROM sqlite_schema WHERE type = 'table'") { $0.get(0, as: String.self) }
    }
    #expect(
      Set(tables).isSuperset(of: ["pack", "pushed_delta", "block_tree", "poor_coding", "delta", "file"]))
    let kept = try derived.work { (db) throws(StoreError) in try db.value(Int64.self, "PRAGMA user_version") }
    #expect(kept == DerivedSchema.format)
  }
}
