import Manifests
import System
import Trust
import Values

// Releases that wait for signatures. The first signer's publish records the release; each further signature is added to its statements, and
// once enough keys have signed them, the release is carried out at its time, or at once.
extension Store {
  /// Adds signatures to the statements of a release that waits for them. Adding one again changes nothing. With the last one its time
  /// counts: it is carried out then, or at once if that is over.
  ///
  /// - Parameters:
  ///   - signatures: the statements, with the signatures to add.
  ///   - id: the scheduled act.
  ///   - app: the app of its channel.
  ///   - name: the channel.
  ///   - actor: who adds them.
  ///   - record: keeps the answer for retries.
  /// - Throws: `unknownSchedule`, `scheduleOver`; `notAwaited` for a statement other than those it waits for; `unsigned` for one that no key
  ///   of the root in force has signed.
  package func sign(
    _ signatures: [Signed<ReleaseStatement>], of id: Int64, in app: AppName, _ name: ChannelName,
    by actor: Actor, record: AnswerRecord<ScheduledAct>? = nil
  ) throws(StoreError) -> ScheduledAct {
    try connections.transaction(keeping: record, now: clock(), isUrgent: true) { (db) throws(StoreError) in
      let channel = try db.required(app, name)
      var act = try db.waitingAct(id, of: channel)
      let added = try db.add(signatures, to: act, in: channel)
      let time = clock()
      if !added.isEmpty {
        let event = AuditEvent(
          "schedule.sign", app: app, channel: name, parameters: ["schedule": .integer(id)],
          result: ["keys": .strings(added.map(\.text))])
        try db.audit(event, by: actor, now: time)
        act = try db.waitingAct(id, of: channel)
      }
      guard !act.awaited.isEmpty, act.awaited.allSatisfy({ $0.missing == 0 }),
        let due = try db.dueAct(id)
      else { return act }
      try db.run(
        "UPDATE scheduled_act SET awaits = NULL, request = ?, due_at = max(due_at, ?) WHERE id = ?",
        ReleaseWithStatements.request(due.request, act.awaited.map(\.signed)), time, id)
      try db.run("DELETE FROM scheduled_statement WHERE act_id = ?", id)
      return try db.waitingAct(id, of: channel)
    }
  }

  /// The request of an act that waits, as it will be carried out.
  /// - Throws: `unknownSchedule`, `scheduleOver`.
  package func waitingRequest(_ id: Int64, of channel: ChannelInfo) throws(StoreError) -> DueAct {
    try connections.reading { (db) throws(StoreError) in
      _ = try db.waitingAct(id, of: channel)
      guard let due = try db.dueAct(id) else { throw .unknownSchedule(channel.app, channel.name, id) }
      return due
    }
  }
}

/// A release request, to which statements are added.
enum ReleaseWithStatements {
  /// Returns a request, a JSON object without statements, with these.
  static func request(_ request: [UInt8], _ statements: [Signed<ReleaseStatement>]) -> [UInt8] {
    var out = request
    // An object that has members ends with its brace.
    out.removeLast()
    out.append(contentsOf: ",\"statements\":".utf8)
    CanonicalJSON.append(.array(statements.map(\.envelope.json)), to: &out)
    out.append(UInt8(ascii: "}"))
    return out
  }
}

extension Database {
  /// Adds signatures to the statements of an act.
  /// - Returns: the keys that are new to it.
  fileprivate func add(
    _ signatures: [Signed<ReleaseStatement>], to act: ScheduledAct, in channel: ChannelInfo
  ) throws(StoreError) -> [KeyID] {
    guard let trust = try trust(ofChannel: channel.id) else { throw .noRoot(channel.app) }
    var added: [KeyID] = []
    for given in signatures {
      let bundle = given.document.bundle
      guard
        let held = try awaited(by: act.id, in: channel.id).first(where: {
          $0.signed.document.bundle == bundle
        }
        ), held.signed.envelope.payload == given.envelope.payload
      else { throw .notAwaited(channel.app, channel.name, act.id, bundle) }
      let signers = given.signers(among: trust.releaseKeys, keys: trust.root.keys, by: SystemVerifier())
      guard !signers.isEmpty else {
        let unsigned = UnsignedBundle(
          channel: channel.name, bundle: bundle, content: given.document.content, problem: .releaseKey)
        throw .unsigned(channel.app, [unsigned])
      }
      let new = signers.filter { !held.signers.contains($0) }
      if new.isEmpty { continue }
      added += new.filter { !added.contains($0) }
      try replace(held.signed.adding(given, by: new), awaitedBy: act.id)
    }
    return added
  }

