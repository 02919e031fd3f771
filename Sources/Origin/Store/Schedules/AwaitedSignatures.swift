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
  ///   of the root in force has signed; for the last signature also `frozen` and `authorEnded`, where the release would be refused.
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
      guard act.awaitsSignatures, act.awaited.allSatisfy({ $0.missing == 0 }),
        let due = try db.dueAct(id)
      else { return act }
      // It goes on waiting for approvals: with the last one, the same is checked.
      if !act.awaitsApprovals { try db.requireCarriedOut(act, in: channel, at: time) }
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
    if act.code == ScheduledAct.damaged { throw .scheduleDamaged(act) }
    var added: [KeyID] = []
    for given in signatures {
      let bundle = given.document.bundle
      guard
        let held = try awaited(by: act.id, in: channel.id).compactMap(\.self).first(where: {
          $0.signed.document.bundle == bundle
        }
        ), held.signed.envelope.payload == given.envelope.payload
      else { throw .notAwaited(channel.app, channel.name, act.id, bundle) }
      let signers = given.signers(
        among: trust.releaseKeys, keys: trust.root.keys, by: RememberingVerifier())
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

  /// Refuses the last signature of a release, or the last approval of an act, that would be refused itself: it goes on waiting for that.
  /// - Throws: `frozen`, `authorEnded`.
  func requireCarriedOut(_ act: ScheduledAct, in channel: ChannelInfo, at now: Int64)
    throws(StoreError)
  {
    guard let token = try token(act.token)?.token, token.carriesOutSchedules(at: max(act.due, now)) else {
      throw .authorEnded(act)
    }
    let obeys = try value(
      Int64.self, "SELECT 1 FROM scheduled_act WHERE id = ? AND overrides_freezes = 0", act.id)
    guard obeys != nil else { return }
    // One without a plan may be over by then.
    let freeze =
      if act.due > now { try plannedFreeze(of: channel.id, at: act.due) } else {
        try freeze(of: channel.id, at: now)
      }
    if let freeze { throw .frozen(channel.app, channel.name, freeze) }
  }

  fileprivate func waitingAct(_ id: Int64, of channel: ChannelInfo) throws(StoreError) -> ScheduledAct {
    guard let act = try scheduledAct(id, of: channel.id) else {
      throw .unknownSchedule(channel.app, channel.name, id)
    }
    guard act.state == .waiting else { throw .scheduleOver(act) }
    return act
  }

  /// Keeps the statements of an act that waits for signatures, with those that keys of the root have made.
  func insert(_ statements: [Signed<ReleaseStatement>], awaitedBy act: Int64, in channel: Int64)
    throws(StoreError)
  {
    guard !statements.isEmpty, let trust = try trust(ofChannel: channel) else { return }
    for signed in statements {
      let signers = signed.signers(
        among: trust.releaseKeys, keys: trust.root.keys, by: RememberingVerifier())
      try run(
        "INSERT INTO scheduled_statement (act_id, bundle, envelope) VALUES (?, ?, ?)", act,
        signed.document.bundle.text,
        String(decoding: signed.keeping(signers).envelope.bytes, as: UTF8.self))
    }
  }

  /// Refuses a release that waits for signatures, but which devices would refuse with any.
  /// - Throws: `unsigned`.
  func requireCompletable(_ act: ScheduledAct, in channel: ChannelInfo) throws(StoreError) {
    let refused = act.awaited.compactMap { awaited in
      awaited.problem.map {
        UnsignedBundle(
          channel: channel.name, bundle: awaited.signed.document.bundle,
          content: awaited.signed.document.content, problem: $0)
      }
    }
    if !refused.isEmpty { throw .unsigned(channel.app, refused) }
  }

  fileprivate func replace(_ signed: Signed<ReleaseStatement>, awaitedBy act: Int64) throws(StoreError) {
    try run(
      "UPDATE scheduled_statement SET envelope = ? WHERE act_id = ? AND bundle = ?",
      String(decoding: signed.envelope.bytes, as: UTF8.self), act, signed.document.bundle.text)
  }

  /// The statements of an act that waits for signatures, by bundle, and what the root in force says of them.
  /// - Returns: nil for each that can't be read.
  func awaited(by act: Int64, in channel: Int64) throws(StoreError) -> [AwaitedStatement?] {
    let trust = try trust(ofChannel: channel)
    return try all(
      "SELECT envelope FROM scheduled_statement WHERE act_id = ? ORDER BY bundle", act
    ) { (row) throws(StoreError) in
      guard let signed = try? Stored.signed(row.get(0), as: ReleaseStatement.self) else { return nil }
      let floor = try trust.map { trust throws(StoreError) in
        try self.floor(of: signed.document.bundle.text, in: trust)
      }
      return AwaitedStatement(signed, trust, floor: floor ?? .zero)
    }
  }
}

extension AwaitedStatement {
  /// Why devices would refuse the statement, whoever signs it, or why nobody is asked to: no key of the root in force has signed it.
  private static func problem(
    _ statement: ReleaseStatement, _ signers: [KeyID], floor: Serial, _ root: TrustRoot
  ) -> TrustFailure? {
    if statement.environment != root.environment { return .releasePlace }
    if signers.isEmpty { return .releaseKey }
    return statement.serial < floor ? .releaseFloor : nil
  }
}

extension ChannelTrust {
  /// The keys that sign releases.
  var releaseKeys: Set<KeyID> { Set(root.grants.flatMap(\.signers.keys)) }
}

extension AwaitedStatement {
  /// - Parameter trust: the root in force. Under one that is off, nobody is asked to sign: it is published again, without a key.
  fileprivate init(_ signed: Signed<ReleaseStatement>, _ trust: ChannelTrust?, floor: Serial) {
    guard let trust, !trust.root.isOff else {
      self.init(signed: signed, signers: [], missing: 0, candidates: [], problem: .releaseKey)
      return
    }
    let signers = signed.signers(among: trust.releaseKeys, keys: trust.root.keys, by: RememberingVerifier())
    // URLs aren't looked at: whether a grant covers them is checked before a release may wait, and when it is carried out.
    let groups = trust.root.grants.filter { $0.covers(signed.document.bundle, in: trust.channel) }.map(
      \.signers)
    let missing = groups.map { group in group.threshold - group.keys.count { signers.contains($0) } }
    let fewest = missing.min() ?? 0
    let nearest = zip(groups, missing).filter { $0.1 == fewest }.flatMap(\.0.keys)
    self.init(
      signed: signed, signers: signers, missing: max(0, fewest),
      candidates: fewest > 0 ? Set(nearest).subtracting(signers).sorted() : [],
      problem: Self.problem(signed.document, signers, floor: floor, trust.root))
  }
}

extension Signed<ReleaseStatement> {
  /// Returns the statement with the signatures of these keys alone.
  fileprivate func keeping(_ keys: [KeyID]) throws(StoreError) -> Signed<ReleaseStatement> {
    do throws(TrustFormError) {
      return try Signed(
        Envelope(
          payloadType: envelope.payloadType, payload: envelope.payload,
          signatures: envelope.signatures.filter { keys.contains($0.key) }))
    } catch {
      throw .corruptRow("a statement: \(error)")
    }
  }

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
