import HTTP
import Manifests
import Store
import System

extension OriginHandler {
  /// Answers with a document of the channel that the query names.
  func documentByQuery(_ document: ClientDocument, _ request: borrowing Request) -> Answer {
    answerRead(request) { request in
      let query = Self.query(request)
      guard let channel = catalog.current.channel(query) else {
        return .now(Self.noApp(query, catalog.current))
      }
      // A candidate's config is asked for by its version, as the manifest's answers name it.
      if case .prefetch = document, case .number(let version) = query.version {
        let named = channel.documents.prefetch(at: version) ?? channel.documents.prefetch
        return .now(named.response(to: request))
      }
      return answer(with: document, of: channel, request)
    }
  }

  /// Answers with a document at the path under which the mirror has it, too.
  func documentByPath(
    _ document: ClientDocument, app: RawSpan, space: RawSpan, _ request: borrowing Request
  ) -> Answer {
    answerRead(request) { request in
      guard let channel = catalog.current.channel(app: app, space: space) else {
        return .now(Self.noApp(app.text, channel: space.text))
      }
      return answer(with: document, of: channel, request)
    }
  }

  private func answer(
    with document: ClientDocument, of channel: ChannelCatalog, _ request: borrowing Request
  ) -> Answer {
    switch document {
    case .prefetch: return .now(channel.documents.prefetch.response(to: request))
    case .prefetchVersion(let version):
      return .now(
        channel.documents.prefetch(at: version)?.response(to: request)
          ?? ClientFailure.notFound("prefetch config \(version) is neither the newest nor a candidate's"))
    case .policy: return .now(channel.documents.policy.response(to: request))
    case .info: return origin.info.answer(channel, request)
    case .bundle(let zip): return origin.zips.answer(channel.channel, zip, request)
    case .script(let sha256):
      let stored = StoredRequest(request)
      let store = origin.store
      return .later { Self.script(sha256, store, stored) }
    }
  }

  /// Answers with a script's bytes, which never change under their name.
  private static func script(_ sha256: SHA256, _ store: Store, _ stored: StoredRequest) -> Response {
    do {
      guard let bytes = try store.script(sha256) else {
        return ClientFailure.notFound("no script has this sha256")
      }
      let fields = HeadFields.published("application/javascript;charset=UTF-8")
      return Representation(
        fields, tag: EntityTag(String(sha256.hex.prefix(32))), body: .bytes(SharedBytes(bytes))
      ).response(to: stored.request)
    } catch {
      return ClientFailure.response(error)
    }
  }
}
