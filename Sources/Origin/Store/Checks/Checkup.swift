import Manifests
import System

/// A finding of a check-up of a data folder.
package struct CheckupFinding: Hashable, Sendable {
  /// The severity.
  package enum Kind: String, Sendable {
    /// A guarantee of the origin is violated.
    case damage
    /// Nothing is wrong, but someone may want to know.
    case note
  }

  /// The severity.
  package let kind: Kind
  /// A stable identifier for programs.
  package let code: String
  /// What was found, and where.
  package let text: String

  static func damage(_ code: String, _ text: String) -> CheckupFinding {
    CheckupFinding(kind: .damage, code: code, text: text)
  }

  static func note(_ code: String, _ text: String) -> CheckupFinding {
    CheckupFinding(kind: .note, code: code, text: text)
  }
}

/// What a check-up checked, and what it found.
package struct Checkup: Sendable {
  /// The findings in the order of the checks.
  package internal(set) var findings: [CheckupFinding] = []
  /// The number of kept releases, of all channels.
  package internal(set) var releases = 0
  /// The number of blobs whose files were checked.
  package internal(set) var blobs = 0
  /// The number of rows of the audit trail that are correct from the first on.
  package internal(set) var acts: Int64 = 0
  /// The number of packs whose files were checked.
  package internal(set) var packs = 0
  /// Bytes that were hashed; 0 unless the check-up was deep.
  package internal(set) var hashed: Int64 = 0

  /// The number of pushed files that were looked for.
  package internal(set) var pushed = 0

  /// Adds the files that were pushed to a place and that it lacks, and those there with purged bytes.
  package mutating func add(pushed count: Int, lost: [String], purged: [String], at place: String) {
    pushed = count
    findings += lost.map {
      .damage(
        "pushed-file",
        "\(place) lacks \($0), which was pushed there: `xcache mirror --to \(place)` puts back what it mirrors, and after "
          + "`xcache mirror forget \(place)` releases push what they name again")
    }
    findings += purged.map {
      .damage(
        "purged-file",
        "\(place) has \($0), whose bytes were purged: the server removes it within a minute of its start; purge its URL at the CDN, too"
      )
    }
  }

  /// Whether all guarantees hold.
  package var isClean: Bool { !findings.contains { $0.kind == .damage } }
}

extension Store {
  /// Checks whether everything holds that an origin guarantees; changes nothing.
  ///
  /// - Parameters:
  ///   - deep: whether to also hash every blob and every file made of blobs, check all of SQLite's file and recompute the digest of every kept version.
  ///   - progress: called with how much of a step is done, and of how much.
  package func checkup(
    deep: Bool, progress: (_ step: String, _ done: Int64, _ all: Int64) -> Void = { _, _, _ in }
  ) throws(StoreError) -> Checkup {
    var checkup = Checkup()
    var isTorn = false
    try connections.reading { (db) throws(StoreError) in
      progress("database", 0, 1)
      checkup.findings += try db.structureFindings(deep: deep)
      // Rows of a damaged file may be anything; querying them would only confuse.
      if !checkup.isClean {
        isTorn = true
        return
      }
      for rule in Invariant.all {
        checkup.findings += try db.all(rule.breaches) { (row) in
          .damage(rule.code, "\(rule.message): \(row.get(0, as: String.self))")
        }
      }
      checkup.findings += try db.scriptFindings()
    }
    // A broken rule doesn't stop the other checks.
    if isTorn { return checkup }
    try checkAudit(&checkup, progress)
    try checkDigests(deep: deep, &checkup, progress)
    try checkBlobs(deep: deep, &checkup, progress)
    if let obstacle = reserve.obstacle {
      checkup.findings.append(
        .note(
          "reserve",
          "\(reserve.path) is \(obstacle), so no space is reserved for a full disk; remove it, and the next start creates it again"
        ))
    }
    try noteOrphans(&checkup)
    try confirmPurged(&checkup)
    try notePacks(deep: deep, &checkup)
    checkup.findings += try trustFindings()
    if deep { try checkDerived(&checkup, progress) }
    return checkup
  }

  /// Drops the finding of purged bytes if it was that of a purge under way: its row comes before the bytes go.
  private func confirmPurged(_ checkup: inout Checkup) throws(StoreError) {
    guard let rule = Invariant.all.first(where: { $0.code == "purged" }) else { return }
    for _ in 0..<20 where checkup.findings.contains(where: { $0.code == rule.code }) {
      Clock.sleep(for: .milliseconds(100))
      let isOver = try connections.reading { (db) throws(StoreError) in
        try db.all(rule.breaches) { _ in true }.isEmpty
      }
      if isOver { checkup.findings.removeAll { $0.code == rule.code } }
    }
  }

  /// Verifies the audit trail; reports the first row that is wrong.
  private func checkAudit(_ checkup: inout Checkup, _ progress: (String, Int64, Int64) -> Void)
    throws(StoreError)
  {
    progress("audit trail", 0, 1)
    let (found, head) = try verifyAudit()
    checkup.acts = head.row
    guard let found else { return }
    checkup.findings.append(
      .damage(
        "audit-chain",
        "audit trail: \(found); rows up to \(head.row) are intact; compare the rest with an export or a backup"
      ))
  }

  /// Compares the digests that releases recorded with those computed from the rows: of the newest releases, or of all.
  private func checkDigests(
    deep: Bool, _ checkup: inout Checkup, _ progress: (String, Int64, Int64) -> Void
  ) throws(StoreError) {
    for channel in try channels() {
      let versions = try keptVersions(of: channel)
      checkup.releases += versions.count
      let asked = deep ? versions : versions.suffix(1)
      for (index, version) in asked.enumerated() {
        progress("manifests", Int64(index), Int64(asked.count))
        do {
          guard let recorded = try digest(channel, at: version),
            try digestByQuery(channel, at: version) != recorded
          else { continue }
          checkup.findings.append(
            .damage("manifest-digest", "\(channel.app) \(channel.name) version \(version) has another digest")
          )
        } catch .unknownVersion {
          // Removed meanwhile by a running server.
          continue
        }
      }
    }
  }

