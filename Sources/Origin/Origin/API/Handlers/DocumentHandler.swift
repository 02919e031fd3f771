import HTTP
import Manifests
import OriginAPI
import Store
import System
import Values

/// `/apps/{app}/channels/{channel}/prefetch…`, `…/policy…` and `…/settings`.
struct DocumentHandler: APIHandler {
  let context: RequestContext

  // MARK: - Reading

  /// `GET …/prefetch`
  func prefetch() throws -> Response { try show(.prefetch) }
  /// `GET …/policy`
  func policy() throws -> Response { try show(.policy) }
  /// `GET …/prefetch/log`
  func prefetchLog() throws -> Response { try log(.prefetch) }
  /// `GET …/policy/log`
  func policyLog() throws -> Response { try log(.policy) }

  /// `GET …/settings`
  func settings() throws -> Response {
    let channel = try context.channel()
    return .json(ChannelSettings(channel, try store.extras(of: channel)))
  }

  private func show(_ document: ChannelDocument) throws -> Response {
    let channel = try context.channel()
    let record: DocumentRecord? =
      switch try request.versionName("version") {
      case nil: try store.document(document, of: channel)
      case .number(.none): nil
      case .number(let version): try store.document(document, of: channel, at: version.number)
      case .moment(let moment): try store.document(document, of: channel, atMoment: moment)
      }
    return .json(DocumentAnswer(document, record))
  }

  private func log(_ document: ChannelDocument) throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...1000) ?? 50
    let before = try request.version("before")
    let records = try store.log(document, of: channel, limit: limit, before: before?.number)
    return .json(DocumentVersions(versions: records.map(DocumentVersion.init)))
  }

  // MARK: - Changing

  /// `POST …/settings`
  func changeSettings(_ body: ChannelSettingsRequest) throws -> Response {
    let names = try context.names
    var change = SettingsChange()
    change.interval = try Self.number(body.interval, in: AnswerExtras.intervals, "interval", "seconds")
    change.reports = try Self.number(
      body.reports, in: 0...AnswerExtras.allReports, "reports", "of 10,000 batches")
    change.samples = body.samples
    change.hosts = try body.hosts.map { $0.isNull ? nil : try hosts($0) }
    guard change != SettingsChange() else {
      throw Problem.badRequest(
        "nothing to set: give \"interval\" (seconds or null), \"hosts\" (names or null), \"reports\" (of 10,000, or null) or \"samples\" (true or false)"
      )
    }
    if change.reports == 0, context.api.documents.edge != nil {
      _ = try context.channel()
      throw Problem.reportsNeeded
    }
    // A publisher must not be able to lift its own limits.
    if change.hosts != nil { try caller.check(.admin, in: names) }
    return try context.answering { (state: ConfiguredChannel) in
      var settings = ChannelSettings(state.channel, state.extras)
      settings.forgottenSamples = state.forgottenSamples
      return APIAnswer(settings)
    } to: { [change] (record) in
      try context.api.documents.set(change, of: names.app, names.channel, by: actor, record: record)
    }
  }

  /// Reads a setting that is a number or null; nil if it isn't given.
  private static func number(
    _ value: JSONValue?, in allowed: ClosedRange<Int>, _ name: String, _ unit: String
  ) throws -> Int?? {
    guard let value else { return nil }
    if value.isNull { return .some(nil) }
    guard let number = value.integer.flatMap({ Int(exactly: $0) }), allowed.contains(number) else {
      throw Problem.badRequest(
        "\"\(name)\" must be from \(allowed.lowerBound) to \(allowed.upperBound) \(unit), or null for none")
    }
    return .some(number)
  }

  private func hosts(_ value: JSONValue) throws -> HostList? {
    guard let list = value.array, list.allSatisfy({ $0.string != nil }) else {
      throw Problem.badRequest("\"hosts\" must be an array of names, or null for all hosts")
    }
    return try HostList.checked(list.compactMap(\.string))
  }
}

extension HostList {
  /// Returns the hosts that a request names, or nil for all hosts.
  /// - Throws: 400.
  static func checked(_ names: [String]) throws(Problem) -> HostList? {
    do throws(HostListError) {
      return try HostList(names).limit
    } catch {
      throw .badRequest("\"hosts\": \(error)")
    }
  }
}

extension ChannelSettings {
  fileprivate init(_ channel: ChannelInfo, _ extras: ChannelExtras) {
    self.init(interval: extras.interval, hosts: channel.hosts?.names, reports: extras.reports)
    samples = extras.takesSamples
  }
}

extension DocumentVersion {
  init(_ record: DocumentRecord) {
    self.init(
      version: ManifestVersion(record.version), kind: record.kind.rawValue,
      source: record.source.map { ManifestVersion($0) }, at: Moment(milliseconds: record.at),
      author: record.author, message: record.message, manifestVersion: record.manifestVersion,
      rollout: record.rollout)
  }
}

extension DocumentAnswer {
  /// A version with its content; if there is none, the empty document.
  init(_ document: ChannelDocument, _ record: DocumentRecord?) {
    let content = record.map { (try? JSONValue.parse($0.content)) ?? .null }
    let version = record.map(DocumentVersion.init)
    switch document {
    case .prefetch: self.init(version, config: content ?? [])
    case .policy: self.init(version, policy: content ?? .object(Policy.none.json))
    }
  }
}

