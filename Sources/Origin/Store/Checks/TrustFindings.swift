import Manifests
import System
import Trust
import Values

// What someone should know of an app's root, its keys and its heads. Devices go on with what they hold; only an origin that can't sign
// heads fails in what it promises.
extension Store {
  /// How old a head may be until it is noted, in milliseconds: the origin signs one each day.
  private static let headAge: Int64 = 2 * 86_400_000
  /// For how long a key may have signed nothing until it is noted, in days.
  private static let idleDays: Int64 = 90

  /// Notes on every app with a root.
  func trustFindings() throws(StoreError) -> [CheckupFinding] {
    let all = try channels()
    var findings: [CheckupFinding] = []
    for app in Set(all.map(\.app)).sorted(by: { $0.text < $1.text }) {
      // An older xcache's database has no such table.
      guard let trust = try? trust(of: app) else { continue }
      let root = trust.inForce
      if root.isOff {
        findings.append(
          .note("root-off", "root \(root.number) of app \(app) is off: its devices check no signatures"))
        continue
      }
      findings += spareFindings(app, root)
      findings += try headKeyFindings(app, root)
      findings += try idleFindings(app, trust)
      for channel in all where channel.app == app && channel.version > .none {
        findings += try headFindings(channel)
        findings += try statementFindings(channel)
      }
    }
    return findings
  }

  private func spareFindings(_ app: AppName, _ root: TrustRoot) -> [CheckupFinding] {
    let (keys, threshold) = (root.roots.keys.count, root.roots.threshold)
    guard keys <= threshold else { return [] }
    return [
      .note(
        "root-spare",
        "root \(root.number) of app \(app) has no spare key: it names \(keys), and \(threshold) must sign the next root, so that none "
          + "may be lost; `xcache trust add-root --app \(app)` adds one")
    ]
  }

  private func headKeyFindings(_ app: AppName, _ root: TrustRoot) throws(StoreError) -> [CheckupFinding] {
    let held = Set(try headKeys().map(\.id))
    guard held.isDisjoint(with: root.heads) else { return [] }
    let text =
      "none of the keys for heads that root \(root.number) of app \(app) names is in \(folder.path)/keys: devices get no new head, "
      + "and so take no release, until `xcache trust rotate-head --app \(app)` has named one"
    // A backup leaves them out, or has them encrypted.
    let notes = BackupFolder(folder.path).notes
    let isBackup = try StoreError.disk { () throws(SystemError) in try Kernel.status(notes) != nil }
    return [isBackup ? .note("head-key", text) : .damage("head-key", text)]
  }

  /// Notes keys that sign releases or prefetch configs, and haven't for long: who has them may have gone.
  private func idleFindings(_ app: AppName, _ trust: AppTrust) throws(StoreError) -> [CheckupFinding] {
    let root = trust.inForce
    let before = clock() - Self.idleDays * 86_400_000
    let keys = Set(root.prefetch + root.grants.flatMap(\.signers.keys))
    var findings: [CheckupFinding] = []
    for key in keys.sorted() {
      let since = trust.roots.first { $0.signed.document.keys[key] != nil }?.at.milliseconds
      guard let since, since < before else { continue }
      let last = try connections.reading { (db) throws(StoreError) in try db.lastSignature(of: key, in: app) }
      if let last, last >= before { continue }
      let words = last.map { "has signed nothing since \(Timestamp.text($0))" } ?? "has never signed anything"
      findings.append(
        .note(
          "idle-key",
          "the key \(key) of app \(app) \(words); if nobody needs it, `xcache trust remove-key` takes it away"
        ))
    }
    return findings
  }

  private func headFindings(_ channel: ChannelInfo) throws(StoreError) -> [CheckupFinding] {
    let place = "\(channel.app) \(channel.name)"
    guard let bytes = try headDocument(of: channel),
      let head = try? Signed<TrustHead>(parsing: bytes).document
    else {
      return [.note("head-missing", "\(place) has no head, so devices take nothing new")]
    }
    let now = clock()
    if head.version != channel.full.version {
      return [
        .note(
          "head-behind",
          "the head of \(place) names version \(head.version), and the channel has \(channel.full.version), which devices don't take yet"
        )
      ]
    }
    guard now - head.at.milliseconds > Self.headAge else { return [] }
    let end = Timestamp.text(head.until.milliseconds)
    return [
      .note(
        "head-age",
        "the head of \(place) was signed \(Timestamp.text(head.at.milliseconds)), and a running server signs one each day; devices "
          + (head.until.milliseconds < now
            ? "have reported it as stale since \(end)" : "expect a newer one by \(end)"))
    ]
  }

  private func statementFindings(_ channel: ChannelInfo) throws(StoreError) -> [CheckupFinding] {
    let refused = try bundleTrust(of: channel, at: channel.full.version).compactMap { bundle in
      bundle.problem.map { "\(bundle.bundle) (\($0.rawValue))" }
    }
    if refused.isEmpty { return [] }
    let list = refused.prefix(10).joined(separator: ", ")
    let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
    return [
      .note(
        "unsigned",
        "devices refuse version \(channel.full.version) of \(channel.app) \(channel.name), because of \(list)\(more); "
          + "`xcache trust resign --app \(channel.app)` signs its bundles again")
    ]
  }
}

extension Database {
  /// When a statement that a key has signed was stored last, in milliseconds since 1970; nil if there is none.
  fileprivate func lastSignature(of key: KeyID, in app: AppName) throws(StoreError) -> Int64? {
    guard let id = try AppRow.id(of: app, in: self) else { return nil }
    return try value(
      Int64?.self,
      """
      SELECT max(at) FROM (
        SELECT at FROM release_statement WHERE app_id = ?1 AND instr(keys, ?2) > 0
        UNION ALL SELECT at FROM prefetch_statement WHERE app_id = ?1 AND instr(keys, ?2) > 0)
      """, id, key.text) ?? nil
  }
}
