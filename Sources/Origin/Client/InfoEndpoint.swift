import HTTP
import Manifests
import Platform
import Store

/// Answers info.json (DESIGN §3): the URLs of the newest manifest, for clients that know only file lists.
struct InfoEndpoint: Sendable {
  let builder: AnswerBuilder

  func answer(_ channel: ChannelCatalog, _ request: borrowing Request) -> Answer {
    if let info = channel.info { return .now(info.response(to: request)) }
    let stored = StoredRequest(request)
    return .deferred { answer in
      builder.info(of: channel) { answer($0.response(to: stored.request)) }
    }
  }
}