extension RequestContext {
  /// Changes a document and keeps the answer for retries, unless the change is refused. `complete` adds members to the
  /// answer; `refusal` returns why the change isn't made, once `change` has been called.
  /// - Throws: 409 if it is refused.
  func make(
    _ request: DocumentRequest,
    _ complete: @escaping @Sendable (inout DocumentChangeAnswer) -> Void = { _ in },
    refusal: @escaping @Sendable () -> Problem? = { nil },
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws -> Response {
    @Sendable func answer(_ outcome: DocumentOutcome) throws -> APIAnswer {
      var answer = try outcome.answer(request.document)
      complete(&answer)
      return APIAnswer(answer, answer.changed ? .created : .ok)
    }
    let outcome = try api.documents.change(
      request,
      record: record { outcome in
        refusal() == nil ? (try? answer(outcome)).map { StoredAnswer($0) } : nil
      }, change)
    if let refusal = refusal() { throw refusal }
    preview?.receive(outcome)
    let result = try answer(outcome)
    preview?.receive(result)
    return result.response
  }
}

extension RequestContext {
  /// Makes a prefetch config for a part of the devices, and keeps the answer for retries.
  func make(
    _ request: DocumentRequest, to audience: RolloutAudience, _ content: [UInt8], ifNoRollout: Bool,
    _ complete: @escaping @Sendable (inout DocumentChangeAnswer) -> Void
  ) throws -> Response {
    @Sendable func answer(_ outcome: CandidatePrefetchOutcome) throws -> APIAnswer {
      var answer = try outcome.document.answer(request.document)
      complete(&answer)
      answer.rollout = outcome.channel.rollout.map { RolloutInfo($0) }
      answer.receipt = outcome.release?.receipt?.text
      return APIAnswer(answer, answer.changed ? .created : .ok)
    }
    let record: AnswerRecord<CandidatePrefetchOutcome>? = record {
      (try? answer($0)).map { StoredAnswer($0) }
    }
    if let preview {
      // Nothing is pushed for it.
      let outcome = try store.pushCandidatePrefetch(
        request, to: audience, content, ifNoRollout: ifNoRollout, record: record)
      preview.receive(outcome.document)
      preview.receive(try answer(outcome))
      return try answer(outcome).response
    }
    let outcome = try api.releases.pushCandidatePrefetch(
      request, to: audience, content, ifNoRollout: ifNoRollout, caller: caller, record: record)
    return try answer(outcome).response
  }

  /// What keeps the answer of an act for retries, or ends the scheduled act that it is, in its transaction; nil for neither.
  private func record<Outcome>(_ answer: @escaping @Sendable (Outcome) -> StoredAnswer?)
    -> AnswerRecord<Outcome>?
  {
    if preview != nil { return .trial() }
    if let run { return AnswerRecord(run, answer: answer) }
    return key.map { AnswerRecord($0, answer: answer) }
  }

  /// Makes a change of a document or, where others have to approve it, has it wait for them.
  /// - Parameters:
  ///   - act: what is done, such as `policy.set`.
  ///   - summary: the same in words.
  ///   - body: the request.
  ///   - pins: whether it isn't carried out once the document has changed: then it would undo what its author didn't know of.
  ///   - obeysFreezes: whether a freeze refuses it.
  ///   - make: makes the change.
  func makingOrWaiting<Body: DocumentChangeRequest>(
    _ act: String, _ summary: String, of document: ChannelDocument, _ body: Body, pins: Bool,
    obeysFreezes: Bool, _ make: () throws -> Response
  ) throws -> Response {
    do {
      return try make()
    } catch StoreError.needsApproval where run == nil {
      let channel = try channel()
      var body = body
      let newest = try store.document(document, of: channel)
      if pins, body.ifVersion == nil {
        body.ifVersion = ManifestVersion(try store.highest(document, of: channel)).text
      }
      let route = request.path.dropFirst(4).joined(separator: "/")
      var later = try schedule(
        act, summary, message: body.message ?? "", at: Moment(milliseconds: store.now), route: route,
        JSONValue(encoding: body).canonical)
      (later.isGated, later.obeysFreezes) = (true, obeysFreezes)
      return try scheduling(later) {
        DocumentChangeAnswer(unchanged: newest.map(DocumentVersion.init), scheduled: $0)
      }
    }
  }
}

extension DocumentOutcome {
  /// - Throws: 409 if the change was refused.
  fileprivate func answer(_ document: ChannelDocument) throws -> DocumentChangeAnswer {
    switch self {
    case .conflict(let newest):
      throw Problem(
        .conflict, "if-version",
        "the \(document.rawValue) document changed after that version: \(newest.author) made version \(newest.version)",
        [.init(key: "newest", value: JSONValue(encoding: DocumentVersion(newest)))])
    case .unchanged(let record): DocumentChangeAnswer(unchanged: record.map(DocumentVersion.init))
    case .changed(let record, let replaced, let ended):
      DocumentChangeAnswer(
        made: DocumentVersion(record), replaced: replaced.map(DocumentVersion.init),
        ended: ended.map { RolloutInfo($0) })
    }
  }
}
