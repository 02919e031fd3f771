import HTTP
import Manifests
import OriginAPI
import Store
import System

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
  func settings() throws -> Response { .json(try store.extras(of: context.channel()).settings) }

  private func show(_ document: ChannelDocument) throws -> Response {
    let channel = try context.channel()
    let record: DocumentRecord? =
      switch try request.versionName("version") {
      case nil: try store.document(document, of: channel)
      case .number(.none): nil
      case .number(let version): try store.document(document, of: channel, at: version.number)
      case .moment(let moment): try store.document(document, of: channel, atMoment: moment)
      }
    return .json(record?.whole(document) ?? DocumentRecord.absent(document))
  }

  private func log(_ document: ChannelDocument) throws -> Response {
    let channel = try context.channel()
    let limit = try request.number("limit", in: 1...1000) ?? 50
    let before = try request.version("before")
    let records = try store.log(document, of: channel, limit: limit, before: before?.number)
    return .json(["versions": .array(records.map(\.json))])
  }

  // MARK: - Changing

  /// `POST …/settings`
  func changeSettings(_ body: JSONValue) throws -> Response {
    let names = try context.names
    guard let value = body["interval"] else {
      throw Problem.badRequest("\"interval\" is the setting: seconds or null")
    }
    let allowed = AnswerExtras.intervals
    let seconds = value.integer.flatMap { Int(exactly: $0) }
    guard value.isNull || seconds.map(allowed.contains) ?? false else {
      throw Problem.badRequest(
        "\"interval\" is from \(allowed.lowerBound) to \(allowed.upperBound) seconds, or null for none")
    }
    return try context.answering {
      APIAnswer($0.settings)
    } to: { (record) in
      try context.api.documents.setInterval(seconds, of: names.app, names.channel, by: actor, record: record)
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

extension RequestContext {
  /// Makes a change of a document that keeps its answer for retries, unless it is refused.
  ///
  /// - Parameters:
  ///   - more: what the answer says beside.
  ///   - refusal: why the change would not be made, once `change` was asked.
  /// - Throws: 409 where it was refused.
  func make(
    _ request: DocumentRequest, _ more: [JSONObject.Member] = [],
    refusal: @escaping @Sendable () -> Problem? = { nil },
    _ change: (DocumentReader, DocumentRecord?) throws(StoreError) -> [UInt8]?
  ) throws -> Response {
    let document = request.document
    let record = key.map { key in
      AnswerRecord<DocumentOutcome>(key) { outcome in
        refusal() == nil ? (try? outcome.answer(document, more)).map { KeptAnswer($0) } : nil
      }
    }
    let outcome = try api.documents.change(request, record: record, change)
    if let refusal = refusal() { throw refusal }
    return try outcome.answer(document, more).response
  }
}

extension DocumentOutcome {
  /// The answer to a change.
  ///
  /// - Throws: 409 where it was refused.
  fileprivate func answer(_ document: ChannelDocument, _ more: [JSONObject.Member]) throws
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
