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
    case .head, .root: return trust(document, of: channel, request)
    case .bundle(let zip): return origin.zips.answer(channel.channel, zip, request)
    case .script(let sha256):
      let stored = StoredRequest(request)
      let store = origin.store
      return .later { Self.script(sha256, store, stored) }
    }
  }

  /// Answers with a head or a root. Devices ask for a head once a day at most, and for a root once.
  private func trust(
    _ document: ClientDocument, of channel: ChannelCatalog, _ request: borrowing Request
  ) -> Answer {
    guard let newest = channel.extras.root else {
      return .now(ClientFailure.notFound("app \(channel.channel.app) has no root"))
    }
    let stored = StoredRequest(request)
    let (store, info) = (origin.store, channel.channel)
    switch document {
    case .root(let number) where number <= newest:
      return .later { Self.root(number, of: info.app, store, stored) }
    case .root(let number):
      // The next one will have this path, so this answer must not be cached.
      return .now(
        ClientFailure.response(
          .notFound, "app \(info.app) has no root \(number); the newest is \(newest)",
          cacheControl: "no-store"))
    default:
      let heads = origin.builder.heads
      return .later {
        heads.ensure(channel)
        return Self.head(of: info, store, stored)
      }
    }
  }

  private static func head(of channel: ChannelInfo, _ store: Store, _ stored: StoredRequest) -> Response {
    do {
      guard let bytes = try store.headDocument(of: channel) else {
        return ClientFailure.notFound("channel \(channel.name) of app \(channel.app) has no head")
      }
      return CodedDocument.json(bytes).response(to: stored.request)
    } catch {
      return ClientFailure.response(error)
    }
  }

  private static func root(_ number: Int64, of app: AppName, _ store: Store, _ stored: StoredRequest)
    -> Response
  {
    do {
      guard let bytes = try store.rootDocument(of: app, number) else {
        return ClientFailure.notFound("root \(number) of app \(app) is not kept")
      }
      return Representation(
        .published("application/json"), tag: EntityTag(String(SHA256.of(bytes).hex.prefix(32))),
        body: .bytes(SharedBytes(bytes))
      ).response(to: stored.request)
    } catch {
      return ClientFailure.response(error)
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
