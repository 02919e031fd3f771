import HTTP
import Manifests
import OriginAPI
import Store
import System

/// An authorized request and what is needed to answer it.
struct RequestContext: Sendable {
  let api: APIEndpoint
  let request: APIRequest
  /// The token that the request was sent with.
  let caller: AccessToken
  /// The key under which an act keeps its answer for retries; nil if it isn't kept.
  var key: IdempotencyKey?
  /// The scheduled act that is carried out; nil for a request.
  var run: ScheduledRun?
  /// Receives what a document would become, if the act is only tried; nil for one that is carried out.
  var preview: SchedulePreviewSink?
  /// The SHA-256 of the decoded document; nil until all of it has arrived.
  var body: SHA256?

  /// Whether it occupies a worker of the API, of which there are few.
  var isOnWorker: Bool { run == nil || preview != nil }

  var store: Store { api.store }

  /// Who did it, for the audit trail.
  var actor: Actor {
    Actor(name: caller.name, address: request.address, reason: request.text(RequestContext.reason))
  }

  /// What an answer made from the store alone depends on: the request, the caller's rights, and the state of the store and
  /// of what is derived from it.
  var sharing: SharedAnswers.Key {
    [request.target, caller.rights, "\(store.edition)", "\(api.deltas.edition)"]
  }

  /// The query parameter with the reason for an act that has no member for it.
  static let reason = "reason"

  /// The app and channel named by the path.
  var names: ChannelNames { get throws(Problem) { try ChannelNames(request) } }

  /// Returns the channel named by the path, in its current state.
  func channel() throws -> ChannelInfo {
    let names = try names
    return try store.channel(names.app, names.channel)
  }

  /// Returns the version of an `ifVersion`: the request is refused if something changed after it. A moment stands for the
  /// version live then.
  func ifVersion(_ text: String?) throws -> ManifestVersion? {
    switch try VersionName.read(text, member: "ifVersion") {
    case nil: return nil
    case .number(let version):
      let newest = try versionOrNone { try channel().version }
      guard version <= newest else { throw Problem.ifVersionTooNew(version, newest: newest) }
      return version
    case let moment?: return try versionOrNone { try store.version(moment, of: channel()) }
    }
  }

  /// Returns a time that something is planned for: later than now, and at most a year ahead.
  func ahead(_ time: Moment?, member: String) throws(Problem) -> Moment? {
    guard let time else { return nil }
    let now = store.now
    let year: Int64 = 366 * 86_400_000
    guard time.milliseconds > now, time.milliseconds - now <= year else {
      throw .badRequest(
        "\"\(member)\" must be a time from now to a year ahead; by the origin's clock it is \(Timestamp.text(now)), and "
          + "\(time.wireText) is \(time.milliseconds > now ? "later" : "past")")
    }
    return time
  }

  /// Returns a version of the channel, or 0 if the channel doesn't exist, since nothing has changed there.
  private func versionOrNone(_ version: () throws -> ManifestVersion) throws -> ManifestVersion {
    do {
      return try version()
    } catch StoreError.unknownApp, StoreError.unknownChannel {
      return .none
    }
  }

  /// Carries out an act that stores its answer for retries in its own transaction.
  /// - Parameters:
  ///   - answer: makes the answer from the outcome alone; called twice.
  ///   - act: receives the record that stores the answer.
  func answering<Outcome>(
    _ answer: @escaping @Sendable (Outcome) -> APIAnswer,
    to act: (AnswerRecord<Outcome>?) throws -> Outcome
  ) throws -> Response {
    var record = key.map { AnswerRecord<Outcome>($0) { StoredAnswer(answer($0)) } }
    if let run { record = AnswerRecord(run) { StoredAnswer(answer($0)) } }
    if preview != nil { record = .trial() }
    let result = answer(try act(record))
    preview?.receive(result)
    // Nothing changed, perhaps because an earlier attempt staged this very act and it was carried out just now.
    if let key, result.status == .ok, let kept = try store.keptAnswer(to: key), kept.status == 201 {
      return kept.response
    }
    return result.response
  }
}

extension Problem {
  /// Refuses an `ifVersion` that doesn't exist yet: any change until then would be let through.
  static func ifVersionTooNew(_ version: ManifestVersion, newest: ManifestVersion) -> Problem {
    Problem(
      .conflict, "if-version",
      "--if-version \(version) (\"ifVersion\") conflicts with the current state: the newest version is \(newest)"
    )
  }
}

/// The app and channel named by a path: `apps/{app}/channels/{channel}…`.
struct ChannelNames: Sendable {
  let app: AppName
  let channel: ChannelName

  init(app: AppName, channel: ChannelName) {
    self.app = app
    self.channel = channel
  }

  init(_ request: APIRequest) throws(Problem) {
    do throws(NameError) {
      app = try AppName(request.path[1])
      channel = try ChannelName(request.path[3])
    } catch {
      throw Problem(error)
    }
  }
}

/// Answers the requests of one topic. Routes refer to its methods.
protocol APIHandler: Sendable {
  init(context: RequestContext)
  var context: RequestContext { get }
}

extension APIHandler {
  var store: Store { context.store }
  var request: APIRequest { context.request }
  var caller: AccessToken { context.caller }
  var actor: Actor { context.actor }
}
