import HTTP
import Manifests
import Store
import System

/// `/apps/{app}/channels/{channel}/prefetch…`, `…/policy…` and `…/settings`.
struct DocumentCalls {
  let store: Store
  let desk: DocumentDesk
  let call: APIRequest
  let caller: AccessToken

  init(_ api: APIEndpoint, _ call: APIRequest, _ caller: AccessToken) {
    store = api.store
    desk = api.documents
    self.call = call
    self.caller = caller
  }

  // MARK: - Reading

  func read() throws(Problem) -> Response {
    let names = try ChannelNames(call)
    let channel = try APIEndpoint.store { () throws(StoreError) in
      try store.channel(names.app, names.channel)
    }
    switch (call.path[4], call.path.last) {
    case ("settings", _): return try settings(channel)
    case (let name, "log"): return try log(ChannelDocument(rawValue: name) ?? .prefetch, channel)
    case (let name, _) where call.path.count == 5:
      return try show(ChannelDocument(rawValue: name) ?? .prefetch, channel)
    default: throw .notFound
    }
  }

  private func settings(_ channel: ChannelInfo) throws(Problem) -> Response {
    let state = try APIEndpoint.store { () throws(StoreError) in try store.extras(of: channel) }
    return APIEndpoint.document(state.settings)
  }

  private func show(_ document: ChannelDocument, _ channel: ChannelInfo) throws(Problem) -> Response {
    let name = try call.versionName("version")
    let record = try APIEndpoint.store { () throws(StoreError) -> DocumentRecord? in
      switch name {
      case nil: try store.document(document, of: channel)
      case .number(.none): nil
      case .number(let version): try store.document(document, of: channel, at: version.number)
      case .moment(let moment): try store.document(document, of: channel, atMoment: moment)
      }
    }
    return APIEndpoint.document(record?.whole(document) ?? DocumentRecord.absent(document))
  }

  private func log(_ document: ChannelDocument, _ channel: ChannelInfo) throws(Problem) -> Response {
    let limit = try call.number("limit", in: 1...1000) ?? 50
    let before = try call.version("before")
    let records = try APIEndpoint.store { () throws(StoreError) in
      try store.log(document, of: channel, limit: limit, before: before?.number)
    }
    return APIEndpoint.document(["versions": .array(records.map(\.json))])
  }

  // MARK: - Changing

  func change(_ body: JSONValue) throws(Problem) -> Response {
    let names = try ChannelNames(call)
    switch (call.path[4], call.path.count) {
    case ("prefetch", 5): return try PrefetchCalls(self, names, body).push()
    case ("prefetch", 6) where call.path[5] == "rollback":
      return try PrefetchCalls(self, names, body).rollback()
    case ("policy", 5): return try PolicyCalls(self, names, body).change()
    case ("settings", 5): return try set(body, names)
    default: throw .notFound
    }
  }

  private func set(_ body: JSONValue, _ names: ChannelNames) throws(Problem) -> Response {
    guard let value = body["interval"] else {
      throw .badRequest("\"interval\" is the setting: seconds or null")
    }
    let allowed = AnswerExtras.intervals
    let seconds = value.integer.flatMap { Int(exactly: $0) }
    guard value.isNull || seconds.map(allowed.contains) ?? false else {
      throw .badRequest(
        "\"interval\" is from \(allowed.lowerBound) to \(allowed.upperBound) seconds, or null for none")
    }
    return try call.answering {
      APIAnswer($0.settings)
    } to: { (record) throws(StoreError) in
      try desk.setInterval(seconds, of: names.app, names.channel, by: caller.actor(call), record: record)
    }
  }
}

extension ChannelExtras {
  fileprivate var settings: JSONValue { ["interval": interval.map { .integer($0) } ?? .null] }

  /// What the overview of a channel says of them.
  var overview: [JSONObject.Member] {
    var members: [JSONObject.Member] = [.init(key: "interval", value: interval.map { .integer($0) } ?? .null)]
    members.append(.init(key: "policy", value: policy?.whole(.policy) ?? .null))
    members.append(.init(key: "prefetch", value: prefetch?.json ?? .null))
    return members
  }
}

extension DocumentRecord {
  /// The record without its content.
  var json: JSONValue {
    [
      "at": .string(Timestamp.text(at)), "author": .string(author), "kind": .string(kind.rawValue),
      "manifestVersion": .string(manifestVersion.text), "message": .string(message),
      "source": source.map { .string(String($0)) } ?? .null, "version": .string(String(version)),
    ]
  }

  /// The record with its content, under `config` or `policy`.
  func whole(_ document: ChannelDocument) -> JSONValue {
    var object = json.object ?? JSONObject()
    let content = (try? JSONValue.parse(content)) ?? .null
    object[document == .prefetch ? "config" : "policy"] = content
    return .object(object)
  }

  /// What is shown where there is no version yet.
  static func absent(_ document: ChannelDocument) -> JSONValue {
    document == .prefetch
      ? ["config": [], "version": "0"] : ["policy": .object(Policy.none.json), "version": "0"]
  }
}

extension DocumentCalls {
  /// Makes a change that keeps its answer for retries, unless it is refused.
  ///
  /// - Parameters:
  ///   - more: what the answer says beside.
  ///   - refusal: why the change would not be made, once `change` was asked.
  /// - Throws: 409 where it was refused.
  func make(
    _ request: DocumentRequest, _ more: [JSONObject.Member] = [],
    refusal: @escaping @Sendable () -> Problem? = { nil },
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws(Problem) -> Response {
    let document = request.document
    let record = call.key.map { key in
      AnswerRecord<DocumentOutcome>(key) { outcome in
        refusal() == nil ? (try? outcome.answer(document, more)).map { KeptAnswer($0) } : nil
      }
    }
    let outcome = try APIEndpoint.store { () throws(StoreError) in
      try desk.change(request, record: record, change)
    }
    if let refusal = refusal() { throw refusal }
    return try outcome.answer(document, more).response
  }
}

extension DocumentOutcome {
  /// The answer to a change.
  ///
  /// - Throws: 409 where it was refused.
  fileprivate func answer(_ document: ChannelDocument, _ more: [JSONObject.Member]) throws(Problem)
    -> APIAnswer
  {
    switch self {
    case .conflict(let newest):
      throw Problem(
        .conflict, "if-version",
        "the \(document.rawValue) document changed after that version: \(newest.author) made version \(newest.version)",
        [.init(key: "newest", value: newest.json)])
    case .unchanged(let record):
      return APIAnswer(
        .object(
          JSONObject(
            more + [
              .init(key: "changed", value: false),
              .init(key: "version", value: .string(String(record?.version ?? 0))),
              .init(key: "manifestVersion", value: .string(record?.manifestVersion.text ?? "0")),
            ])))
    case .changed(let record, let replaced):
      var object = record.json.object ?? JSONObject()
      object["changed"] = true
      object["replaced"] = replaced?.json ?? .null
      for member in more { object[member.key] = member.value }
      return APIAnswer(.object(object), .created)
    }
  }
}
