import HTTP
import Manifests
import Store

/// Answers `bundle/553.zip`, `bundle/552-553.zip` and `bundle/552-553.delta.zip` (docs/protocol.md §9) from files that are
/// made once.
struct ZipEndpoint: Sendable {
  let service: ZipService
  let store: Store
  let log: @Sendable (String) -> Void

  /// Seconds after which a device retries a zip that isn't there yet.
  private static let pause = 5

  /// Answers the request for a zip; nil stands for an invalid name.
  func answer(_ channel: ChannelInfo, _ zip: BundleZip?, _ request: borrowing Request) -> Answer {
    guard let zip else {
      return .now(
        ClientFailure.notFound(
          "bundles are named 553.zip, 552-553.zip or 552-553.delta.zip, after manifest versions"))
    }
    let stored = StoredRequest(request)
    let token = APIRequest.bearer(request.field(.authorization)?.text)
    return .later { respond(zip, channel, token, stored) }
  }

  /// Whether a token may read the channel, as a mirror's may: it then gets the zips of every kept version.
  private func isTrusted(_ token: String?, _ channel: ChannelInfo) throws(StoreError) -> Bool {
    guard let token else { return false }
    return try store.check(token: token)?.allows(.read, app: channel.app, channel: channel.name) ?? false
  }

  private func respond(
    _ zip: BundleZip, _ channel: ChannelInfo, _ token: String?, _ request: StoredRequest
  ) -> Response {
    do throws(StoreError) {
      switch try service.zip(zip, of: channel, isTrusted: try isTrusted(token, channel)) {
      case .ready(let stored): return representation(stored).response(to: request.request)
      case .notYet: return Self.notYet(zip)
      case .notOffered:
        return ClientFailure.notFound(
          "\(zip) isn't made: there are zips of version \(channel.version) and of the last few that devices are at, "
            + "and of updates from those to version \(channel.version); a token that may read the channel gets those of "
            + "every kept version, too")
      case .dropped: return ClientFailure.notFound("\(zip) was removed to make room for newer ones")
      case .noSpace(isNewest: false):
        return ClientFailure.notFound("there is no space for \(zip)")
      case .noSpace(isNewest: true):
        return ClientFailure.response(.serviceUnavailable, "the origin's disk is too full for \(zip)")
      }
    } catch {
      if case .unknownVersion(let version) = error {
        return ClientFailure.notFound(
          version > channel.version
            ? "no version \(version) of \(channel.app); the newest is \(channel.version)"
            : "version \(version) of \(channel.app) is not kept")
      }
      return ClientFailure.response(error)
    }
  }

  /// An update's zip is 404 until it is there, as on a mirror; a whole one takes only moments.
  private static func notYet(_ zip: BundleZip) -> Response {
    let words = "\(zip) is being created; try again in \(pause) s"
    switch zip {
    case .whole: return ClientFailure.response(.serviceUnavailable, words)
    case .update, .deltas: return ClientFailure.response(.notFound, words, retryAfter: pause)
    }
  }

  private func representation(_ zip: consuming StoredZip) -> Representation {
    let tag = zip.tag
    let fields = HeadFields.published("application/zip")
    return Representation(fields, tag: EntityTag(tag), body: OpenFile(zip, store, log).body)
  }
}
