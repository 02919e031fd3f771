import Manifests
import System
import Values

extension Store {
  /// A channel's documents and settings besides its manifest.
  package func extras(of channel: ChannelInfo) throws(StoreError) -> ChannelExtras {
    try connections.reading { (db) throws(StoreError) in try db.extras(of: channel.id) }
  }

  /// All channels with their documents and settings, from one snapshot.
  package func channelsWithExtras() throws(StoreError) -> [(channel: ChannelInfo, extras: ChannelExtras)] {
    try connections.reading { (db) throws(StoreError) in
      var all: [(channel: ChannelInfo, extras: ChannelExtras)] = []
      for channel in try db.channels() { all.append((channel, try db.extras(of: channel.id))) }
      return all
    }
  }

  /// A version of a document, or the newest; nil if there is none.
  /// - Throws: `unknownVersion` for a version that isn't kept, `noVersion` for one that never existed.
  package func document(
    _ document: ChannelDocument, of channel: ChannelInfo, at version: Int64? = nil
  ) throws(StoreError) -> DocumentRecord? {
    try connections.reading { (db) throws(StoreError) in
      guard let version else { return try db.newest(document, of: channel.id) }
      guard let record = try db.document(document, of: channel.id, at: version) else {
        throw try db.absence(of: document, version, of: channel.id)
      }
      return record
    }
  }

  /// The highest version that a document ever had, also as a candidate's only; 0 if there is none.
  package func highest(_ document: ChannelDocument, of channel: ChannelInfo) throws(StoreError) -> Int64 {
    try connections.reading { (db) throws(StoreError) in try db.highest(document, of: channel.id) }
  }

  /// The version of a document that devices had at a time, in milliseconds since 1970; nil if there was none.
  /// - Throws: `unknownDocument` if that version isn't kept.
  package func document(_ document: ChannelDocument, of channel: ChannelInfo, atMoment moment: Int64)
    throws(StoreError) -> DocumentRecord?
  {
    try connections.reading { (db) throws(StoreError) in
      try db.live(document, of: channel.id, at: moment)
    }
  }

  /// The newest `limit` versions of a document below `before`, newest first, without their contents.
  package func log(
    _ document: ChannelDocument, of channel: ChannelInfo, limit: Int = 50, before: Int64? = nil
  ) throws(StoreError) -> [DocumentRecord] {
    try connections.reading { (db) throws(StoreError) in
      try db.documents(document, of: channel.id, before: before ?? .max, limit: max(0, limit))
    }
  }

  /// Makes a new version of a document. An acknowledged change survives power loss.
  ///
  /// - Parameters:
  ///   - request: who changes which document, and why.
  ///   - change: returns the new content, given the newest version; returning the current content, or nil, changes nothing.
  ///   - committed: called after the commit, before anything else can be written, to update a catalog.
  ///   - kept: keeps the answer for retries.
  /// - Throws: `unknownApp`, `unknownChannel`, `foreignHosts`, `frozen`, what `change` throws.
  package func change(
    _ request: DocumentRequest,
    change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?,
    committed: (ChannelInfo, ChannelExtras) -> Void = { _, _ in },
    record kept: AnswerRecord<DocumentOutcome>? = nil
  ) throws(StoreError) -> DocumentOutcome {
    var moved: (ChannelInfo, ChannelExtras)?
    return try connections.transaction(
      keeping: kept, now: clock(), goesFirst: request.document == .policy || request.kind == .rollback,
      then: { _ in if let moved { committed(moved.0, moved.1) } }
    ) { (db) throws(StoreError) in
      let channel = try db.required(request.app, request.channel)
      let newest = try db.newest(request.document, of: channel.id)
      if let limit = request.ifVersion, let newest, newest.version > limit {
        return DocumentOutcome.conflict(newest)
      }
      let content = try change(DocumentReader(db, channel), newest)
      if let content, request.document == .prefetch {
        try HostBounds(channel, token: request.author, request.hosts).check(prefetch: content)
      }
      guard let content, content != newest?.content else {
        return .unchanged(newest)
      }
      let freeze = request.document == .prefetch ? try db.freeze(of: channel.id, at: clock()) : nil
      if let freeze, request.breakGlass == nil { throw .frozen(request.app, request.channel, freeze) }
      try db.requireApproval(of: request, content, after: newest, in: channel, for: kept, now: clock())
      if request.document == .prefetch {
        try db.sign(prefetch: content, in: channel, with: request.statement, by: request.author, now: clock())
      }
      let record = try db.make(
        request, content, after: newest, in: channel, at: channel.full.version, now: clock(),
        more: request.breakGlass.map { [.init(key: "breakGlass", value: .string($0))] } ?? [])
      var now = channel
      if channel.rollout?.prefetch != nil, request.document == .prefetch {
        let actor = Actor(name: request.author, address: request.address)
        now = try db.endOvertakenRollout(
          of: channel, by: actor, breakGlass: request.breakGlass, now: clock())
      }
      try renewHead(after: now, in: db)
      moved = (now, try db.extras(of: channel.id))
      let overtaken =
        request.document == .prefetch ? channel.rollout.flatMap { $0.prefetch == nil ? nil : $0 } : nil
      return .changed(
        record, replaced: newest, ended: overtaken?.with(state: now.rollout == nil ? .completed : .open))
    }
  }

