/// Which tables acts write, and which ones each origin keeps for itself.
///
/// Every table is on one side. A changeset compares the old values of a row that it deletes or changes, so what acts write is the same in
/// all origins, down to the last column. What an origin finds out without an act (what it counted, read, saw) differs between origins, so
/// it lies in other tables, which no table of acts refers to.
enum RecordedTables {
  /// What acts write, and what jobs write that only one origin does at a time, since another one goes on where it ended.
  static let acts: Set<String> = [
    "acknowledgement", "act_count", "app", "approval", "audit", "blob", "broken_glass", "bundle",
    "bundle_content",
    "candidate_prefetch", "channel", "content_type", "default_app", "document", "document_counter",
    "document_end",
    "entry", "freeze", "identity", "lease", "mirror", "mirror_version", "origin", "page_picture", "pin",
    "planned_freeze",
    "policy_script", "prefetch_statement", "public_url", "purge", "purged_url", "release", "release_bundle",
    "release_source", "release_statement", "request_key", "resource", "rollout", "rollout_plan",
    "scheduled_act",
    "scheduled_blob", "scheduled_statement", "scheduled_version", "source_map", "token", "trust_floor",
    "trust_root",
    "url", "used_id_token", "webhook",
    // Jobs: gc, heads, late mirrors, pushes to a CDN, purges, messages to webhooks.
    "collection_wait", "head", "late_mirror", "push_place", "pushed_resource", "purge_work",
    "webhook_delivery",
  ]

  /// What each origin knows for itself.
  static let own: Set<String> = [
    // When it read a file back, and when it saw a token used.
    "blob_check", "token_use",
    // What devices told it, and through which day it took hours together.
    "poll_count", "failure_count", "failure_hour", "device_count", "error_sample", "error_sample_others",
    "counted_day",
    // What devices told it of rollouts, and the keys that make their networks unknown: those are to be forgotten, and a log isn't.
    "evidence_hour", "evidence_key", "evidence_network",
    // Its disk, and what it found to need attention.
    "disk_hour", "problem",
    // When it brought its schema up to date.
    "migration",
  ]

  /// What keeps changesets from saying everything that acts write in a database; empty if nothing does.
  ///
  /// SQLite's session extension passes over all of this without a word.
  static func findings(in database: Database) throws(StoreError) -> [String] {
    let known = try names(in: database)
    var findings = known.subtracting(acts.union(own)).sorted().map {
      "table \($0) is neither of acts nor an origin's own"
    }
    findings += acts.union(own).subtracting(known).sorted().map { "table \($0) is missing" }
    for table in acts.intersection(known).sorted() {
      let shape = try TableShape(table, in: database)
      // "Changes can only be recorded for tables that have a PRIMARY KEY", and "are not recorded for individual rows that have NULL
      // values stored in one or more of their PRIMARY KEY columns" (sqlite.org/session/sqlite3session_attach.html).
      if shape.keys.isEmpty { findings.append("table \(table) has no primary key") }
      if shape.hasOptionalKey { findings.append("a column of the primary key of table \(table) may be NULL") }
      // Nothing at all is recorded of such a table (seen with SQLite 3.40.1).
      if shape.isGenerated { findings.append("table \(table) has a generated column") }
      for parent in try parents(of: table, in: database) where own.contains(parent) {
        findings.append("table \(table) of acts refers to an origin's own table \(parent)")
      }
    }
    for table in own.intersection(known).sorted() where try isNumbered(table, in: database) {
      // `sqlite_sequence` is carried as a whole.
      findings.append("an origin's own table \(table) has AUTOINCREMENT")
    }
    return findings
  }

  /// The names of a database's tables, without SQLite's own.
  static func names(in database: Database) throws(StoreError) -> Set<String> {
    Set(
      try database.all(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
      ) { $0.get(0, as: String.self) })
  }

  private static func parents(of table: String, in database: Database) throws(StoreError) -> [String] {
    try database.all("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?) ORDER BY 1", table) {
      $0.get(0, as: String.self)
    }
  }

  private static func isNumbered(_ table: String, in database: Database) throws(StoreError) -> Bool {
    try database.value(
      Int64.self, "SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE type = 'table' AND name = ?",
      table) == 1
  }
}

/// What a changeset has to know of a table.
struct TableShape: Hashable {
  /// The number of columns.
  let columns: Int
  /// The columns of the primary key, in the order of the table's columns.
  let keys: [Int]
  /// Whether a column of the primary key may be NULL.
  var hasOptionalKey = false
  /// Whether a column is generated.
  var isGenerated = false

  init(columns: Int, keys: [Int]) { (self.columns, self.keys) = (columns, keys) }

  /// Reads the shape of a table; one that is missing has no columns.
  init(_ table: String, in database: Database) throws(StoreError) {
    let rows = try database.all(
      "SELECT type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid", table
    ) {
      (
        type: $0.get(0, as: String.self), isNeeded: $0.get(1, as: Int.self) == 1,
        isKey: $0.get(2, as: Int.self) > 0,
        isHidden: $0.get(3, as: Int.self) != 0
      )
    }
    columns = rows.count
    keys = rows.indices.filter { rows[$0].isKey }
    // The row id is never NULL: "INTEGER PRIMARY KEY" is another name of it.
    let isRowID = keys.count == 1 && keys.allSatisfy { rows[$0].type == "INTEGER" }
    hasOptionalKey = !isRowID && keys.contains { !rows[$0].isNeeded }
    isGenerated = rows.contains { $0.isHidden }
  }
}
