import HTTP
import Manifests
import OriginAPI
import Store
import System

/// `POST /apps/{app}/channels/{channel}/releases`: what `publish` and `unpublish` end with.
struct ReleaseHandler: APIHandler {
  let context: RequestContext

  private var desk: ReleaseDesk { context.api.releases }

  func release(_ body: ReleaseDocument) throws -> Response {
    let names = try context.names
    let document = JSONValue.object(body.members)
    let request = try parse(body, names)
    // An app is made by whoever may do everything; a misspelt name must not make one.
    let createsApp = mayCreate(request)
    var hasDeltas = false
    if !request.dryRun, document["now"]?.bool != true {
      hasDeltas = try awaitDeltas(request, createsApp: createsApp)
    }
    return try context.answering { [hasDeltas] outcome in
      var answer = outcome.document
      answer["deltasStored"] = .bool(hasDeltas)
      return APIAnswer(.object(answer), outcome.changed && !request.dryRun ? .created : .ok)
    } to: { (record) in
      try desk.release(request, createsApp: createsApp, by: caller, record: record)
    }
  }

  private func mayCreate(_ request: ReleaseInput) -> Bool {
    let brings = request.bundles.contains { if case .update = $0.change { true } else { false } }
    return caller.scope == .admin && caller.isUnlimited && brings
  }

  /// `POST …/preparations`: begins to make a release's deltas, or, with `id` alone, says how far they are.
  func prepare(_ body: ReleaseDocument) throws -> Response {
    let names = try context.names
    if let id = body.members["id"]?.string { return try preparation(id) }
    let request = try parse(body, names)
    let createsApp = mayCreate(request)
    let preparation = try desk.prepare(request, createsApp: createsApp)
    return try self.preparation(preparation.id)
  }

  /// Whether the deltas on the version that is replaced are stored, after at most as long as releases wait.
  private func awaitDeltas(_ request: ReleaseInput, createsApp: Bool) throws -> Bool {
    let isReady = try desk.awaitDeltas(request, createsApp: createsApp)
    guard let isReady else {
      throw Problem(
        .serviceUnavailable, "busy", "other releases are waiting for their deltas; try again in a moment")
    }
    return isReady
  }

  /// How far the deltas and the cost of a planned release are.
  private func preparation(_ id: String) throws -> Response {
    guard let preparation = context.api.deltas.preparation(id) else {
      throw Problem(.notFound, "unknown-preparation", "no release is prepared under \(id); send it again")
    }
    return .json(
      preparation.status.json(
        id: id, late: context.api.deltas.isLate(preparation), seconds: preparation.seconds))
  }

  private func parse(_ body: ReleaseDocument, _ names: ChannelNames) throws -> ReleaseInput {
    guard let bundles = body.bundles else { throw ReleaseDocument.noBundles }
    let document = JSONValue.object(body.members)
    var request = ReleaseInput(
      app: names.app, channel: names.channel, author: caller.name, message: try Self.message(document),
      bundles: bundles, ifVersion: try document.ifVersion(names, desk.store),
      dryRun: document["dryRun"]?.bool ?? false)
    request.address = context.request.address
    request.breakGlass = try Self.breakGlass(document)
    return request
  }

  /// Why it is done, for the log.
  static func message(_ document: JSONValue) throws -> String {
    try document.humanText("message", .message) ?? ""
  }

  /// Why it is done though the channel is frozen.
  static func breakGlass(_ document: JSONValue) throws -> String? {
    guard let value = document["breakGlass"], !value.isNull else { return nil }
    guard let reason = try document.humanText("breakGlass", .message), !reason.isEmpty else {
      throw Problem.badRequest("\"breakGlass\" is the reason for a release into a frozen channel")
    }
    return reason
  }
}

extension ReleaseOutcome {
  var json: JSONValue {
    [
      "added": .integer(counts.added), "at": .string(Timestamp.text(at)),
      "bundles": .array(bundles.map(\.json)), "bytes": .integer(bytes), "changed": .bool(changed),
      "changed_count": .integer(counts.changed), "createdApp": .bool(createdApp),
      "createdChannel": .bool(createdChannel), "missing": .strings(missing.map(\.hex)),
      "newBytes": .integer(newBytes), "previous": .string(previous.text),
      "receipt": receipt.map { .string($0.text) } ?? .null, "removed": .integer(counts.removed),
      "resources": .integer(resources), "version": .string(version.text),
    ]
  }
}

extension ReleaseOutcome {
  /// The answer to what made a release.
  var document: JSONObject { json.object ?? JSONObject() }
}

extension ReleaseOutcome.Bundle {
  fileprivate var json: JSONValue {
    [
      "added": .integer(counts.added), "bundle": .string(name.text), "changed": .integer(counts.changed),
      "removed": .integer(counts.removed), "replaced": replaced?.json ?? .null,
    ]
  }
}
