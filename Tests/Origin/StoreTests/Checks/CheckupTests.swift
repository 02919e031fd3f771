import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct CheckupTests {
  let scratch = Scratch()

  private func filled() throws -> Store {
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("a"), "b.js": Sample("bb")])
    try store.publish(base: 1, set: ["a.js": Sample("a2")], remove: ["b.js"])
    try store.publish("other", base: 0, set: ["a.js": Sample("a2"), "c.js": Sample("c")])
    return store
  }

  private func codes(_ store: Store, deep: Bool = true) throws -> [String] {
    try store.checkup(deep: deep).findings.map(\.code)
  }

  @Test func intactFolderHasNoFindings() throws {
    let store = try filled()
    let checkup = try store.checkup(deep: true)
    #expect(checkup.findings.isEmpty)
    #expect(checkup.releases == 3 && checkup.blobs == 4 && checkup.hashed == 6 && checkup.acts == 4)
  }

  /// Each violation is made with the triggers dropped, so that every rule has been seen to fail.
  @Test(arguments: [
    ("entry-overlap", "UPDATE entry SET until = 3 WHERE since = 1 AND until = 2"),
    ("entry-disagreement", "UPDATE entry SET resource_id = 1 WHERE bundle_id = 2 AND url_id = 1"),
    ("entry-channel", "UPDATE entry SET resource_id = 4 WHERE url_id = 1 AND since = 1"),
    ("entry-future", "UPDATE entry SET until = 9 WHERE url_id = 2"),
    ("url-match", "UPDATE url SET match_key = 'https://m.example.com/a.js' WHERE id = 3"),
    ("resource-version", "UPDATE url SET versions = 1"),
    ("resource-future", "UPDATE resource SET brought_in = 9 WHERE id = 1"),
    ("blob-missing", "UPDATE blob SET quarantined_at = 1"),
    ("blob-unchecked", "DELETE FROM blob_check WHERE blob_id = 1"),
    (
      "purged",
      "INSERT INTO purge (sha256, at, author, reason) SELECT sha256, 1, 'lead', 'a key' FROM blob LIMIT 1"
    ),
    ("release-time", "UPDATE release SET at = 1 WHERE version = 2"),
    ("release-total", "UPDATE release SET bytes = bytes + 1 WHERE version = 3"),
    ("bundle-total", "UPDATE bundle SET resources = 7"),
    ("bundle-future", "UPDATE bundle SET version = 7"),
    (
      "rollout-versions",
      """
      INSERT INTO rollout (channel_id, version, full_version, seed, share, state, author, started_at, changed_at, changed_by)
      VALUES (1, 2, 1, 's', 1, 'open', 'ci', 1, 1, 'ci')
      """
    ),
    (
      "endless-session",
      """
      INSERT INTO token (id, name, hash, created_at, kind, issuer, subject)
      VALUES ('12345678', 'ana', zeroblob(32), 1, 'session', 'https://id', '7')
      """
    ),
    (
      "own-approval",
      """
      INSERT INTO scheduled_act
        (id, channel_id, act, summary, due_at, created_at, token_id, author, address, route, request, state, author_key)
      VALUES (1, 1, 'publish', 's', 1, 1, 't', 'ci', '', 'releases', x'', 'waiting', 'token:t');
      INSERT INTO approval (act_id, approver, token_id, name, at) VALUES (1, 'token:t', 't', 'ci', 1)
      """
    ),
    (
      "source-map-missing",
      """
      INSERT INTO source_map (channel_id, file, blob_id, stored_at) VALUES (1, zeroblob(32), 1, 1);
      UPDATE blob SET quarantined_at = 1 WHERE id = 1
      """
    ),
    ("audit-chain", "UPDATE audit SET result = '{}' WHERE id = 3"),
    ("manifest-digest", "UPDATE release SET digest = zeroblob(32) WHERE version = 1"),
    ("script-bytes", "INSERT INTO policy_script VALUES (zeroblob(32), x'61', 1)"),
    ("foreign-key", "UPDATE resource SET content_type_id = 99 WHERE id = 1"),
  ])
  func everyRuleDetectsItsViolation(code: String, sql: String) throws {
    let store = try filled()
    try store.connections.writing { (db) throws(StoreError) in
      let names = try db.all("SELECT name FROM sqlite_schema WHERE type = 'trigger'") {
        $0.get(0, as: String.self)
      }
      for name in names {
        try db.script("DROP TRIGGER \(name)")
      }
      try db.script("PRAGMA foreign_keys = OFF")
      try db.script(sql)
    }
    #expect(try codes(store).contains(code))
    #expect(try !store.checkup(deep: true).isClean)
  }

  /// Every check-up verifies the chain, and names the first damaged row.
  @Test(arguments: [
    ("UPDATE audit SET author = 'bob' WHERE id >= 2", "row 2 was changed"),
    ("DELETE FROM audit WHERE id = 2", "row 2 was removed"),
    ("UPDATE audit SET hash = zeroblob(32) WHERE id = 1", "row 1 was changed"),
  ])
  func firstDamagedAuditRowIsNamed(sql: String, words: String) throws {
    let store = try filled()
    try store.connections.writing { (db) throws(StoreError) in
      for name in ["audit_is_immutable", "audit_stays"] { try db.script("DROP TRIGGER \(name)") }
      try db.script(sql)
    }
    for deep in [false, true] {
      let findings = try store.checkup(deep: deep).findings
      #expect(findings.map(\.code) == ["audit-chain"])
      #expect(findings.first?.text.contains(words) == true)
    }
  }

  /// A hash of another size, which the schema forbids, is a damaged row and doesn't crash.
  @Test func damagedHashIsADamagedRow() throws {
    let store = try filled()
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("DROP TRIGGER audit_is_immutable; PRAGMA ignore_check_constraints = ON")
      try db.script("UPDATE audit SET hash = x'00' WHERE id = 3")
    }
    #expect(try store.verifyAudit().0 == .altered(3))
    #expect(try !store.checkup(deep: false).isClean)
  }

  @Test func missingTruncatedAndChangedFilesAreFound() throws {
    let store = try filled()
    let path = store.folder.blob(Sample("a2").claim.sha256)
    try DurableFile.write(Array("xx".utf8), to: path)
    #expect(try codes(store, deep: false).isEmpty)
    #expect(try codes(store) == ["blob-bytes"])
    try DurableFile.write(Array("x".utf8), to: path)
    #expect(try codes(store, deep: false) == ["blob-bytes"])
    try Kernel.remove(path)
    #expect(try codes(store, deep: false) == ["blob-bytes"])
  }

  @Test func unreferencedFileIsANote() throws {
    let store = try filled()
    try DurableFile.write(Array("x".utf8), to: store.folder.blob(SHA256.of(Array("x".utf8))))
    let checkup = try store.checkup(deep: true)
    #expect(checkup.findings.map(\.code) == ["orphans"] && checkup.isClean)
  }

  /// A damaged page may contain a digest of any size; reading it is an error and doesn't crash.
  @Test func digestOfAnotherSizeIsRefused() async throws {
    let scratch = Scratch()
    await #expect(processExitsWith: .success) { [path = scratch.path + "/a.db" as String] in
      let db = try Database(path: path, .writing)
      try db.script(
        "CREATE TABLE t (sha256 BLOB, md5 BLOB); INSERT INTO t VALUES (zeroblob(31), zeroblob(17))")
      guard db.refuses(SHA256.self, "SELECT sha256 FROM t"), db.refuses(MD5.self, "SELECT md5 FROM t"),
        db.refuses(SHA256?.self, "SELECT sha256 FROM t"),
        // The statement can be used for the next row.
        try db.value([UInt8].self, "SELECT sha256 FROM t")?.count == 31
      else { exit(3) }
      try db.script("CREATE TABLE v (version INTEGER); INSERT INTO v VALUES (-123)")
      guard db.refuses("SELECT version FROM v", { _ = $0.version(0) }) else { exit(4) }
      exit(0)
    }
  }
}

extension Database {
  fileprivate func refuses(_ sql: StaticString, _ read: (Statement) -> Void) -> Bool {
    do throws(StoreError) {
      try each(sql) { (row) throws(StoreError) in read(row) }
    } catch {
      if case .corruptRow = error { return true }
    }
    return false
  }

  fileprivate func refuses<Value: SQLValue>(_ type: Value.Type, _ sql: StaticString) -> Bool {
    do throws(StoreError) {
      _ = try value(type, sql)
    } catch {
      if case .corruptRow = error { return true }
    }
    return false
  }
}
