import Glibc
import Testing
import Values

/// The audit trail, and the detection of changes made to it.
@Suite("The audit trail") struct AuditTests {
  private static func run(_ site: Site, _ words: String...) throws -> Outcome {
    try Outcome(try site.start(words))
  }

  /// Performs acts of most kinds, and returns the receipts that were printed.
  private static func history(_ site: Site) throws -> [String] {
    try site.scratch.write("xcache.json", #"{"app":"shop"}"#)
    var receipts: [String] = []
    for text in ["1", "2", "3"] {
      receipts.append(try site.publish(["a.js": text])["receipt"]?.string ?? "")
    }
    for words in [
      ["rollback", "--bundle", "main", "--steps", "1"],
      ["promote", "--from", "online", "--to", "test", "--create"],
      ["pin", "2", "the app ships it"], ["channel", "freeze", "--channel", "test", "--reason", "sale"],
      ["token", "create", "ci", "--scope", "publish", "--all-apps", "--expires", "1d"],
      ["unpublish", "--bundle", "main"],
      ["gc", "--keep-versions", "1", "--keep-days", "0"],
    ] {
      let outcome = try Outcome(try site.start(words))
      #expect(outcome.exitCode == 0, "\(words): \(outcome.errors)")
      for line in outcome.output.split(separator: "\n") where line.hasPrefix("receipt ") {
        receipts.append(String(line.dropFirst("receipt ".count)))
      }
    }
    return receipts
  }

  /// Changes the database directly, without the server, as anyone with access to the disk can.
  private static func tamper(_ site: Site, _ sql: String) throws {
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    let drop = ["audit_is_immutable", "audit_stays", "audit_rows_follow"].map { "DROP TRIGGER \($0);" }
      .joined()
    let child = try Child(
      ["sqlite3", site.data + "/xcache.db", drop + sql], environment: ["PATH": "/usr/bin:/bin"],
      in: site.scratch.path)
    #expect(try child.wait() == 0, "\(child.standardError)")
    try site.start()
  }

  @Test(
    "Every act is recorded, releases have receipts, and the trail verifies at the server, from an export and from a copy"
  )
  func intact() throws {
    try Site.with { site in
      let receipts = try Self.history(site)
      #expect(receipts.count == 6 && receipts.allSatisfy { $0.contains(":") })
      let log = try Self.run(site, "audit", "log", "--limit", "100", "--json")
      let acts = try JSONValue.parse(Array(log.output.utf8))["rows"]?.array?.compactMap { $0["act"]?.string }
      #expect(
        acts?.reversed() == [
          "token.create", "publish", "publish", "publish", "rollback", "promote", "pin", "channel.freeze",
          "token.create", "unpublish", "gc", "gc.files",
        ])
      let against = receipts.flatMap { ["--against", $0] }
      let verified = try Outcome(try site.start(["audit", "verify"] + against))
      #expect(verified.exitCode == 0 && verified.output.contains("row 5 matches the receipt"))
      #expect(verified.output.contains("intact: 12 rows, receipt 12:"), "\(verified.output)")

      let export = try Self.run(site, "audit", "export")
      let file = try site.scratch.write("trail.jsonl", export.output)
      #expect(try Outcome(try site.start(["audit", "verify", "--file", file] + against)).exitCode == 0)
      let copy = site.scratch.path + "/copy"
      let mirrored = try Self.run(site, "mirror", "--to", copy, "--channel", "test")
      #expect(mirrored.exitCode == 0, "\(mirrored.errors)")
      // The mirror run's lease is an act as well.
      #expect(try site.run("mirror", "verify", copy).output.contains("audit receipt 13:"))
      let held = try Self.run(site, "audit", "verify", "--against", copy)
      #expect(held.exitCode == 0 && held.output.hasPrefix("row 13 matches the receipt\n"))

      let cut = try site.scratch.write(
        "cut.jsonl", export.output.split(separator: "\n").dropLast(3).joined(separator: "\n"))
      #expect(
        try Self.run(site, "audit", "verify", "--file", cut).exitCode == 0,
        "truncation isn't detected by the chain")
      let shown = try Self.run(site, "audit", "verify", "--file", cut, "--against", copy)
      #expect(shown.exitCode == 3 && shown.output == "row 10 was removed\n", "\(shown.errors)")
      #expect(try Self.run(site, "audit", "verify", "--against", "12:abc").exitCode == 2)
      #expect(try Self.run(site, "audit", "verify", "--file", "none.jsonl").errors.contains("none.jsonl"))
      #expect(try Self.run(site, "audit", "verfy").exitCode == 2)
      let ci = try site.run("token", "create", "reader", "--all-apps", "--no-expiry", "--scope", "read")
        .output.filter { !$0.isWhitespace }
      #expect(try site.run("audit", "log", token: ci).errors.contains("unrestricted admin token"))
    }
  }

  @Test(
    "Verification names the first row that was changed, deleted or moved",
    .enabled(if: Privileges.hasSQLite, "needs the program sqlite3"),
    arguments: [
      ("UPDATE audit SET author = 'somebody' WHERE id = 4", "row 4 was changed"),
      (
        "UPDATE audit SET result = replace(result, '\"version\":\"2\"', '\"version\":\"9\"') WHERE id = 3",
        "row 3"
      ),
      ("UPDATE audit SET at = at + 1 WHERE id IN (3, 7)", "row 3 was changed"),
      ("UPDATE audit SET app = NULL WHERE id = 8", "row 8 was changed"),
      ("DELETE FROM audit WHERE id = 6", "row 6 was removed"),
      ("DELETE FROM audit WHERE id < 3", "row 1 was removed"),
      // Swaps two rows.
      (
        "UPDATE audit SET id = 99 WHERE id = 4; UPDATE audit SET id = 4 WHERE id = 5; UPDATE audit SET id = 5 WHERE id = 99",
        "row 4 was changed"
      ),
      // Deletes one row and renumbers the following ones.
      (
        "DELETE FROM audit WHERE id = 4; UPDATE audit SET id = id + 100 WHERE id > 4; UPDATE audit SET id = id - 101 WHERE id > 100",
        "row 4 was changed"
      ),
    ])
  func tampered(sql: String, says: String) throws {
    try Site.with { site in
      let receipts = try Self.history(site)
      try Self.tamper(site, sql)
      let verified = try Self.run(site, "audit", "verify")
      #expect(
        verified.exitCode == 3 && verified.output.hasPrefix(says), "\(verified.output)\(verified.errors)")
      let json = try Self.run(site, "audit", "verify", "--json", "--against", receipts[0])
      let answer = try JSONValue.parse(Array(json.output.utf8))
      #expect(json.exitCode == 3 && answer["intact"]?.bool == false && answer["row"]?.integer != nil)
    }
  }

  @Test(
    "A truncated trail is detected only with a receipt",
    .enabled(if: Privileges.hasSQLite, "needs the program sqlite3"))
  func cutOff() throws {
    try Site.with { site in
      let receipts = try Self.history(site)
      try Self.tamper(site, "DELETE FROM audit WHERE id > 5")
      #expect(try Self.run(site, "audit", "verify").exitCode == 0)
      // The server continues the trail; its new rows differ from those in the receipts.
      try site.publish(["a.js": "4"])
      let outcome = try Self.run(site, "audit", "verify", "--against", receipts[0], "--against", receipts[4])
      #expect(
        outcome.exitCode == 3 && outcome.output.hasPrefix("row 6 doesn't match the receipt"),
        "\(outcome.output)")
    }
  }
}