  private func checkBlobs(
    deep: Bool, _ checkup: inout Checkup, _ progress: (String, Int64, Int64) -> Void
  ) throws(StoreError) {
    let all = try connections.reading(BlobFile.good)
    let bytes = all.reduce(0) { $0 + $1.size }
    var done: Int64 = 0
    for file in all {
      checkup.blobs += 1
      if let problem = try blobs.problem(file.sha256, size: file.size, deep: deep),
        try blobs.isGood(file.sha256)
      {
        checkup.findings.append(.damage("blob-bytes", "\(folder.blob(file.sha256)) \(problem)"))
      }
      done += file.size
      if deep {
        checkup.hashed += file.size
        progress("files", done, bytes)
      }
    }
  }

  private func noteOrphans(_ checkup: inout Checkup) throws(StoreError) {
    var orphans = 0
    for sha256 in try blobs.files() where try blobs.row(of: sha256) == nil { orphans += 1 }
    if orphans > 0 {
      checkup.findings.append(
        .note(
          "orphans", "\(orphans) files under \(folder.blobs) belong to no release; `xcache gc` removes them"))
    }
    let aside = try connections.reading(BlobRow.damaged)
    if aside > 0 {
      checkup.findings.append(
        .note("quarantine", "\(aside) damaged files were set aside in \(folder.quarantine)"))
    }
  }

  /// Packs are only noted, because they can be rebuilt: a damaged one is found at its next use.
  private func notePacks(deep: Bool, _ checkup: inout Checkup) throws(StoreError) {
    let (count, bad) = try badPacks(deep: deep)
    checkup.packs = count
    checkup.findings += bad.map {
      .note("pack", "the pack \($0) is damaged; it is dropped when it is requested")
    }
  }

  /// Compares the compressed bodies, deltas and zips with what they were when they were made.
  private func checkDerived(_ checkup: inout Checkup, _ progress: (String, Int64, Int64) -> Void)
    throws(StoreError)
  {
    // The `derived.db` of an older xcache may have no such table.
    guard let files = try? derived.files().filter({ PackFile($0.name) == nil }) else { return }
    let bytes = files.clampedSum(\.size)
    var done: Int64 = 0
    for file in files {
      // A file that is gone is made again.
      if try derived.isWrong(file.name) {
        let text = "\(folder.derived)/\(file.name) has other bytes than those made"
        checkup.findings.append(
          isBody(file.name)
            ? .damage(
              "derived-bytes",
              text + ": restart the server, which checks each file that it opens and makes this one again")
            : .note("derived-bytes", text + "; it is dropped when it is requested, or by the server's scrub"))
      }
      done = done.addingClamped(file.size)
      progress("derived files", done, bytes)
    }
    checkup.hashed = checkup.hashed.addingClamped(bytes)
  }

  /// Whether a file under `derived/` is a compressed body, which browsers get too; what deltas and zips bring is verified.
  private func isBody(_ name: String) -> Bool { !name.hasSuffix(".dcz") && !name.hasSuffix(".zip") }

  /// The kept versions of a channel, oldest first.
  package func keptVersions(of channel: ChannelInfo) throws(StoreError) -> [ManifestVersion] {
    try connections.reading { (db) throws(StoreError) in try db.versions(of: channel.id) }
  }
}

extension Database {
  /// Scripts whose bytes don't match their name.
  func scriptFindings() throws(StoreError) -> [CheckupFinding] {
    try all("SELECT sha256, bytes FROM policy_script") { row in
      (sha256: row.get(0, as: SHA256.self), bytes: row.get(1, as: [UInt8].self))
    }
    .filter { SHA256.of($0.bytes) != $0.sha256 }
    .map { .damage("script-bytes", "the script \($0.sha256.hex) has other bytes than its name says") }
  }

  /// Kept manifests whose rows don't result in the digest that their release recorded, in words.
  func digestFindings() throws(StoreError) -> [String] {
    var found: [String] = []
    for channel in try channels() {
      let releases = try all(
        "SELECT version, digest FROM release WHERE channel_id = ? ORDER BY version", channel.id
      ) { (version: ManifestVersion($0.get(0)), digest: $0.get(1, as: SHA256.self)) }
      for release in releases
      where try digest(of: channel, at: release.version, with: []) != release.digest {
        found.append("\(channel.app) \(channel.name) version \(release.version) has another digest")
      }
    }
    return found
  }

  /// The findings of SQLite's own checks of the file's structure and of foreign keys.
  func structureFindings(deep: Bool) throws(StoreError) -> [CheckupFinding] {
    // "PRAGMA quick_check is like integrity_check except that it does not verify UNIQUE constraints and does not
    // verify that index content matches table content."
    let words =
      deep
      ? try all("PRAGMA integrity_check(20)") { $0.get(0, as: String.self) }
      : try all("PRAGMA quick_check(20)") { $0.get(0, as: String.self) }
    var findings = words.filter { $0 != "ok" }.map { CheckupFinding.damage("sqlite", $0) }
    findings += try all("PRAGMA foreign_key_check") { row in
      .damage(
        "foreign-key",
        "a row of \(row.get(0, as: String.self)) names one of \(row.get(2, as: String.self)) that doesn't exist"
      )
    }.prefix(20)
    return findings
  }
}
