import CSQLite
import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// A second database that gets nothing but the changesets of the first one has the same rows of acts.
@Suite struct ReplicaTests {
  let scratch = Scratch()

  /// Histories of `LifeTests`; comparing all tables after each act takes longer than the acts, so there are three by default.
  /// XCACHE_SEEDS=1000 runs 1000.
  static let seeds = Environment.variables["XCACHE_SEEDS"] == nil ? 1...3 : LifeTests.seeds

  @Test(arguments: seeds)
  func replicaIsEqualAfterEveryAct(seed: UInt64) throws {
    var life = try Life(seed: seed, isReplicated: true)
    let replica = try #require(life.held.replica)
    for act in 1...80 {
      try life.act()
      try replica.catchUp()
      let found = try replica.differences()
      try #require(found == [], "act \(act)")
      try replica.learn()
    }
    try life.end()
    try replica.catchUp()
    #expect(try replica.differences() == [])
    // Some acts are refused, crash before they write, or have nothing to do.
    #expect(replica.applied > 20)
    #expect(try replica.copy.database.structureFindings(deep: true).isEmpty)
  }

  /// A store with version 1 of its channel, `a.js` of the bundle `main`, and a copy that gets its changesets.
  private func pair() throws -> (store: Store, replica: ReplicaUnderTest) {
    let replica: ReplicaUnderTest
    do {
      let store = try scratch.open()
      try store.publish(base: 0, set: ["a.js": Sample("a")])
      replica = try ReplicaUnderTest(of: store, in: scratch.path)
    }
    var options = Store.Options()
    options.recorded = replica.recorded
    return (try scratch.open(options), replica)
  }

  private func pin(_ store: Store) throws {
    _ = try store.pin(ManifestVersion(1), of: try store.shop(), reason: "same", by: .local)
  }

  // MARK: - What is refused

  /// Each makes the replica another one first; then comes a changeset of a pin or a release.
  struct Refusal: CustomTestStringConvertible, Sendable {
    let sql: String
    var publishes = false
    let words: String
    var testDescription: String { words }
  }

  @Test(arguments: [
    Refusal(sql: "DROP TABLE pin", words: "table pin, which doesn't exist"),
    Refusal(sql: "ALTER TABLE pin ADD COLUMN more TEXT", words: "table pin with 5 columns"),
    Refusal(sql: "ALTER TABLE pin DROP COLUMN reason", words: "table pin with 5 columns"),
    Refusal(
      sql: """
        DROP TABLE pin;
        CREATE TABLE pin (channel_id INTEGER PRIMARY KEY, version INTEGER, at INTEGER, author TEXT, reason TEXT)
        """, words: "table pin with 5 columns and the key [0, 1]"),
    Refusal(
      sql: "DROP TABLE pin; CREATE TABLE pin (channel_id, version, at, author, reason)",
      words: "table pin with 5 columns and the key [0, 1]"),
    Refusal(
      sql: "INSERT INTO pin (channel_id, version, at, author, reason) VALUES (1, 1, 0, 'x', 'other')",
      words: "table pin, which a changeset inserts, is here already"),
    Refusal(
      sql: """
        INSERT INTO pin (channel_id, version, at, author, reason) VALUES (1, 9, 0, 'x', 'same');
        CREATE UNIQUE INDEX one_reason ON pin (reason)
        """, words: "table pin, which a changeset inserts, breaks a constraint here"),
    Refusal(
      sql: "UPDATE bundle SET resources = 7", publishes: true,
      words: "table bundle, which a changeset updates, was changed here"),
    Refusal(
      sql: "DELETE FROM bundle", publishes: true,
      words: "table bundle, which a changeset updates, isn't here"),
  ])
  func replicaThatDiffersRefusesChangesets(refusal: Refusal) throws {
    let (store, replica) = try pair()
    try replica.copy.database.script(refusal.sql)
    let acts = try replica.number("SELECT count(*) FROM audit")
    if refusal.publishes {
      try store.publish(base: 1, set: ["b.js": Sample("b")])
    } else {
      try pin(store)
    }
    let error = #expect(throws: StoreError.self) { try replica.catchUp() }
    #expect(error.map { "\($0)".contains(refusal.words) } == true, "\(error.map { "\($0)" } ?? "no error")")
    // All or nothing: the act's audit row isn't there without the act.
    #expect(try replica.number("SELECT count(*) FROM main.audit") == acts)
  }