  /// Changes a channel's settings.
  package func set(
    _ change: SettingsChange, of app: AppName, _ name: ChannelName, by actor: Actor = .local,
    committed: (ChannelInfo, ChannelExtras) -> Void = { _, _ in },
    record: AnswerRecord<ConfiguredChannel>? = nil
  ) throws(StoreError) -> ConfiguredChannel {
    try connections.transaction(
      keeping: record, now: clock(), then: { committed($0.channel, $0.extras) }
    ) { (db) throws(StoreError) in
      let before = try db.required(app, name)
      let id = before.id
      let changes = change.difference(from: before, try db.extras(of: id))
      try ChannelRow.set(change, of: id, in: db)
      let forgotten = change.samples == false ? try db.forgetSamples(of: id) : nil
      var result = JSONObject()
      if let changes { result["changes"] = changes }
      if let forgotten { result["forgottenSamples"] = .integer(forgotten) }
      try db.audit(
        AuditEvent(
          "channel.set", app: app, channel: name, parameters: change.members, result: .object(result)),
        by: actor, now: clock())
      return ConfiguredChannel(
        channel: try db.required(app, name), extras: try db.extras(of: id), forgottenSamples: forgotten)
    }
  }

  // MARK: - Scripts

  /// Stores a script, which policies refer to by its hash.
  package func keepScript(_ bytes: [UInt8], for channel: ChannelInfo, by actor: Actor) throws(StoreError)
    -> SHA256
  {
    let sha256 = SHA256.of(bytes)
    try connections.transaction { (db) throws(StoreError) in
      guard try db.keepScript(bytes, sha256, now: clock()) else { return }
      try db.audit(
        AuditEvent(
          "policy.store", app: channel.app, channel: channel.name,
          parameters: ["bytes": .integer(bytes.count), "sha256": .string(sha256.hex)]), by: actor,
        now: clock())
    }
    return sha256
  }

  /// The bytes of a script; nil if none is stored under this hash.
  package func script(_ sha256: SHA256) throws(StoreError) -> [UInt8]? {
    try connections.reading { (db) throws(StoreError) in try db.script(sha256) }
  }
}

/// A change of a channel's settings; nil leaves a setting as it is.
package struct SettingsChange: Hashable, Sendable {
  /// The seconds between polls that devices are asked for; `.some(nil)` removes the setting, also below.
  package var interval: Int??
  /// How many of 10,000 batches of counts devices should send.
  package var reports: Int??
  /// Whether devices send error samples; to switch them off forgets those that are kept.
  package var samples: Bool?
  /// The hosts whose URLs a release may name.
  package var hosts: HostList??

  /// Creates a change of nothing.
  package init() {}

  /// Creates a change of the interval only.
  package init(interval: Int?) { self.interval = .some(interval) }

  /// The audit trail's record of the change.
  var members: JSONValue {
    var members = JSONObject()
    if let hosts { members["hosts"] = hosts.map { .strings($0.names) } ?? .null }
    if let interval { members["interval"] = interval.map { .integer($0) } ?? .null }
    if let reports { members["reports"] = reports.map { .integer($0) } ?? .null }
    if let samples { members["samples"] = .bool(samples) }
    return .object(members)
  }
}

/// A channel with its documents and settings.
package struct ConfiguredChannel: Hashable, Sendable {
  /// The channel.
  package let channel: ChannelInfo
  /// The documents and settings.
  package let extras: ChannelExtras
  /// How many error samples were forgotten, if they were switched off.
  package var forgottenSamples: Int?
}

/// What a change of a document may look up, in the transaction that writes it.
package struct DocumentReader {
  private let db: Database
  /// The channel as read in this transaction.
  package let channel: ChannelInfo

  init(_ db: Database, _ channel: ChannelInfo) {
    self.db = db
    self.channel = channel
  }

  /// A version of one of the channel's documents.
  /// - Throws: `unknownVersion`, `noVersion`.
  package func document(_ document: ChannelDocument, at version: Int64) throws(StoreError) -> DocumentRecord {
    guard let record = try db.document(document, of: channel.id, at: version) else {
      throw try db.absence(of: document, version, of: channel.id)
    }
    return record
  }
}

extension Database {
  /// The error for a version of a document that isn't there.
  fileprivate func absence(
    of document: ChannelDocument, _ version: Int64, of channel: Int64
  ) throws(StoreError) -> StoreError {
    let newest = try highest(document, of: channel)
    return version > newest
      ? .noVersion(ManifestVersion(version), newest: ManifestVersion(newest))
      : .unknownVersion(ManifestVersion(version))
  }
}

extension Database {
  /// Refuses a change on a protected channel that lacks approvals. A rollback waits for none, unless only the devices of a rollout had the
  /// config that it brings back, and neither does a policy by which devices do less: a kill switch, a bypass.
  fileprivate func requireApproval(
    of request: DocumentRequest, _ content: [UInt8], after newest: DocumentRecord?, in channel: ChannelInfo,
    for record: AnswerRecord<DocumentOutcome>?, now: Int64
  ) throws(StoreError) {
    if request.kind == .rollback {
      guard request.document == .prefetch, let source = request.source,
        try candidatePrefetch(of: channel.id, at: source) != nil
      else { return }
    }
    if request.document == .policy {
      let next = Policy(reading: (try? JSONValue.parse(content)) ?? .null)
      if next.isRestriction(of: newest?.policy ?? .none, at: Instant(milliseconds: now)) { return }
    }
    try requireApproval(in: channel, for: record)
  }
}
