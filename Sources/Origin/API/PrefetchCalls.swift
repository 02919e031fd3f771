import HTTP
import Manifests
import Store

/// Changes of a prefetch config.
struct PrefetchCalls {
  private let calls: DocumentCalls
  private let names: ChannelNames
  private let body: JSONValue

  init(_ calls: DocumentCalls, _ names: ChannelNames, _ body: JSONValue) {
    self.calls = calls
    self.names = names
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
    return try calls.make(
      try request(.push),
      [
        .init(key: "calls", value: .integer(config.callCount)),
        .init(key: "pages", value: .integer(config.pages.count)),
        .init(key: "remarks", value: .array(check.remarks.map(\.json))),
      ]
    ) { _, _ in content }
  }

  /// `POST …/prefetch/rollback`: the content of an earlier version becomes the newest one.
  func rollback() throws(Problem) -> Response {
    let source = try source()
    var request = try request(.rollback)
    request.source = source.number
    return try calls.make(request) { (reader, newest) throws(StoreError) in
      // Version 0 is what was before the first push: nothing.
      if source == .none { return newest == nil ? nil : Array("[]".utf8) }
      return try reader.document(.prefetch, at: source.number).content
    }
  }

  /// The version that a rollback goes back to.
  private func source() throws(Problem) -> ManifestVersion {
    switch try body.versionName("to") {
    case nil: throw .badRequest("\"to\" is what to go back to: \(VersionName.rule)")
    case .number(let version): return version
    case .moment(let moment):
      return try APIEndpoint.store { () throws(StoreError) in
        try calls.store.version(of: .prefetch, at: moment, in: names)
      }
    }
  }

  private func request(_ kind: DocumentRecord.Kind) throws(Problem) -> DocumentRequest {
    try DocumentRequest(.prefetch, kind, names, calls.caller, body, calls.store)
  }
}

extension Store {
  /// The version that a document had at a moment; 0: there was none.
  fileprivate func version(of document: ChannelDocument, at moment: Int64, in names: ChannelNames)
    throws(StoreError) -> ManifestVersion
  {
    let channel = try channel(names.app, names.channel)
    return ManifestVersion(try self.document(document, of: channel, atMoment: moment)?.version ?? 0)
  }
}

extension DocumentRequest {
  init(
    _ document: ChannelDocument, _ kind: DocumentRecord.Kind, _ names: ChannelNames, _ caller: AccessToken,
    _ body: JSONValue, _ store: Store
  ) throws(Problem) {
    let message = try body.humanText("message", .message) ?? ""
    let ifVersion: ManifestVersion? =
      switch try body.versionName("ifVersion") {
      case nil: nil
      case .number(let version): version
      case .moment(let moment):
        try APIEndpoint.store { () throws(StoreError) in
          try store.version(of: document, at: moment, in: names)
        }
      }
    self.init(
      app: names.app, channel: names.channel, document: document, kind: kind, author: caller.name,
      message: message, ifVersion: ifVersion?.number)
    address = names.address
  }
}