  /// A row that an act deletes is compared with all of its columns.
  @Test func deletedRowIsCompared() throws {
    let (store, replica) = try pair()
    try pin(store)
    try replica.catchUp()
    try replica.copy.database.script("UPDATE pin SET reason = 'other'")
    try store.unpin(ManifestVersion(1), of: try store.shop(), by: .local)
    let error = #expect(throws: StoreError.self) { try replica.catchUp() }
    #expect(error.map { "\($0)".contains("table pin, which a changeset deletes, was changed here") } == true)
  }

  @Test func changesetOfAnOwnTableIsRefused() throws {
    let (store, replica) = try pair()
    let changeset = try store.connections.writing { (db) throws(StoreError) -> [UInt8] in
      var session: OpaquePointer?
      var (size, bytes): (Int32, UnsafeMutableRawPointer?) = (0, nil)
      guard sqlite3session_create(db.handle, "main", &session) == SQLITE_OK,
        sqlite3session_attach(session, "disk_hour") == SQLITE_OK
      else { throw db.failure("session") }
      defer { sqlite3session_delete(session) }
      try db.script("INSERT INTO disk_hour (hour, size, available, stored) VALUES (1, 2, 3, 4)")
      guard sqlite3session_changeset(session, &size, &bytes) == SQLITE_OK else {
        throw db.failure("changeset")
      }
      defer { sqlite3_free(bytes) }
      return Array(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
    }
    #expect(!changeset.isEmpty)
    let error = #expect(throws: StoreError.self) {
      try replica.copy.apply(DatabaseChanges(changeset: changeset, sequences: [:]))
    }
    #expect(error.map { "\($0)".contains("table disk_hour, which isn't one of acts") } == true)
  }

