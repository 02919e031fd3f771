import HTTP
import Manifests
import OriginAPI
import Store
import Values

/// Changes to a prefetch config.
struct PrefetchHandler: APIHandler {
  let context: RequestContext

  /// `POST …/prefetch`: makes a config the newest version, unless it already is.
  func push(_ body: PrefetchPushRequest) throws -> Response {
    guard let document = body.document else {
      throw Problem.badRequest("\"document\" must be the prefetch config, or only its config array")
    }
    let check = PrefetchCheck(document)
    guard let config = check.config else {
      throw Problem(
        .unprocessableContent, "invalid-document",
        check.errors.map { "\($0.path): \($0.problem.message)" }.joined(separator: "\n"),
        [.init(key: "remarks", value: .array(check.remarks.map(\.json)))])
    }
    try SecretGate.check(config.json.canonical, "the prefetch config")
    let audience = try RolloutHandler.audience(body.rollout).map { " to \($0.words)" } ?? ""
    return try context.makingOrWaiting(
      "prefetch.push", "push of a prefetch config\(audience)", of: .prefetch, body, pins: true,
      obeysFreezes: body.breakGlass == nil
    ) { try make(body, config, check) }
  }

  private func make(_ body: PrefetchPushRequest, _ config: PrefetchConfig, _ check: PrefetchCheck) throws
    -> Response
  {
    let content = config.json.canonical
    var request = try DocumentRequest(.push, of: .prefetch, context, body)
    request.statement = try context.prefetchStatement(body.statement, in: "statement")
    let complete: @Sendable (inout DocumentChangeAnswer) -> Void = { answer in
      (answer.calls, answer.pages) = (config.callCount, config.pages.count)
      answer.remarks = check.remarks.map(\.json)
    }
    if let audience = try RolloutHandler.audience(body.rollout) {
      return try context.make(
        request, to: audience, content, ifNoRollout: body.ifNoRollout == true, complete)
    }
    return try context.make(request, complete) { (reader, _) throws(StoreError) in
      if body.ifNoRollout == true, let open = reader.channel.rollout {
        throw .rolloutOpen(reader.channel.app, reader.channel.name, open.candidate)
      }
      return content
    }
  }

  /// `POST …/prefetch/rollback`: makes the content of an earlier version the newest.
  func rollback(_ body: PrefetchRollbackRequest) throws -> Response {
    let source = try source(body)
    return try context.makingOrWaiting(
      "prefetch.rollback", "rollback of the prefetch config to version \(source)", of: .prefetch, body,
      pins: true,
      obeysFreezes: body.breakGlass == nil
    ) { try roll(back: source, body) }
  }

  private func roll(back source: ManifestVersion, _ body: PrefetchRollbackRequest) throws -> Response {
    var request = try DocumentRequest(.rollback, of: .prefetch, context, body)
    request.source = source.number
    return try context.make(request) { (reader, newest) throws(StoreError) in
      // Version 0 is the empty state before the first push.
      if source == .none { return newest == nil ? nil : Array("[]".utf8) }
      return try reader.document(.prefetch, at: source.number).content
    }
  }

  /// Returns the version that a rollback goes back to.
  private func source(_ body: PrefetchRollbackRequest) throws -> ManifestVersion {
    switch try VersionName.read(body.to, member: "to") {
    case nil: throw Problem.badRequest("\"to\" is required, the version to go back to: \(VersionName.rule)")
    case .number(let version): return version
    case .moment(let moment):
      return try store.version(of: .prefetch, at: moment, in: context.names)
    }
  }
}

extension Store {
  /// Returns the version that a document had at a moment, or 0 if there was none.
  fileprivate func version(of document: ChannelDocument, at moment: Int64, in names: ChannelNames)
    throws(StoreError) -> ManifestVersion
  {
    let channel = try channel(names.app, names.channel)
    return ManifestVersion(try self.document(document, of: channel, atMoment: moment)?.version ?? 0)
  }
}

extension RequestContext {
  /// The version that a publisher knew who looked at this time: also the config that went along with the candidate.
  fileprivate func version(of document: ChannelDocument, at moment: Int64) throws -> ManifestVersion {
    let live = try store.version(of: document, at: moment, in: names)
    guard document == .prefetch, let candidate = try store.extras(of: channel()).candidatePrefetch,
      candidate.at <= moment
    else { return live }
    return max(live, ManifestVersion(candidate.version))
  }
}

extension DocumentRequest {
  /// A request with the members common to all changes of documents.
  init(
    _ kind: DocumentRecord.Kind, of document: ChannelDocument, _ context: RequestContext,
    _ body: some DocumentChangeRequest
  ) throws {
    let names = try context.names
    let message = try HumanText.checked(body.message, member: "message", .message) ?? ""
    let ifVersion: ManifestVersion? =
      switch try VersionName.read(body.ifVersion, member: "ifVersion") {
      case nil: nil
      case .number(let version): try Self.existing(version, of: document, context)
      case .moment(let moment): try context.version(of: document, at: moment)
      }
    self.init(
      app: names.app, channel: names.channel, document: document, kind: kind, author: context.caller.name,
      message: message, ifVersion: ifVersion?.number)
    address = context.request.address
    hosts = context.caller.hosts
    if let change = body as? any PrefetchChangeRequest {
      breakGlass = try ReleaseHandler.breakGlass(change.breakGlass)
    }
  }

  private static func existing(
    _ version: ManifestVersion, of document: ChannelDocument, _ context: RequestContext
  ) throws -> ManifestVersion {
    let newest = ManifestVersion(try context.store.highest(document, of: context.channel()))
    guard version <= newest else { throw Problem.ifVersionTooNew(version, newest: newest) }
    return version
  }
}
