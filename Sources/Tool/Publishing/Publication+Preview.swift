import Manifests
import OriginAPI
import OriginClient
import System
import Values

// Asking the origin about a release before it has the files.
extension Publication {
  /// The bytes to send from which the origin is first asked whether it would accept the release; fewer are sent just as fast.
  static let asksFirst: Int64 = 1 << 20
  /// The most URLs of a bundle to ask with: a plan with 100,000 is a heavy request itself.
  static let maxAsked = 5_000

  /// Returns what a release would be; the origin needn't have its files.
  func preview(_ request: ReleaseRequest) throws(PublishError) -> OriginAnswer<ReleaseAnswer> {
    var options = request.options
    (options.dryRun, options.schedule) = (true, nil)
    let request = ReleaseRequest(changes: request.changes, options: options)
    return try PublishError.asking { () throws(OriginError) in try api.release(request, in: channel) }
  }

  /// Reports what is sent next. If it is much, first lets the origin refuse a release that it wouldn't accept.
  func announce(_ uploads: [HashedFile], _ request: ReleaseRequest) throws(PublishError) {
    if uploads.isEmpty { return }
    let bytes = uploads.clampedSum(\.digest.size)
    if bytes >= Self.asksFirst {
      let isWhole = request.changes.reduce(0) { $0 + $1.count } <= Self.maxAsked
      let asked = isWhole ? request : request.part(Self.maxAsked)
      var freeze: ChannelFreeze?
      var isUnsigned = false
      do {
        let answer = try preview(asked).value
        freeze = answer.freeze
        // In a channel that doesn't exist yet nothing else has told that it needs signatures.
        isUnsigned = isWhole && !remote.exists && signing == nil && answer.unsigned?.isEmpty == false
      } catch .origin(.refused(let problem)) where Self.isRefusal(problem, ofAll: isWhole) {
        throw .origin(.refused(problem))
      } catch {
        // The release itself follows, and its errors are those that count.
      }
      // A freeze doesn't refuse a dry run, but will refuse the release.
      if request.options.dryRun != true, request.options.schedule == nil, let freeze {
        throw .origin(.refused(Problem(freeze, channel)))
      }
      if isUnsigned, !isDryRun { throw .trust(.noKey(channel)) }
    }
    publisher.progress(.lacking(files: uploads.count, bytes: bytes))
  }

  /// Whether the release would be refused, too. `ofAll` says whether all of it was asked about: in a part, a conflict may be
  /// only apparent, since one bundle may add what another removes.
  private static func isRefusal(_ problem: Problem, ofAll: Bool) -> Bool {
    let codes = [
      "frozen", "if-version", "foreign-hosts", "app-name-taken", "unknown-app", "unknown-channel",
      "secret",
    ]
    return codes.contains(problem.code) || [401, 403].contains(problem.status)
      || ofAll && problem.code == "url-conflict"
  }
}

extension Problem {
  /// The refusal of a release to a frozen channel.
  init(_ freeze: ChannelFreeze, _ channel: ChannelAddress) {
    self.init(
      status: 409, title: "Conflict", code: "frozen",
      detail: "channel \"\(channel.channel)\" of app \"\(channel.app)\" is frozen, by \(freeze.author) since "
        + "\(Timestamp.words(freeze.since.milliseconds)): \(freeze.reason); `xcache channel thaw --app \(channel.app)"
        + "\(channel.channel == .online ? "" : " --channel \(channel.channel)")` lifts the freeze, "
        + "--break-glass \"reason\" overrides it",
      members: JSONObject([.init(key: "freeze", value: JSONValue(encoding: freeze))]))
  }
}

extension ReleaseRequest {
  /// Returns the request with at most `count` URLs of each bundle.
  fileprivate func part(_ count: Int) -> ReleaseRequest {
    let changes = changes.map { change in
      guard case .update(let bundle, let base, let set, _) = change else { return change }
      return Change.update(bundle, base: base, set: Array(set.prefix(count)), remove: [])
    }
    return ReleaseRequest(changes: changes, options: options)
  }
}

extension ReleaseRequest.Change {
  /// The number of URLs in it.
  fileprivate var count: Int {
    if case .update(_, _, let set, let remove) = self { set.count + remove.count } else { 0 }
  }
}