  @Test func bytesThatAreNoChangesetAreRefused() throws {
    let (store, replica) = try pair()
    #expect(throws: StoreError.self) {
      try replica.copy.apply(DatabaseChanges(changeset: Array("not a changeset".utf8), sequences: [:]))
    }
    #expect(try store.shop().version == ManifestVersion(1))
    // Nor are the ids touched.
    #expect(try replica.differences() == [])
  }

  // MARK: - Which tables are recorded

  private func migrated() throws -> Database {
    let database = try Database(path: scratch.path + "/a.db", .writing)
    try Migrations.embedded.apply(to: database)
    return database
  }

  /// A new table has to be put on one side, in `RecordedTables`.
  @Test func everyTableIsOnOneSide() throws {
    let database = try migrated()
    #expect(try RecordedTables.findings(in: database) == [])
    #expect(RecordedTables.acts.isDisjoint(with: RecordedTables.own))
    #expect(try RecordedTables.names(in: database) == RecordedTables.acts.union(RecordedTables.own))
    #expect(throws: Never.self) { try ChangeRecorder(database) }
  }

  @Test(arguments: [
    ("CREATE TABLE later (id INTEGER PRIMARY KEY)", "table later is neither of acts nor an origin's own"),
    ("DROP TABLE pin", "table pin is missing"),
    (
      "DROP TABLE pin; CREATE TABLE pin (channel_id INTEGER, version INTEGER)", "table pin has no primary key"
    ),
    (
      "DROP TABLE pin; CREATE TABLE pin (channel_id INTEGER, version INTEGER, PRIMARY KEY (channel_id, version))",
      "a column of the primary key of table pin may be NULL"
    ),
    (
      "DROP TABLE pin; CREATE TABLE pin (channel_id TEXT PRIMARY KEY)",
      "a column of the primary key of table pin may be NULL"
    ),
    (
      "DROP TABLE pin; CREATE TABLE pin (channel_id INTEGER PRIMARY KEY, next INTEGER AS (channel_id + 1))",
      "table pin has a generated column"
    ),
    (
      "DROP TABLE pin; CREATE TABLE pin (channel_id INTEGER PRIMARY KEY REFERENCES disk_hour)",
      "table pin of acts refers to an origin's own table disk_hour"
    ),
    (
      "DROP TABLE disk_hour; CREATE TABLE disk_hour (hour INTEGER PRIMARY KEY AUTOINCREMENT)",
      "an origin's own table disk_hour has AUTOINCREMENT"
    ),
  ])
  func tablesThatChangesetsLackAreRefused(sql: String, finding: String) throws {
    let database = try migrated()
    try database.script(sql)
    #expect(try RecordedTables.findings(in: database) == [finding])
    let error = #expect(throws: StoreError.self) { try ChangeRecorder(database) }
    #expect(error.map { "\($0)".contains(finding) } == true)
  }

  /// Triggers of a replica are off, so those of acts write only tables of acts, and an own table has none. An own row goes with the row
  /// that it is about, or that row is never deleted.
  @Test func nothingLeadsFromOneSideToTheOther() throws {
    let database = try migrated()
    let triggers = try database.all("SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger'") {
      (name: $0.get(0, as: String.self), table: $0.get(1, as: String.self), sql: $0.get(2, as: String.self))
    }
    #expect(triggers.count > 40)
    for trigger in triggers {
      #expect(RecordedTables.acts.contains(trigger.table), "\(trigger.name)")
      let words = Set(
        trigger.sql.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
      #expect(words.isDisjoint(with: RecordedTables.own), "\(trigger.name)")
    }
    for table in RecordedTables.own {
      let links = try database.all("SELECT \"table\", on_delete FROM pragma_foreign_key_list(?)", table) {
        (parent: $0.get(0, as: String.self), action: $0.get(1, as: String.self))
      }
      for link in links {
        #expect(
          link.action == "CASCADE" || (link.action == "NO ACTION" && link.parent == "channel"), "\(table)")
      }
    }
  }

  /// A row that is older than a column is stored without it, and the session extension takes it for NULL then. So a step that adds a
  /// column with a default to a table of acts, or a later one, writes its rows once more: `UPDATE t SET c = c`.
  @Test func columnsWithADefaultAreWrittenToOlderRows() throws {
    let steps = Migrations.embedded.steps.map { step in
      String(decoding: step.sql, as: UTF8.self).split(separator: "\n").map(String.init)
        .filter { !$0.hasPrefix("--") }.joined(separator: " ")
    }
    var found = 0
    let statements = steps.flatMap { $0.split(separator: ";").map(String.init) }
    for (position, statement) in statements.enumerated() {
      let words = statement.split(separator: " ").map(String.init)
      guard words.starts(with: ["ALTER", "TABLE"]), words.count > 5, words[3...4] == ["ADD", "COLUMN"],
        let value = words.firstIndex(of: "DEFAULT"), value + 1 < words.count, words[value + 1] != "NULL",
        RecordedTables.acts.contains(words[2])
      else { continue }
      found += 1
      let isWritten = statements[position...].contains { later in
        let later = later.split(separator: " ").map(String.init)
        // Dropping a column writes all rows, and so does a table that is made anew.
        return later.starts(with: ["ALTER", "TABLE", words[2], "DROP"])
          || later.starts(with: ["CREATE", "TABLE", words[2]])
          || (later.starts(with: ["UPDATE", words[2], "SET"]) && !later.contains("WHERE")
            && later.contains(words[5]))
      }
      #expect(isWritten, "\(statement)")
    }
    #expect(found >= 9)
  }

  /// The same with rows: they were stored before their columns were added, and are changed and deleted after.
  @Test func rowsOfAnOlderDatabaseAreReplicated() throws {
    let (path, copy) = (scratch.path + "/a.db", scratch.path + "/b.db")
    let rows: [(steps: Int, sql: String)] = [
      (
        1,
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES
          (1, 1, 'online', 1, 0), (2, 1, 'test', 1, 0);
        INSERT INTO blob (id, sha256, md5, size, stored_at) VALUES
          (1, zeroblob(32), zeroblob(16), 0, 0), (2, x'\(String(repeating: "01", count: 32))', zeroblob(16), 0, 0);
        INSERT INTO token (id, name, hash, scope, created_at, last_used_at) VALUES
          ('11111111', 'admin', zeroblob(32), 'admin', 1, 2), ('22222222', 'ci', zeroblob(32), 'read', 1, 3);
        """
      ),
      (4, "INSERT INTO mirror (name, at) VALUES ('eu', 1)"),
      (
        19,
        """
        INSERT INTO webhook (id, url, events, template, allows_private, secret, author, created_at) VALUES
          ('12345678', 'https://a', 'release', 'json', 0, zeroblob(32), 'ana', 1),
          ('12345679', 'https://b', 'release', 'json', 0, zeroblob(32), 'ana', 1)
        """
      ),
      (
        23,
        """
        INSERT INTO scheduled_act
          (id, channel_id, act, summary, due_at, created_at, token_id, author, address, route, request, state) VALUES
          (1, 1, 'publish', '', 1, 1, '22222222', 'ci', '', 'releases', x'', 'waiting'),
          (2, 1, 'publish', '', 1, 1, '22222222', 'ci', '', 'releases', x'', 'waiting')
        """
      ),
      (
        27,
        """
        INSERT INTO rollout_plan (channel_id, seed, highest, first_hour, failing_networks) VALUES
          (1, 'seed1', 2, 0, 3), (1, 'seed2', 0.5, 0, 3)
        """
      ),
    ]
    do {
      let database = try Database(path: path, .writing)
      for (steps, sql) in rows {
        try Migrations(steps: Array(Migrations.embedded.steps.prefix(steps))).apply(to: database)
        try database.script(sql)
      }
    }
    let database = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: database)
    try database.script("VACUUM INTO '\(copy)'")
    let replica = try ChangeReplica(path: copy)
    database.recorder = try ChangeRecorder(database)
    try database.script(
      """
      UPDATE channel SET poll_interval = 60 WHERE id = 1; DELETE FROM channel WHERE id = 2;
      UPDATE blob SET quarantined_at = 1 WHERE id = 1; DELETE FROM blob WHERE id = 2;
      UPDATE webhook SET url = 'https://c' WHERE id = '12345678'; DELETE FROM webhook WHERE id = '12345679';
      UPDATE scheduled_act SET summary = 'a' WHERE id = 1; DELETE FROM scheduled_act WHERE id = 2;
      UPDATE rollout_plan SET highest = 3, stepped_control = 1 WHERE seed = 'seed1';
      DELETE FROM rollout_plan WHERE seed = 'seed2';
      UPDATE token SET name = 'root' WHERE id = '11111111'; DELETE FROM token WHERE id = '22222222';
      UPDATE mirror SET at = 2
      """)
    let changes = try #require(try database.recorder?.take())
    #expect(try ChangeReplica.tables(in: changes.changeset).count == 7)
    #expect(throws: Never.self) { try replica.apply(changes) }
    func row(_ db: Database) throws -> [String] {
      try db.all(
        """
        SELECT (SELECT group_concat(id || name || ifnull(poll_interval, '-') || approval_share) FROM channel)
          || (SELECT group_concat(id || ifnull(quarantined_at, '-')) FROM blob)
          || (SELECT group_concat(id || url || waiting) FROM webhook)
          || (SELECT group_concat(id || summary || overrides_freezes || approvals || is_gated) FROM scheduled_act)
          || (SELECT group_concat(seed || highest || stepped_control || network_cap) FROM rollout_plan)
          || (SELECT group_concat(id || name || kind || scope) FROM token)
        """
      ) { $0.get(0, as: String.self) }
    }
    #expect(try row(replica.database) == row(database))
    #expect(try row(database).allSatisfy { $0.contains("seed13.01.0500") })
    // The own rows went with them: of the blob that was deleted, and of the one in quarantine.
    #expect(try replica.database.value(Int.self, "SELECT count(*) FROM blob_check") == 0)
    #expect(
      try replica.database.all("SELECT token_id FROM token_use") { $0.get(0, as: String.self) } == [
        "11111111"
      ])
  }

  // MARK: - What is recorded

  /// Rows of every table of acts, with values in all columns and in the needed ones alone, are inserted, changed and deleted. Rules are
  /// off: this is about tables, whatever acts write them.
  @Test func everyTableOfActsIsCarried() throws {
    let (store, replica) = try pair()
    func value(_ type: String, _ number: Int) -> String {
      switch type {
      case "INTEGER": "\(number)"
      // Also whole numbers, which are stored as integers.
      case "REAL": number.isMultiple(of: 2) ? "\(number).5" : "\(number).0"
      case "BLOB": "CAST('b\(number)' AS BLOB)"
      default: "'t\(number)'"
      }
    }
    try replica.copy.database.script("PRAGMA ignore_check_constraints = ON")
    try store.connections.writing { (db) throws(StoreError) in
      try db.script("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
      _ = xcache_sqlite_config(db.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    }
    for changes in [false, true] {
      try store.connections.writing { (db) throws(StoreError) in
        for table in RecordedTables.acts.sorted() {
          let columns = try db.all(
            "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?) ORDER BY cid", table
          ) {
            (
              name: $0.get(0, as: String.self), type: $0.get(1, as: String.self),
              isNeeded: $0.get(2, as: Int.self) == 1 || $0.get(3, as: Int.self) > 0,
              isKey: $0.get(3, as: Int.self) > 0
            )
          }
          func key(_ number: Int) -> String {
            columns.filter(\.isKey).map { "\"\($0.name)\" = \(value($0.type, number))" }.joined(
              separator: " AND ")
          }
          if changes {
            let others = columns.filter { !$0.isKey }.map { "\"\($0.name)\" = \(value($0.type, 2_002))" }
            if !others.isEmpty {
              try db.script("UPDATE \(table) SET \(others.joined(separator: ", ")) WHERE \(key(1_002))")
            }
            for number in [1_003, 1_005] { try db.script("DELETE FROM \(table) WHERE \(key(number))") }
          } else {
            for number in 1_001...1_005 {
              let given = columns.filter { $0.isNeeded || number < 1_004 }
              try db.script(
                "INSERT INTO \(table) (\(given.map { "\"\($0.name)\"" }.joined(separator: ", "))) VALUES "
                  + "(\(given.map { value($0.type, number) }.joined(separator: ", ")))")
            }
          }
        }
      }
      let all = replica.take()
      #expect(all.count == 1)
      for one in all {
        #expect(try Set(ChangeReplica.tables(in: one.changeset).keys) == RecordedTables.acts)
        try replica.copy.apply(one)
      }
      // No row here refers to a real one.
      let found = try replica.differences().filter { $0.contains("only in the") }
      #expect(found == [])
    }
  }

  /// What an origin finds out by itself changes nothing of acts.
  @Test func ownKnowledgeIsNotRecorded() throws {
    let (store, replica) = try pair()
    let shop = try store.shop()
    try store.count([PollCount(channel: shop.id, version: 1, polls: 100)])
    let items = try store.nextToScrub(limit: 9).filter { if case .blob = $0.kind { true } else { false } }
    #expect(items.count == 1)
    try store.noteScrubbed(items)
    let problem = ProblemRecord(
      name: ProblemName(channel: shop.id, code: "lagging"), severity: .warning, since: 1)
    #expect(try store.keep(problems: [problem], over: [], waits: true))
    #expect(replica.take().isEmpty)

    // That somebody acknowledges it is an act.
    _ = try store.acknowledgeProblems(
      "lagging", in: (shop.app, shop.name), reason: "is repaired", until: store.now + 1000, by: .local)
    try replica.catchUp()
    #expect(replica.applied == 1)
    #expect(try replica.number("SELECT count(*) FROM main.acknowledgement") == 1)
    #expect(try replica.number("SELECT count(*) FROM main.problem") == 0)
    #expect(try store.keep(problems: [], over: [problem.name], waits: true))
    try replica.catchUp()
    #expect(try replica.number("SELECT count(*) FROM main.acknowledgement") == 0)
    #expect(try replica.differences() == [])
  }

  /// What was committed is recorded, even if the same use of the connection fails later; what was rolled back is not.
  @Test func onlyCommitsAreRecorded() throws {
    let (store, replica) = try pair()
    #expect(throws: StoreError.self) {
      try store.connections.writing { (db) throws(StoreError) in
        try db.write { () throws(StoreError) in
          try db.run("INSERT INTO public_url (id, text) VALUES (7, 'https://seven')")
        }
        try db.write { () throws(StoreError) in
          try db.run("INSERT INTO public_url (id, text) VALUES (8, 'https://eight')")
          try db.run("UPDATE channel SET poll_interval = 60")
          throw .unknownProblem("none")
        }
      }
    }
    let changes = replica.take()
    #expect(try changes.map { try ChangeReplica.tables(in: $0.changeset).keys.sorted() } == [["public_url"]])
    for one in changes { try replica.copy.apply(one) }
    #expect(try replica.differences() == [])
    #expect(try replica.number("SELECT count(*) FROM main.public_url WHERE id >= 7") == 1)
  }

  /// An id that was given and taken back isn't given again, here or there.
  @Test func givenIDsAreCarried() throws {
    let (store, replica) = try pair()
    try store.connections.transaction { (db) throws(StoreError) in
      try db.run("INSERT INTO app (id, name, created_at) VALUES (90, 'gone', 1)")
      try db.run("DELETE FROM app WHERE id = 90")
    }
    let changes = replica.take()
    #expect(changes.map(\.changeset.isEmpty) == [true])
    for one in changes { try replica.copy.apply(one) }
    #expect(try replica.number("SELECT seq FROM main.sqlite_sequence WHERE name = 'app'") == 90)
    #expect(try replica.differences() == [])
  }

  /// Deleting all rows of a table without a condition is recorded row by row.
  @Test func deletingAllRowsIsRecorded() throws {
    let (store, replica) = try pair()
    try store.connections.transaction { (db) throws(StoreError) in
      for digit in ["1", "2", "3"] {
        try db.run(
          "INSERT INTO lease (id, holder, taken_at, expires_at) VALUES (?, 'mirror', 1, 2)",
          String(repeating: digit, count: 32))
      }
    }
    try replica.catchUp()
    #expect(try replica.number("SELECT count(*) FROM main.lease") == 3)
    for _ in 1...2 { try store.connections.transaction { (db) throws(StoreError) in try db.deleteLeases() } }
    try replica.catchUp()
    #expect(try replica.number("SELECT count(*) FROM main.lease") == 0)
    #expect(try replica.differences() == [])
  }

  // MARK: - Own rows of a replica

  @Test func ownRowsGoWithTheRowsTheyAreAbout() throws {
    let (store, replica) = try pair()
    for version in 1...3 {
      try store.publish(base: Int64(version), set: ["a.js": Sample("a\(version)")])
    }
    try replica.catchUp()
    try replica.learn()
    for table in ["device_count", "error_sample", "error_sample_others"] {
      #expect(try replica.number("SELECT count(*) FROM main.\(table)") == 4, "\(table)")
    }
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try store.collect(policy)
    try replica.catchUp()
    #expect(try replica.number("SELECT count(*) FROM main.release") == 1)
    for table in ["device_count", "error_sample", "error_sample_others"] {
      #expect(try replica.number("SELECT count(*) FROM main.\(table) WHERE version = 4") == 1, "\(table)")
      #expect(try replica.number("SELECT count(*) FROM main.\(table)") == 1, "\(table)")
    }
    #expect(try replica.differences() == [])
  }

  /// A blob has a row of its check while its file counts as whole, in each origin at its own time.
  @Test func checksFollowTheirBlobs() throws {
    let (store, replica) = try pair()
    let sha256 = Sample("a").claim.sha256
    let checks = "SELECT count(*) FROM main.blob_check"
    try store.publish(base: 1, set: ["b.js": Sample("b")])
    try replica.catchUp()
    #expect(try replica.number(checks) == 2)
    try store.connections.transaction { (db) throws(StoreError) in
      try BlobRow.markDamaged(sha256, at: 5, in: db)
    }
    try replica.catchUp()
    #expect(try replica.number(checks) == 1)
    #expect(try replica.differences() == [])
    try store.connections.transaction { (db) throws(StoreError) in
      try BlobRow.markWhole(sha256, at: 6, in: db)
    }
    try replica.catchUp()
    #expect(try replica.number(checks) == 2)
    #expect(try replica.differences() == [])
    // Reading it back once more is nobody else's business.
    try store.connections.transaction { (db) throws(StoreError) in try BlobRow.noteRead(sha256, at: 7, in: db)
    }
    #expect(replica.take().isEmpty)
  }

  @Test func unwantedSamplesGoEverywhere() throws {
    let (store, replica) = try pair()
    try replica.learn()
    #expect(try replica.number("SELECT count(*) FROM main.error_sample") == 1)
    try store.connections.transaction { (db) throws(StoreError) in
      try db.run("UPDATE channel SET samples = 0")
    }
    try replica.catchUp()
    #expect(try replica.number("SELECT count(*) FROM main.error_sample") == 0)
    #expect(try replica.number("SELECT count(*) FROM main.error_sample_others") == 0)
    #expect(try replica.number("SELECT count(*) FROM main.device_count") == 1)
  }
}
