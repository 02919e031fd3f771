import HTTP
import Manifests
import Store

/// Changes of a prefetch config.
struct PrefetchCalls {
  private let desk: DocumentDesk
  private let names: ChannelNames
  private let caller: AccessToken
  private let body: JSONValue

  init(_ desk: DocumentDesk, _ names: ChannelNames, _ caller: AccessToken, _ body: JSONValue) {
    self.desk = desk
    self.names = names
    self.caller = caller
    self.body = body
  }

  /// `POST …/prefetch`: a config becomes the newest version, unless it is that already.
  func push() throws(Problem) -> Response {
    guard let document = body["document"] else {
      throw .badRequest("\"document\" is the prefetch config, whole or its config array")
    }
    let check = PrefetchCheck(document)
    guard let config = check.config else {
      throw Problem(
        .unprocessableContent, "invalid-document",
        check.errors.map { "\($0.path): \($0.problem.words)" }.joined(separator: "\n"),
        [.init(key: "remarks", value: .array(check.remarks.map(\.json)))])
    }
    let content = config.json.canonical
    let request = try request(.push)
    let outcome = try APIEndpoint.store { () throws(StoreError) in
      try desk.change(request) { _, _ in content }
    }
    return try outcome.response(
      .prefetch,
      [
        .init(key: "calls", value: .integer(config.callCount)),
        .init(key: "pages", value: .integer(config.pages.count)),
        .init(key: "remarks", value: .array(check.remarks.map(\.json))),
      ])
  }

  /// `POST …/prefetch/rollback`: the content of an earlier version becomes the newest one.
  func rollback() throws(Problem) -> Response {
    guard let source = body["to"]?.string.flatMap({ ManifestVersion(text: $0) }) else {
      throw .badRequest("\"to\" is the version to go back to, a decimal number as a string")
    }
    var request = try request(.rollback)
    request.source = source.number
    let outcome = try APIEndpoint.store { () throws(StoreError) in
      try desk.change(request) { (reader, newest) throws(StoreError) in
        // Version 0 is what was before the first push: nothing.
        if source == .none { return newest == nil ? nil : Array("[]".utf8) }
        return try reader.document(.prefetch, at: source.number).content
      }
    }
    return try outcome.response(.prefetch)
  }

  private func request(_ kind: DocumentRecord.Kind) throws(Problem) -> DocumentRequest {
    try DocumentRequest(.prefetch, kind, names, caller, body)
  }
}

extension DocumentRequest {
  init(
    _ document: ChannelDocument, _ kind: DocumentRecord.Kind, _ names: ChannelNames, _ caller: AccessToken,
    _ body: JSONValue
  ) throws(Problem) {
    let message = body["message"]?.string ?? ""
    guard message.utf8.count <= 4096 else { throw .badRequest("the message is longer than 4096 bytes") }
    let limit = body["ifVersion"].flatMap { $0.isNull ? nil : $0 }
    let ifVersion = limit?.string.flatMap { ManifestVersion(text: $0) }
    if limit != nil, ifVersion == nil {
      throw .badRequest("\"ifVersion\" is a version: a decimal number as a string")
    }
    self.init(
      app: names.app, channel: names.channel, document: document, kind: kind, author: caller.name,
      message: message, ifVersion: ifVersion?.number)
    address = names.address
  }
}
