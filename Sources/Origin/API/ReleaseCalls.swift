import HTTP
import Manifests
import Store
import System

/// `POST /apps/{app}/channels/{channel}/releases`: what `publish` and `unpublish` end with.
struct ReleaseCalls {
  let desk: ReleaseDesk
  let deltas: DeltaDesk
  var call: APIRequest
  let caller: AccessToken
  /// Bytes that a file may have, as for uploads.
  private let largest: UInt64

  init(_ api: APIEndpoint, _ call: APIRequest, _ caller: AccessToken) {
    desk = api.releases
    deltas = api.deltas
    largest = api.largestUpload
    self.call = call
    self.caller = caller
  }

  func release(_ body: ReleaseDocument) throws(Problem) -> Response {
    let names = try ChannelNames(call)
    let document = JSONValue.object(body.members)
    let request = try parse(body, names)
    // An app is made by whoever may do everything; a misspelt name must not make one.
    let createsApp = mayCreate(request)
    var hasDeltas = false
    if !request.dryRun, document["now"]?.bool != true {
      hasDeltas = try awaitDeltas(request, createsApp: createsApp)
    }
    return try call.answering { [hasDeltas] outcome in
      var answer = outcome.document
      answer["deltasStored"] = .bool(hasDeltas)
      return APIAnswer(.object(answer), outcome.changed && !request.dryRun ? .created : .ok)
    } to: { (record) throws(StoreError) in
      try desk.release(request, createsApp: createsApp, by: caller, record: record)
    }
  }

  private func mayCreate(_ request: ReleaseInput) -> Bool {
    let brings = request.bundles.contains { if case .update = $0.change { true } else { false } }
    return caller.scope == .admin && caller.isUnlimited && brings
  }

  /// `POST …/preparations`: begins to make a release's deltas, or, with `id` alone, says how far they are.
  func prepare(_ body: ReleaseDocument) throws(Problem) -> Response {
    let names = try ChannelNames(call)
    if let id = body.members["id"]?.string { return try preparation(id) }
    let request = try parse(body, names)
    let createsApp = mayCreate(request)
    let preparation = try APIEndpoint.store { () throws(StoreError) in
      try desk.prepare(request, createsApp: createsApp)
    }
    return try self.preparation(preparation.id)
  }

  /// Whether the deltas on the version that is replaced are stored, after at most as long as releases wait.
  private func awaitDeltas(_ request: ReleaseInput, createsApp: Bool) throws(Problem) -> Bool {
    let isReady = try APIEndpoint.store { () throws(StoreError) in
      try desk.awaitDeltas(request, createsApp: createsApp)
    }
    guard let isReady else {
      throw Problem(
        .serviceUnavailable, "busy", "other releases are waiting for their deltas; try again in a moment")
    }
    return isReady
  }

  /// How far the deltas and the cost of a planned release are.
  private func preparation(_ id: String) throws(Problem) -> Response {
    guard let preparation = deltas.preparation(id) else {
      throw Problem(.notFound, "unknown-preparation", "no release is prepared under \(id); send it again")
    }
    return APIEndpoint.document(
      preparation.status.json(
        id: id, late: deltas.isLate(preparation), seconds: preparation.seconds))
  }

  private func parse(_ body: ReleaseDocument, _ names: ChannelNames) throws(Problem) -> ReleaseInput {
    guard let bundles = body.bundles else { throw ReleaseDocument.noBundles }
    let document = JSONValue.object(body.members)
    var request = ReleaseInput(
      app: names.app, channel: names.channel, author: caller.name, message: try Self.message(document),
      bundles: bundles, ifVersion: try document.ifVersion(names, desk.store),
      dryRun: document["dryRun"]?.bool ?? false)
    request.address = call.address
    request.breakGlass = try Self.breakGlass(document)
    return request
  }

  /// Why it is done, for the log.
  static func message(_ document: JSONValue) throws(Problem) -> String {
    try document.humanText("message", .message) ?? ""
  }

  /// Why it is done though the channel is frozen.
  static func breakGlass(_ document: JSONValue) throws(Problem) -> String? {
    guard let value = document["breakGlass"], !value.isNull else { return nil }
    guard let reason = try document.humanText("breakGlass", .message), !reason.isEmpty else {
      throw .badRequest("\"breakGlass\" is the reason for a release into a frozen channel")
    }
    return reason
  }

  /// URLs come as they are stored: a second spelling would be a second resource.
  static func url(_ text: String) throws(Problem) -> ResourceURL {
    do {
      let url = try ResourceURL(text)
      guard url.text == text else { throw Problem.badRequest("\(text) is written \(url.text)") }
      return url
    } catch let problem as Problem {
      throw problem
    } catch {
      throw .badRequest("\(error)")
    }
  }

  func content(_ value: JSONValue, of url: String) throws(Problem) -> ResourceContent {
    let content: ResourceContent
    do {
      content = try ResourceContent(json: value)
    } catch {
      throw .badRequest("\(url): \(error)")
    }
    guard content.size <= largest else {
      throw Problem(
        .unprocessableContent, "too-large",
        "\(url): \(content.size) bytes; this origin takes files of \(largest) bytes at most (serve --max-upload)"
      )
    }
    return content
  }
}

extension JSONValue {
  func optionalVersion(_ key: String) throws(Problem) -> ManifestVersion? {
    guard let value = self[key], !value.isNull else { return nil }
    guard let version = value.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .badRequest("\"\(key)\" is a version: a decimal number as a string")
    }
    return version
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