  fileprivate func waitingAct(_ id: Int64, of channel: ChannelInfo) throws(StoreError) -> ScheduledAct {
    guard let act = try scheduledAct(id, of: channel.id) else {
      throw .unknownSchedule(channel.app, channel.name, id)
    }
    guard act.state == .waiting else { throw .scheduleOver(act) }
    return act
  }

  func insert(_ signed: Signed<ReleaseStatement>, awaitedBy act: Int64) throws(StoreError) {
    try run(
      "INSERT INTO scheduled_statement (act_id, bundle, envelope) VALUES (?, ?, ?)", act,
      signed.document.bundle.text, String(decoding: signed.envelope.bytes, as: UTF8.self))
  }

  fileprivate func replace(_ signed: Signed<ReleaseStatement>, awaitedBy act: Int64) throws(StoreError) {
    try run(
      "UPDATE scheduled_statement SET envelope = ? WHERE act_id = ? AND bundle = ?",
      String(decoding: signed.envelope.bytes, as: UTF8.self), act, signed.document.bundle.text)
  }

  /// The statements of an act that waits for signatures, by bundle, and what the root in force says of them.
  func awaited(by act: Int64, in channel: Int64) throws(StoreError) -> [AwaitedStatement] {
    let trust = try trust(ofChannel: channel)
    return try all(
      "SELECT envelope FROM scheduled_statement WHERE act_id = ? ORDER BY bundle", act
    ) { (row) throws(StoreError) in
      AwaitedStatement(try Stored.signed(row.get(0)), trust)
    }
  }
}

extension ChannelTrust {
  /// The keys that sign releases.
  var releaseKeys: Set<KeyID> { Set(root.grants.flatMap(\.signers.keys)) }
}

extension AwaitedStatement {
  /// - Parameter trust: the root in force; nil, as one that is off, asks for no signatures.
  fileprivate init(_ signed: Signed<ReleaseStatement>, _ trust: ChannelTrust?) {
    guard let trust, !trust.root.isOff else {
      self.init(signed: signed, signers: [], missing: 0, candidates: [])
      return
    }
    let signers = signed.signers(among: trust.releaseKeys, keys: trust.root.keys, by: SystemVerifier())
    // URLs aren't looked at: whether a grant covers them is checked before a release may wait, and when it is carried out.
    let groups = trust.root.grants.filter { $0.covers(signed.document.bundle, in: trust.channel) }.map(
      \.signers)
    let missing = groups.map { group in group.threshold - group.keys.count { signers.contains($0) } }
    let fewest = missing.min() ?? 0
    let nearest = zip(groups, missing).filter { $0.1 == fewest }.flatMap(\.0.keys)
    self.init(
      signed: signed, signers: signers, missing: max(0, fewest),
      candidates: fewest > 0 ? Set(nearest).subtracting(signers).sorted() : [])
  }
}

extension Signed<ReleaseStatement> {
  /// Returns the statement with those signatures of another copy that these keys have made.
  fileprivate func adding(_ other: Signed<ReleaseStatement>, by keys: [KeyID]) throws(StoreError)
    -> Signed<ReleaseStatement>
  {
    var merged = self
    do throws(TrustFormError) {
      for signature in other.envelope.signatures where keys.contains(signature.key) {
        merged = try merged.adding(signature)
      }
    } catch {
      throw .corruptRow("a statement: \(error)")
    }
    return merged
  }
}
