import Manifests
import OriginAPI
import System

// What the origin says of a release before it has the files.
extension Publisher {
  /// Bytes to send from which the origin is asked first whether it would take the release: fewer are sent as quickly.
  static let asksFirst: Int64 = 1 << 20
  /// URLs of a bundle that it is asked with, at most: a plan of 100,000 is a request of its own weight.
  static let mostAsked = 5_000

  /// What a release would be; the origin need not have its files.
  func preview(_ request: ReleaseRequest, _ channel: ChannelAddress) throws(PublishError)
    -> OriginAnswer<ReleaseAnswer>
  {
    var options = request.options
    options.dryRun = true
    let request = ReleaseRequest(changes: request.changes, options: options)
    return try PublishError.asking { () throws(OriginError) in try api.release(request, in: channel) }
  }

  /// Has a publish refused that would be refused before its files are sent: by the check of the build, or by the origin, which is
  /// asked with a dry run.
  /// - Throws: `PublishError`, as `publish` does.
  package func rehearse(
    _ bundles: [BundleSource], to channel: ChannelAddress, _ options: PublishOptions
  ) throws(PublishError) {
    var rehearsal = PublishOptions(options.release)
    rehearsal.release.dryRun = true
    rehearsal.check = options.check
    rehearsal.sendsFiles = false
    let freeze = try publish(bundles, to: channel, rehearsal).answer.freeze
    if options.release.dryRun != true, let freeze { throw .origin(.refused(Problem(freeze, channel))) }
  }

  /// Says what is sent next, and has the origin refuse a release that it wouldn't take before much of it is on its way.
  func announce(_ uploads: [HashedFile], _ request: ReleaseRequest, _ channel: ChannelAddress)
    throws(PublishError)
  {
    if uploads.isEmpty { return }
    let bytes = uploads.clampedSum(\.digest.size)
    if bytes >= Self.asksFirst {
      let isWhole = request.changes.reduce(0) { $0 + $1.count } <= Self.mostAsked
      let asked = isWhole ? request : request.part(Self.mostAsked)
      var freeze: FreezeInfo?
      do {
        freeze = try preview(asked, channel).value.freeze
      } catch .origin(.refused(let problem)) where Self.isRefusal(problem, ofAll: isWhole) {
        throw .origin(.refused(problem))
      } catch {
        // The release itself is still to come, and says it where it counts.
      }
      // A dry run isn't refused for it, and the release will be.
      if request.options.dryRun != true, let freeze {
        throw .origin(.refused(Problem(freeze, channel)))
      }
    }
    progress(.lacking(files: uploads.count, bytes: bytes))
  }

  /// Whether the release would be refused, too.
  /// - Parameter ofAll: whether all of it was asked about. What one bundle takes away, another may bring, so that a conflict in
  ///   a part may be none.
  private static func isRefusal(_ problem: Problem, ofAll: Bool) -> Bool {
    let codes = [
      "frozen", "if-version", "foreign-hosts", "app-name-taken", "unknown-app", "unknown-channel",
    ]
    return codes.contains(problem.code) || [401, 403].contains(problem.status)
      || ofAll && problem.code == "url-conflict"
  }
}

extension Problem {
  /// What an origin says of a release into a frozen channel.
  fileprivate init(_ freeze: FreezeInfo, _ channel: ChannelAddress) {
    self.init(
      status: 409, title: "Conflict", code: "frozen",
      detail: "channel \"\(channel.channel)\" of app \"\(channel.app)\" is frozen, by \(freeze.author) since "
        + "\(Timestamp.words(freeze.at.milliseconds)): \(freeze.reason); `xcache channel thaw` lifts the freeze, "
        + "--break-glass \"reason\" overrides it",
      members: JSONObject([.init(key: "freeze", value: JSONValue(encoding: freeze))]))
  }
}

extension ReleaseRequest {
  /// The same with so many URLs of each bundle.
  fileprivate func part(_ count: Int) -> ReleaseRequest {
    let changes = changes.map { change in
      guard case .update(let bundle, let base, let set, _) = change else { return change }
      return Change.update(bundle, base: base, set: Array(set.prefix(count)), remove: [])
    }
    return ReleaseRequest(changes: changes, options: options)
  }
}

extension ReleaseRequest.Change {
  /// URLs that it names.
  fileprivate var count: Int {
    if case .update(_, _, let set, let remove) = self { set.count + remove.count } else { 0 }
  }
}
