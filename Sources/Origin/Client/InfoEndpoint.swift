import HTTP
import Manifests
import Platform
import Store

/// Answers info.json (DESIGN §3): the URLs of the newest manifest, for clients that know only file lists.
struct InfoEndpoint: Sendable {
  let catalog: Published<Catalog>
  let builder: AnswerBuilder

  func answer(_ channel: ChannelCatalog, _ request: borrowing Request) -> Answer {
    if let info = channel.info { return .now(info.response(to: request)) }
    let stored = StoredRequest(request)
    let id = channel.channel.id
    return .later {
      // Made and looked up again; a release in between leaves a newer channel without one, hence the loop.
      for _ in 0..<8 {
        builder.prepareInfo(of: id)
        if let info = catalog.current.channel(id: id)?.info { return info.response(to: stored.request) }
      }
      return ClientFailure.response(
        .serviceUnavailable, "releases come faster than this answer can be made; ask again")
    }
  }
}
