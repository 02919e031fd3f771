import HTTP
import Manifests
import OriginAPI
import Store
import System

/// A request whose sender may make it, and what answers it: all that a handler needs.
struct RequestContext: Sendable {
  let api: APIEndpoint
  let request: APIRequest
  /// The token that asks.
  let caller: AccessToken
  /// By what an act keeps its answer for retries; nil: it isn't kept.
  var key: IdempotencyKey?
  /// sha256 of the document that was sent, decoded; nil before all of it has arrived.
  var body: SHA256?

  var store: Store { api.store }

  /// Who the audit trail says that it was.
  var actor: Actor {
    Actor(name: caller.name, address: request.address, reason: request.text(RequestContext.reason))
  }

  /// The query's name for why an act is done that has no member of its own for that.
  static let reason = "reason"

  /// The app and channel that the path names.
  var names: ChannelNames { get throws(Problem) { try ChannelNames(request) } }

  /// The channel that the path names, as it is.
  func channel() throws -> ChannelInfo {
    let names = try names
    return try store.channel(names.app, names.channel)
  }

  /// `ifVersion`: what a request is refused for when something changed after it. A moment stands for the version of
  /// then.
  func ifVersion(_ text: String?) throws -> ManifestVersion? {
    switch try VersionName.read(text, member: "ifVersion") {
    case nil: return nil
    case .number(let version):
      let newest = try beforeAny { try channel().version }
      guard version <= newest else { throw Problem.guardsNothing(version, newest: newest) }
      return version
    case let moment?: return try beforeAny { try store.version(moment, of: channel()) }
    }
  }

  /// A version of the channel; 0 where there is no channel: nothing changed in what isn't there.
  private func beforeAny(_ version: () throws -> ManifestVersion) throws -> ManifestVersion {
    do {
      return try version()
    } catch StoreError.unknownApp, StoreError.unknownChannel {
      return .none
    }
  }

  /// Carries out an act that keeps its answer for retries in its own transaction.
  /// - Parameters:
  ///   - answer: the answer to what the act came to; worked out twice, from the outcome alone.
  ///   - act: is given what it keeps the answer by.
  func answering<Outcome>(
    _ answer: @escaping @Sendable (Outcome) -> APIAnswer,
    to act: (AnswerRecord<Outcome>?) throws -> Outcome
  ) throws -> Response {
    let record = key.map { AnswerRecord<Outcome>($0) { StoredAnswer(answer($0)) } }
    let result = answer(try act(record))
    // Nothing changed, perhaps since this very act was staged by an earlier attempt and made just now.
    if let key, result.status == .ok, let kept = try store.keptAnswer(to: key), kept.status == 201 {
      return kept.response
    }
    return result.response
  }
}

extension Problem {
  /// An `ifVersion` that doesn't exist yet: whatever changes until then would be let through.
  static func guardsNothing(_ version: ManifestVersion, newest: ManifestVersion) -> Problem {
    Problem(
      .conflict, "if-version",
      "--if-version \(version) (\"ifVersion\") conflicts with the current state: the newest version is \(newest)"
    )
  }
}

/// The app and channel that a path names: `apps/{app}/channels/{channel}…`.
struct ChannelNames: Sendable {
  let app: AppName
  let channel: ChannelName

  init(_ request: APIRequest) throws(Problem) {
    do throws(NameError) {
      app = try AppName(request.path[1])
      channel = try ChannelName(request.path[3])
    } catch {
      throw Problem(error)
    }
  }
}

/// What answers the requests of one topic. The routes name its methods.
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
