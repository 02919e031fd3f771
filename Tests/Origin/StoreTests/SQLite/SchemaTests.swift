import Testing
import TestSupport

@testable import Store

/// Each rule is broken once by plain SQL; the database itself must refuse.
@Suite struct SchemaTests {
  let scratch = Scratch()

  /// The rows that the statements below refer to.
  ///
  ///     channel 1 (app 1), versions 1 to 3; bundles 1 `one`, 2 `two`, 3 `three`
  ///     url 1 `a.js`: resource 1 (until 2), resource 3; url 2 `b.js`: resource 2; url 3 `%62.js` never live now
  private func database() throws -> Database {
    do {
      let store = try scratch.open()
      // Blobs of one release are numbered by their sha256: 1 is that of `a.js`.
      try store.publish("one", base: 0, set: ["a.js": Sample("b"), "b.js": Sample("a")])
      try store.publish("one", base: 1, set: ["a.js": Sample("a2")])
      try store.publish("two", base: 0, set: ["c.js": Sample("c")])
    }
    let db = try Database(path: DataFolder(path: scratch.data).database, .writing)
    try db.script(
      """
      INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (1, 'test', 1, 0);
      INSERT INTO url (channel_id, text) VALUES (2, 'https://m.example.com/elsewhere.js');
      INSERT INTO url (channel_id, text, match_key)
        VALUES (1, 'https://m.example.com/%62.js', 'https://m.example.com/b.js');
      INSERT INTO resource (url_id, version, blob_id, content_type_id, public_url_id, brought_in)
        VALUES ((SELECT id FROM url WHERE match_key IS NOT NULL), 1, 1, 1, 1, 3);
      """)
    return db
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let rule: String
    let sql: String
    var testDescription: String { sql }

    init(_ rule: String, _ sql: String) {
      self.rule = rule
      self.sql = sql
    }
  }

  private static let newRelease = """
    INSERT INTO release (channel_id, version, kind, at, author, message, digest, added, changed, removed,
      new_bytes, resources, bytes)
    """
  private static let digest = "x'\(String(repeating: "00", count: 32))'"
  private static let session =
    "INSERT INTO token (id, name, hash, created_at, expires_at, kind, issuer, subject, identity)"
  private static let identity = "INSERT INTO identity (name, issuer, subject, audience, scope, created_at)"
  private static let act = """
    INSERT INTO scheduled_act
      (id, channel_id, act, summary, due_at, created_at, token_id, author, address, route, request, state, author_key)
    VALUES (1, 1, 'publish', 's', 1, 1, 't', 'ci', '', 'releases', x'', 'waiting', 'token:t')
    """
  private static let four =
    "\(newRelease) VALUES (1, 4, 'publish', 9e15, '', '', \(digest), 0, 0, 0, 0, 0, 0);"
    .replacing("9e15", with: "9000000000000000")

