import HTTP
import Manifests
import Platform
import Store

/// Answers `bundle/553.zip` and `bundle/552-553.zip` (DESIGN §3 "Bundles") from files that are made once.
struct ZipEndpoint: Sendable {
  let desk: ZipDesk

  /// Seconds after which a device asks again for a zip that isn't there yet.
  private static let pause = 5

  /// - Parameter zip: nil where the path names none.
  func answer(_ channel: ChannelInfo, _ zip: BundleZip?, _ request: borrowing Request) -> Answer {
    guard let zip else {
      return .now(ClientFailure.notFound("bundles are named 553.zip or 552-553.zip, after manifest versions"))
    }
    let stored = StoredRequest(request)
    return .later { respond(zip, channel, stored) }
  }

  private func respond(_ zip: BundleZip, _ channel: ChannelInfo, _ request: StoredRequest) -> Response {
    do throws(StoreError) {
      switch try desk.zip(zip, of: channel) {
      case .ready(let stored): return Self.representation(stored).response(to: request.request)
      case .notYet: return Self.notYet(zip)
      case .noRoom:
        return ClientFailure.response(.serviceUnavailable, "the origin keeps no more zips of updates")
      }
    } catch {
      if case .unknownVersion(let version) = error {
        return ClientFailure.notFound("version \(version) of \(channel.app) is not kept")
      }
      return ClientFailure.response(error)
    }
  }

  /// An update's zip is 404 until it is there, as on a mirror; a whole one is only a matter of moments.
  private static func notYet(_ zip: BundleZip) -> Response {
    let words = "\(zip) is being made; ask again in \(pause) s"
    switch zip {
    case .whole: return ClientFailure.response(.serviceUnavailable, words)
    case .update: return ClientFailure.response(.notFound, words, retryAfter: pause)
    }
  }

  private static func representation(_ zip: consuming StoredZip) -> Representation {
    let (tag, size) = (zip.tag, zip.size)
    let fields = HeadFields.published("application/zip")
    return Representation(fields, tag: EntityTag(tag), body: OpenFile(zip.takeFile(), size: size).body)
  }
}
