import Glibc
import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct MigrationTests {
  let scratch = Scratch()

  private let folder = Repository.root + "/Migrations"

  @Test func embeddedMigrationsEqualTheFiles() throws {
    let names = try Folder.textNames(folder).filter { $0.hasSuffix(".sql") }
    #expect(names == Migrations.embedded.steps.map(\.name))
    for step in Migrations.embedded.steps {
      #expect(try DurableFile.read("\(folder)/\(step.name)") == step.sql)
    }
  }

  @Test func migrationsAreAppliedOnce() throws {
    let path = scratch.path + "/a.db"
    for _ in 1...2 { try Migrations.embedded.apply(to: Database(path: path, .writing)) }
    let db = try Database(path: path, .writing)
    #expect(try db.value(Int.self, "SELECT count(*) FROM migration") == Migrations.embedded.steps.count)
  }

  @Test func failedStepIsRolledBack() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    let broken = Migrations(
      steps: Migrations.embedded.steps + [
        Migrations.Step(name: "9999_broken.sql", sql: Array("CREATE TABLE half (x); SELECT nonsense;".utf8))
      ])
    #expect(throws: StoreError.self) { try broken.apply(to: db) }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name = 'half'") == 0)
    #expect(throws: Never.self) { try Migrations.embedded.apply(to: db) }
  }

  @Test func newerDatabaseIsRefused() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    let newer = Migrations(
      steps: Migrations.embedded.steps + [
        Migrations.Step(name: "9999_later.sql", sql: Array("CREATE TABLE later (x);".utf8))
      ])
    try newer.apply(to: db)
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      if case StoreError.newerDatabase("9999_later.sql") = $0 { true } else { false }
    }
  }

  /// A damaged file may contain a digest of another size.
  @Test(arguments: ["zeroblob(32)", "zeroblob(31)", "zeroblob(33)", "x''"])
  func changedMigrationIsRefused(digest: String) throws {
    let path = scratch.path + "/a.db"
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    try db.script("UPDATE migration SET sha256 = \(digest) WHERE position = 1")
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      guard case StoreError.alteredMigration("0001_origin.sql") = $0, let error = $0 as? StoreError else {
        return false
      }
      return "\(error)".contains("xcache whose 0001_origin.sql differs")
    }
    #expect(throws: StoreError.self) { _ = try Connections(path: path) }
    #expect(throws: StoreError.self) { _ = try Connections(path: path, isSecondary: true) }
  }

  /// The step that rebuilds a referenced table keeps rows, ids and references.
  @Test func contentTypesOfAnOlderDatabaseAreKept() throws {
    let path = scratch.path + "/a.db"
    do {
      let db = try Database(path: path, .writing)
      try Migrations(steps: Array(Migrations.embedded.steps.prefix(9))).apply(to: db)
      try db.script(
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
        INSERT INTO content_type (id, text) VALUES (3, 'text/html'), (7, 'text/css');
        INSERT INTO url (id, channel_id, text) VALUES (1, 1, 'https://h/a'), (2, 1, 'https://h/b');
        INSERT INTO blob (id, sha256, md5, size, stored_at) VALUES (1, zeroblob(32), zeroblob(16), 0, 0);
        INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
          VALUES (1, 1, 1, 3, 1, 1), (2, 1, 1, 7, 1, 1);
        """)
    }
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    let types = try db.all("SELECT id || ' ' || text || ' ' || headers FROM content_type ORDER BY id") {
      $0.get(0, as: String.self)
    }
    #expect(types == ["3 text/html {}", "7 text/css {}"])
    #expect(try db.value(Int64.self, "SELECT content_type_id FROM resource WHERE url_id = 2") == 7)
    #expect(try db.structureFindings(deep: true).isEmpty)
    #expect(throws: StoreError.self) { try db.script("DELETE FROM content_type WHERE id = 7") }
    #expect(throws: StoreError.self) {
      try db.script(
        """
        INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
        VALUES (2, 2, 1, 8, 1, 1)
        """)
    }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'kept%'") == 0)
  }

  /// So does the step for fallbacks, with headers.
  @Test func headersOfAnOlderDatabaseAreKept() throws {
    let path = scratch.path + "/a.db"
    do {
      let db = try Database(path: path, .writing)
      try Migrations(steps: Array(Migrations.embedded.steps.prefix(28))).apply(to: db)
      try db.script(
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
        INSERT INTO content_type (id, text, headers) VALUES (3, 'text/html', '{"X-Frame-Options":"DENY"}'), (7, 'text/html', '{}');
        INSERT INTO url (id, channel_id, text) VALUES (1, 1, 'https://h/a'), (2, 1, 'https://h/b');
        INSERT INTO blob (id, sha256, md5, size, stored_at) VALUES (1, zeroblob(32), zeroblob(16), 0, 0);
        INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
          VALUES (1, 1, 1, 3, 1, 1), (2, 1, 1, 7, 1, 1);
        """)
    }
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    let types = try db.all(
      "SELECT id || ' ' || text || ' ' || headers || ' ' || fallback FROM content_type ORDER BY id"
    ) { $0.get(0, as: String.self) }
    #expect(types == [#"3 text/html {"X-Frame-Options":"DENY"} []"#, "7 text/html {} []"])
    #expect(try db.structureFindings(deep: true).isEmpty)
    let html = "text/html"
    let fallbacks = try PageFallbacks([.init(prefix: "/")])
    #expect(try ContentTypeRow.find(html, EntryHeaders(), PageFallbacks(), isLazy: false, in: db) == 7)
    #expect(try ContentTypeRow.find(html, EntryHeaders(), fallbacks, isLazy: false, in: db) == nil)
    #expect(try ContentTypeRow.findOrInsert(html, EntryHeaders(), fallbacks, isLazy: false, in: db) == 8)
    #expect(throws: StoreError.self) { try db.script("DELETE FROM content_type WHERE id = 3") }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'kept%'") == 0)
  }

  /// Polls that were counted before there were batches come from none.
  @Test func pollsOfAnOlderDatabaseAreKept() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    try Migrations(steps: Array(Migrations.embedded.steps.prefix(30))).apply(to: db)
    try db.script(
      """
      INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
      INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
      INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
      INSERT INTO poll_count (channel_id, hour, version, polls, hours) VALUES (1, 7, 3, 40, 2);
      """)
    try Migrations.embedded.apply(to: db)
    let row = try db.first("SELECT polls, hours, batches, squares FROM poll_count") {
      [$0.get(0, as: Double.self), $0.get(1), $0.get(2), $0.get(3)]
    }
    #expect(row == [40, 2, 0, 0])
    #expect(throws: StoreError.self) { try db.script("UPDATE poll_count SET batches = -1") }
    #expect(throws: StoreError.self) { try db.script("UPDATE poll_count SET squares = -1") }
  }

  /// Tokens keep their rights, and what waits counts as theirs.
  @Test func tokensOfAnOlderDatabaseAreKept() throws {
    let path = scratch.path + "/a.db"
    let columns =
      "id, name, scope, app, channel, created_at, last_used_at, revoked_at, bundles, expires_at, hosts"
    func rows(_ db: Database, _ sql: StaticString) throws -> [String] {
      try db.all(sql) { $0.get(0, as: String.self) }
    }
    let before: [String]
    do {
      let db = try Database(path: path, .writing)
      try Migrations(steps: Array(Migrations.embedded.steps.prefix(31))).apply(to: db)
      try db.script(
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
        INSERT INTO token (\(columns), hash) VALUES
          ('11111111', 'admin', 'admin', NULL, NULL, 1, 2, NULL, NULL, NULL, NULL, zeroblob(32)),
          ('22222222', 'ci', 'publish', 'shop', 'online', 3, NULL, NULL, 'main*', 99, 'a.example', zeroblob(32)),
          ('33333333', 'old', 'publish', 'shop', NULL, 4, NULL, 5, NULL, NULL, NULL, zeroblob(32)),
          ('44444444', 'old', 'read', NULL, NULL, 6, NULL, NULL, NULL, NULL, NULL, zeroblob(32));
        INSERT INTO request_key (token_id, key, request, at, status, answer)
          VALUES ('22222222', '0123456789abcdef', zeroblob(32), 1, 201, x'');
        INSERT INTO scheduled_act
          (id, channel_id, act, summary, due_at, created_at, token_id, author, address, route, request, state, ended_at)
          VALUES (1, 1, 'publish', '', 1, 1, '22222222', 'ci', '', 'releases', x'', 'waiting', NULL),
          (2, 1, 'rollback', '', 1, 1, '22222222', 'ci', '', 'rollback', x'', 'waiting', NULL),
          (3, 1, 'rollout.complete', '', 1, 1, '11111111', 'admin', '', 'rollout/complete', x'', 'waiting', NULL),
          (4, 1, 'publish', '', 1, 1, '22222222', 'ci', '', 'releases', x'', 'done', 2);
        """)
      before = try rows(
        db,
        """
        SELECT json_array(id, name, hex(hash), scope, app, channel, created_at, last_used_at, revoked_at, bundles,
          expires_at, hosts)
        FROM token ORDER BY id
        """)
      #expect(before.count == 4)
    }
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    let after = try rows(
      db,
      """
      SELECT json_array(id, name, hex(hash), scope, app, channel, created_at, last_used_at, revoked_at, bundles,
        expires_at, hosts)
      FROM token LEFT JOIN token_use ON token_id = id ORDER BY id
      """)
    #expect(after == before)
    #expect(try db.structureFindings(deep: true).isEmpty)
    for id in ["11111111", "22222222", "33333333", "44444444"] {
      let token = try #require(try db.token(id)?.token)
      #expect(token.kind == .token && token.identity == nil && token.job == nil && token.more.isEmpty)
      #expect(token.grants.count == 1 && token.authorKey == "token:\(id)")
    }
    let acts = try db.all(
      "SELECT id || ' ' || is_gated || ' ' || approvals || ' ' || ifnull(author_key, '-') FROM scheduled_act ORDER BY id"
    ) { $0.get(0, as: String.self) }
    #expect(
      acts == ["1 1 0 token:22222222", "2 0 0 token:22222222", "3 1 0 token:11111111", "4 0 0 -"])
    #expect(throws: StoreError.self) { try db.script("UPDATE token SET scope = 'root'") }
    #expect(throws: Never.self) { try db.script("UPDATE token SET scope = 'release' WHERE id = '44444444'") }
    #expect(throws: StoreError.self) { try db.script("DELETE FROM token WHERE id = '22222222'") }
  }

  /// What an origin knows for itself is in tables of its own, and says the same as before.
  @Test func ownKnowledgeOfAnOlderDatabaseIsKept() throws {
    try Kernel.makeFolder(scratch.data)
    let path = DataFolder(path: scratch.data).database
    do {
      let db = try Database(path: path, .writing)
      try Migrations(steps: Array(Migrations.embedded.steps.prefix(36))).apply(to: db)
      try db.script(
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
        INSERT INTO blob (id, sha256, md5, size, stored_at, checked_at, quarantined_at) VALUES
          (3, zeroblob(32), zeroblob(16), 4, 10, 30, NULL),
          (5, x'\(String(repeating: "01", count: 32))', zeroblob(16), 6, 20, 20, NULL),
          (7, x'\(String(repeating: "02", count: 32))', zeroblob(16), 8, 5, 5, 40);
        INSERT INTO token (id, name, hash, scope, created_at, last_used_at) VALUES
          ('11111111', 'admin', zeroblob(32), 'admin', 1, 2), ('22222222', 'ci', zeroblob(32), 'read', 3, NULL);
        INSERT INTO problem
          (id, channel_id, code, subject, severity, since, known_by, known_at, known_reason, known_until) VALUES
          (4, 1, 'lagging', 'eu', 'error', 50, 'ana', 60, 'is repaired', 70),
          (6, NULL, 'disk', '', 'warning', 51, NULL, NULL, NULL, NULL);
        """)
    }
    // Also in the database of an older xcache's backup, which isn't migrated.
    #expect(try BackupFolder(scratch.data).checks().map(\.at).sorted() == [20, 30])
    do {
      let db = try Database(path: path, .writing)
      try Migrations.embedded.apply(to: db)
      #expect(try db.structureFindings(deep: true).isEmpty)
      let checks = try db.all("SELECT blob_id || ' ' || checked_at FROM blob_check ORDER BY checked_at") {
        $0.get(0, as: String.self)
      }
      #expect(checks == ["5 20", "3 30"])
      #expect(try BackupFolder(scratch.data).checks().map(\.at).sorted() == [20, 30])
      #expect(try db.token("11111111")?.token.lastUsedAt == 2)
      let unused = try #require(try db.token("22222222")?.token)
      #expect(unused.lastUsedAt == nil)
      #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'kept%'") == 0)
    }
    let store = try scratch.open()
    let state = try store.scrubState()
    #expect(state.files == 2 && state.bytes == 10 && state.oldest == 20 && state.damaged == 1)
    #expect(try store.nextToScrub(limit: 9).map(\.checkedAt) == [20, 30])
    let problems = try store.problems().sorted { $0.since < $1.since }
    #expect(
      problems == [
        ProblemRecord(
          name: ProblemName(channel: 1, code: "lagging", subject: "eu"), severity: .error, since: 50,
          acknowledgement: ProblemAcknowledgement(author: "ana", at: 60, reason: "is repaired", until: 70)),
        ProblemRecord(name: ProblemName(channel: nil, code: "disk"), severity: .warning, since: 51),
      ])
  }

  /// The step for lazy files keeps what it finds, too; nothing is lazy yet.
  @Test func fallbacksOfAnOlderDatabaseAreKept() throws {
    let path = scratch.path + "/a.db"
    do {
      let db = try Database(path: path, .writing)
      try Migrations(steps: Array(Migrations.embedded.steps.prefix(29))).apply(to: db)
      try db.script(
        """
        INSERT INTO app (id, name, created_at) VALUES (1, 'shop', 0);
        INSERT INTO public_url (id, text) VALUES (1, 'http://cdn');
        INSERT INTO channel (id, app_id, name, public_url_id, created_at) VALUES (1, 1, 'online', 1, 0);
        INSERT INTO content_type (id, text, headers, fallback)
          VALUES (3, 'text/html', '{"X-Frame-Options":"DENY"}', '[{"prefix":"/"}]'), (7, 'text/css', '{}', '[]');
        INSERT INTO url (id, channel_id, text) VALUES (1, 1, 'https://h/a'), (2, 1, 'https://h/b');
        INSERT INTO blob (id, sha256, md5, size, stored_at) VALUES (1, zeroblob(32), zeroblob(16), 0, 0);
        INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
          VALUES (1, 1, 1, 3, 1, 1), (2, 1, 1, 7, 1, 1);
        """)
    }
    let db = try Database(path: path, .writing)
    try Migrations.embedded.apply(to: db)
    let types = try db.all(
      "SELECT id || ' ' || text || ' ' || headers || ' ' || fallback || ' ' || lazy FROM content_type ORDER BY id"
    ) { $0.get(0, as: String.self) }
    #expect(
      types == [#"3 text/html {"X-Frame-Options":"DENY"} [{"prefix":"/"}] 0"#, "7 text/css {} [] 0"])
    #expect(try db.structureFindings(deep: true).isEmpty)
    let (css, headers, fallbacks) = ("text/css", EntryHeaders(), PageFallbacks())
    #expect(try ContentTypeRow.find(css, headers, fallbacks, isLazy: false, in: db) == 7)
    #expect(try ContentTypeRow.find(css, headers, fallbacks, isLazy: true, in: db) == nil)
    #expect(try ContentTypeRow.findOrInsert(css, headers, fallbacks, isLazy: true, in: db) == 8)
    #expect(try ContentTypeRow.findOrInsert(css, headers, fallbacks, isLazy: true, in: db) == 8)
    #expect(throws: StoreError.self) { try db.script("DELETE FROM content_type WHERE id = 7") }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'kept%'") == 0)
  }

  @Test func databaseOfAnotherProgramIsLeftUnchanged() throws {
    let db = try Database(path: scratch.path + "/a.db", .writing)
    try db.script("CREATE TABLE notes (x)")
    #expect { try Migrations.embedded.apply(to: db) } throws: {
      if case StoreError.foreignDatabase = $0 { true } else { false }
    }
    #expect(try db.value(Int.self, "SELECT count(*) FROM sqlite_schema") == 1)
  }
}