  @Test(arguments: [
    Case("UNIQUE", "INSERT INTO app (name, created_at) VALUES ('SHOP', 0)"),
    Case("CHECK", "INSERT INTO app (name, created_at) VALUES ('Delta', 0)"),
    Case("CHECK", "INSERT INTO app (name, created_at) VALUES ('1shop', 0)"),
    Case("CHECK", "INSERT INTO app (name, created_at) VALUES ('sh op', 0)"),
    Case("cannot store", "INSERT INTO app (name, created_at) VALUES ('shop2', 'now')"),
    Case("CHECK", "INSERT INTO default_app (one, app_id) VALUES (2, 1)"),
    Case("CHECK", "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (1, 'A', 1, 0)"),
    Case(
      "UNIQUE", "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (1, 'online', 1, 0)"),
    Case(
      "FOREIGN KEY", "INSERT INTO channel (app_id, name, public_url_id, created_at) VALUES (9, 'x', 1, 0)"),
    Case("only rises", "UPDATE channel SET least_next = 5; UPDATE channel SET least_next = 4"),
    Case("UNIQUE", "INSERT INTO url (channel_id, text) VALUES (1, 'https://m.example.com/a.js')"),
    Case("CHECK", "INSERT INTO url (channel_id, text, match_key) VALUES (1, 'https://x/', 'https://x/')"),
    Case("never changes", "UPDATE url SET text = 'https://x/' WHERE id = 1"),
    Case("never changes", "UPDATE url SET versions = 0 WHERE id = 1"),
    Case("CHECK", "INSERT INTO blob (sha256, md5, size, stored_at) VALUES (x'00', x'00', 1, 0)"),
    Case("never changes", "UPDATE blob SET size = 99 WHERE id = 1"),
    Case("FOREIGN KEY", "DELETE FROM blob WHERE id = 1"),
    Case("UNIQUE", "INSERT INTO content_type (text) SELECT text FROM content_type WHERE id = 1"),
    Case("CHECK", "INSERT INTO content_type (text, headers) VALUES ('text/x', '[]')"),
    Case("CHECK", "INSERT INTO content_type (text, fallback) VALUES ('text/x', '{}')"),
    Case("CHECK", "INSERT INTO content_type (text, lazy) VALUES ('text/x', 2)"),
    Case("never changes", "UPDATE content_type SET fallback = '[{}]' WHERE id = 1"),
    Case("never changes", "UPDATE content_type SET lazy = 1 WHERE id = 1"),
    Case("never changes", "UPDATE content_type SET headers = '{\"a\":\"b\"}' WHERE id = 1"),
    Case("FOREIGN KEY", "DELETE FROM content_type WHERE id = 1"),
    Case("never changes", "UPDATE resource SET blob_id = 2 WHERE id = 1"),
    Case("FOREIGN KEY", "INSERT INTO resource VALUES (NULL, 1, 3, 99, 1, 1, 3)"),
    Case("rise by one", "INSERT INTO resource VALUES (NULL, 1, 4, 2, 1, 1, 3)"),
    Case("one content", "INSERT INTO resource VALUES (NULL, 1, 1, 2, 1, 1, 3)"),
    Case("old resource version", "INSERT INTO resource VALUES (NULL, 1, 3, 1, 1, 1, 3)"),
    Case("UNIQUE", "INSERT INTO resource VALUES (NULL, 1, 1, 1, 1, 1, 3)"),
    Case(
      "only rise", "\(newRelease) VALUES (1, 3, 'publish', 9000000000000000, '', '', \(digest), 0,0,0,0,0,0)"),
    Case(
      "only rise", "\(newRelease) VALUES (1, 2, 'publish', 9000000000000000, '', '', \(digest), 0,0,0,0,0,0)"),
    Case(
      "only rise",
      """
      UPDATE channel SET least_next = 1000 WHERE id = 1;
      \(newRelease) VALUES (1, 4, 'publish', 9000000000000000, '', '', \(digest), 0, 0, 0, 0, 0, 0)
      """),
    Case("go back", "\(newRelease) VALUES (1, 4, 'publish', 1, '', '', \(digest), 0, 0, 0, 0, 0, 0)"),
    Case(
      "CHECK", "\(newRelease) VALUES (1, 4, 'party', 9000000000000000, '', '', \(digest), 0, 0, 0, 0, 0, 0)"),
    Case(
      "CHECK", "\(newRelease) VALUES (1, 4, 'publish', 9000000000000000, '', '', x'00', 0, 0, 0, 0, 0, 0)"),
    Case("never changes", "UPDATE release SET author = 'me'"),
    Case("newest release", "DELETE FROM release_bundle; DELETE FROM release WHERE version = 3"),
    Case("only rises", "UPDATE bundle SET version = 1 WHERE id = 1"),
    Case("own channel", "INSERT INTO release_bundle VALUES (1, 3, 2, 0, 0, 0, 0, 0)"),
    Case("FOREIGN KEY", "INSERT INTO release_bundle VALUES (1, 7, 1, 0, 0, 0, 0, 0)"),
    Case("newest version", "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 2, 2, 3)"),
    Case("newest version", "INSERT INTO entry VALUES (1, 2, 3, 9, 3)"),
    Case("UNIQUE", "\(four) INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 1, 4, 3)"),
    Case("one channel", "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (4, 2, 3, 3)"),
    Case("own URL", "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (2, 2, 3, 3)"),
    Case("equal bytes", "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 2, 3, 1)"),
    Case("match each other", "INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (5, 2, 3, 5)"),
    Case(
      "rise by one",
      "INSERT INTO trust_root (app_id, number, envelope, at, author) VALUES (1, 2, '{}', 0, '')"),
    Case(
      "root stays",
      """
      INSERT INTO trust_root (app_id, number, envelope, at, author) VALUES (1, 1, '{}', 0, '');
      DELETE FROM trust_root
      """),
    Case("set once", "UPDATE channel SET bundles_since = 2 WHERE id = 1"),
    Case(
      "set once",
      """
      UPDATE channel SET bundles_since = 3 WHERE id = 1;
      UPDATE channel SET bundles_since = NULL WHERE id = 1
      """),
    Case(
      "belongs to one",
      """
      UPDATE channel SET bundles_since = 3 WHERE id = 1;
      INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 2, 3, 3)
      """),
    Case(
      "belongs to one",
      """
      INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 2, 3, 3);
      UPDATE channel SET bundles_since = 3 WHERE id = 1
      """),
    Case(
      "follow each other",
      "INSERT INTO bundle_content VALUES (1, 3, NULL); INSERT INTO bundle_content VALUES (1, 2, NULL)"),
    Case(
      "lowers a floor",
      """
      INSERT INTO trust_floor (channel_id, bundle, floor) VALUES (1, 'one', 5);
      UPDATE trust_floor SET floor = 4
      """),
    Case(
      "times of heads",
      "INSERT INTO head VALUES (1, 5, \(digest), '{}'); UPDATE head SET at = 5"),
    Case("ends once", "UPDATE entry SET until = 3 WHERE until = 2"),
    Case("ends once", "UPDATE entry SET until = 99 WHERE url_id = 2"),
    Case("ends once", "UPDATE entry SET until = NULL WHERE until = 2"),
    Case("ends once", "UPDATE entry SET resource_id = 1 WHERE url_id = 1 AND until IS NULL"),
    Case("ends once|CHECK", "UPDATE entry SET until = 3 WHERE since = 3"),
    Case("not deleted", "DELETE FROM entry WHERE url_id = 2"),
    Case(
      "FOREIGN KEY",
      "INSERT INTO request_key VALUES (1, 'nobody', '0123456789abcdef', \(digest), 0, 200, x'')"),
    Case(
      "CHECK",
      "INSERT INTO request_key SELECT 1, id, '0123456789abcde', \(digest), 0, 200, x'' FROM token"),
    Case(
      "UNIQUE",
      """
      INSERT INTO request_key SELECT 1, id, '0123456789abcdef', \(digest), 0, 200, x'' FROM token;
      INSERT INTO request_key SELECT 2, id, '0123456789abcdef', \(digest), 0, 200, x'' FROM token
      """),
    Case(
      "CHECK",
      "INSERT INTO token (id, name, hash, scope, app, channel, created_at, revoked_at) VALUES ('12345678', 't', \(digest), 'root', NULL, NULL, 0, NULL)"
    ),
    Case(
      "UNIQUE",
      "INSERT INTO token (id, name, hash, scope, app, channel, created_at, revoked_at) VALUES ('12345678', 'admin', \(digest), 'admin', NULL, NULL, 0, NULL)"
    ),
    Case(
      "has an end",
      "\(session) VALUES ('12345678', 'ana', \(digest), 0, NULL, 'session', 'https://id', '7', NULL)"),
    Case(
      "CHECK", "\(session) VALUES ('12345678', 'ana', \(digest), 0, 9, 'session', NULL, '7', NULL)"),
    Case(
      "CHECK", "\(session) VALUES ('12345678', 'ana', \(digest), 0, 9, 'session', 'https://id', NULL, NULL)"),
    Case("CHECK", "\(session) VALUES ('12345678', 't', \(digest), 0, 9, 'token', 'https://id', '7', NULL)"),
    Case("CHECK", "\(session) VALUES ('12345678', 'j', \(digest), 0, 9, 'job', 'https://id', '7', NULL)"),
    Case("CHECK", "\(session) VALUES ('12345678', 'a', \(digest), 0, 9, 'bot', 'https://id', '7', NULL)"),
    Case(
      "changes hands",
      """
      \(session) VALUES ('12345678', 'ana', \(digest), 0, 9, 'session', 'https://id', '7', NULL);
      UPDATE token SET subject = '8' WHERE id = '12345678'
      """),
    Case("CHECK", "\(identity) VALUES ('ci', 'https://id', 's', 'a', 'admin', 0)"),
    Case(
      "UNIQUE",
      """
      \(identity) VALUES ('ci', 'https://id', 's', 'a', 'publish', 0);
      \(identity) VALUES ('ci', 'https://id', 's', 'a', 'read', 0)
      """),
    Case(
      "removed once",
      """
      \(identity) VALUES ('ci', 'https://id', 's', 'a', 'publish', 0); UPDATE identity SET removed_at = 5;
      UPDATE identity SET removed_at = NULL
      """),
    Case(
      "removed once",
      """
      \(identity) VALUES ('ci', 'https://id', 's', 'a', 'read', 0); UPDATE identity SET scope = 'publish'
      """),
    Case("FOREIGN KEY", "INSERT INTO used_id_token VALUES (\(digest), 'nobody', 9)"),
    Case(
      "UNIQUE",
      """
      INSERT INTO used_id_token SELECT \(digest), id, 9 FROM token;
      INSERT INTO used_id_token SELECT \(digest), id, 9 FROM token
      """),
    Case("CHECK", "UPDATE channel SET approvals = 10"),
    Case("CHECK", "UPDATE channel SET approval_share = 10001"),
    Case("own act", "\(act); INSERT INTO approval VALUES (1, 'token:t', 't', 'ci', NULL, 1)"),
    Case(
      "UNIQUE",
      """
      \(act); INSERT INTO approval VALUES (1, 'token:u', 'u', 'bob', NULL, 1);
      INSERT INTO approval VALUES (1, 'token:u', 'u', 'bob', NULL, 2)
      """),
    Case(
      "never changes",
      "\(act); INSERT INTO approval VALUES (1, 'token:u', 'u', 'bob', NULL, 1); UPDATE approval SET at = 2"),
  ])
  func databaseRefuses(_ violation: Case) throws {
    let db = try database()
    #expect { try db.script(violation.sql) } throws: { error in
      guard case StoreError.database(let error) = error else { return false }
      let isNamed = violation.rule.split(separator: "|").contains { error.message.contains($0) }
      if !isNamed { Issue.record("\(error.message)") }
      return isNamed
    }
  }

  @Test func rowsAreAsDocumented() throws {
    let db = try database()
    let rows = try db.all("SELECT id, text FROM url ORDER BY id") {
      "\($0.get(0, as: Int64.self)) \($0.get(1, as: String.self))"
    }
    #expect(
      rows == [
        "1 https://m.example.com/a.js", "2 https://m.example.com/b.js", "3 https://m.example.com/c.js",
        "4 https://m.example.com/elsewhere.js", "5 https://m.example.com/%62.js",
      ])
    let resources = try db.all("SELECT url_id FROM resource ORDER BY id") { $0.get(0, as: Int64.self) }
    #expect(resources == [1, 2, 1, 3, 5])
    // A valid statement succeeds, so that the cases fail for their own reason.
    #expect(throws: Never.self) {
      try db.script("INSERT INTO entry (url_id, bundle_id, since, resource_id) VALUES (1, 2, 3, 3)")
    }
  }
}
