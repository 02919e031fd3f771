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
      let known: AppTrust?
      do throws(StoreError) {
        known = try trust(of: app)
      } catch .corruptRow(let row) {
        findings.append(
          .damage(
            "root-damaged",
            "a root of app \(app) can't be read (\(row)), so that its devices get no answers: restore the data folder from a backup"
          ))
        continue
      } catch {
        // An older xcache's database has no such table.
        continue
      }
      guard let trust = known else { continue }
      let root = trust.inForce
      if root.isOff {
        findings.append(
          .note("root-off", "root \(root.number) of app \(app) is off: its devices check no signatures"))
        continue
      }
      findings += spareFindings(app, root)
      findings += try headKeyFindings(app, root)
      findings += try idleFindings(app, trust)
      findings += try damagedFindings(app)
      for channel in all where channel.app == app && channel.version > .none {
        findings += try headFindings(channel)
        findings += try statementFindings(channel)
        findings += try floorFindings(channel)
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

  private func damagedFindings(_ app: AppName) throws(StoreError) -> [CheckupFinding] {
    let count = try connections.reading { (db) throws(StoreError) in
      try db.damagedStatements(ofApp: try db.requiredApp(app))
    }
    if count == 0 { return [] }
    return [
      .damage(
        "statement-damaged",
        "\(count) of the statements of app \(app) can't be read, and devices don't get them; `xcache trust resign --app \(app)` signs "
          + "anew what was signed before, and `xcache publish --sign-for CHANNEL` of its build the rest")
    ]
  }

  private func headFindings(_ channel: ChannelInfo) throws(StoreError) -> [CheckupFinding] {
    let place = "\(channel.app) \(channel.name)"
    if try hasDamagedHead(channel.id) {
      return [
        .damage(
          "head-damaged",
          "the head of \(place) can't be read, so devices take nothing new until a running server signs another one, within the hour"
        )
      ]
    }
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
    if head.at.milliseconds > now.addingClamped(Database.clockTolerance) {
      return [
        .note(
          "head-ahead",
          "the head of \(place) was signed while the clock was ahead: it says \(Timestamp.text(head.at.milliseconds)), and until then "
            + "devices ask for no newer one by themselves; `xcache trust rotate-head --app \(channel.app)` has them forget it"
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
          + "`xcache trust resign --app \(channel.app)` signs again what was signed before, and `xcache publish --sign-for "
          + "\(channel.name)` of its build the rest")
    ]
  }

  /// Notes statements that raise a floor again which a root has lowered.
  private func floorFindings(_ channel: ChannelInfo) throws(StoreError) -> [CheckupFinding] {
    try raisedFloors(of: channel).map { raised in
      let what = raised.bundle.map { "bundle \($0)" } ?? "prefetch configs"
      return .note(
        "floor-raised",
        "a root has set the floor of \(what) in \(channel.app) \(channel.name) to \(raised.named), and the statement of what is live "
          + "raises it to \(raised.floor) again on devices that get it now, which then refuse what is older; "
          + "`xcache trust resign --app \(channel.app)`, or a new release of it, signs it without")
    }
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
