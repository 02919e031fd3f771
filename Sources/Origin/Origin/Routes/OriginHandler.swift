import HTTP
import Manifests

/// One event loop's request handler. It takes no lock for polls and for downloads that are already open.
final class OriginHandler: Handler {
  let origin: Origin
  var catalog: PublishedReader<Catalog>
  private var patches: PublishedReader<PatchCache>
  private let downloads: DownloadCache
  private let polls: PollCounter
  private var memo = PollMemo()

  init(_ origin: Origin) {
    self.origin = origin
    catalog = PublishedReader(origin.catalog)
    patches = PublishedReader(origin.builder.patches)
    downloads = DownloadCache(capacity: origin.openFiles, origin.store.changes)
    polls = origin.adoption.makeCounter()
  }

  /// Publishers' requests have workers of their own, which devices can't keep busy, and tokens take turns at them.
  func scheduling(of request: borrowing Request) -> Scheduling {
    let address = request.peer.holder.hashValue
    guard request.path.starts(with: "/api/") else { return Scheduling(.open, holder: address) }
    let lane = APIRoute.lane(of: request)
    // Nobody has checked the token yet; a wrong one costs no more than finding that out.
    let holder = request.field(.authorization)?.array.hashValue ?? address
    return Scheduling(lane, holder: holder, isInterruptible: lane == .reads)
  }

  func handle(_ request: borrowing Request) -> Answer {
    let path = request.path
    if path.equals("/configure.json") { return configure(request) }
    if path.starts(with: "/xcache") { return client(path, request) }
    if path.starts(with: "/api/") { return origin.api.answer(request) }
    return answerOther(path, request)
  }

  private func answerOther(_ path: RawSpan, _ request: borrowing Request) -> Answer {
    if let document = ClientDocument(path: path) { return answerNamed(document, request) }
    if path.equals("/report") { return failure(request) }
    if path.equals("*") { return .now(Self.wholeServer) }
    if path.equals("/healthz") { return answerRead(request) { _ in .now(Probe.alive) } }
    if path.equals("/readyz") {
      return answerRead(request) { _ in .now(origin.isReady ? Probe.ready : Probe.stopping) }
    }
    if path.equals("/metrics") {
      let metrics = origin.metrics
      return answerRead(request) { _ in .later { Probe.metrics(metrics.text) } }
    }
    if path.starts(with: "/console/") || path.equals("/"), let page = origin.pages.page(at: path) {
      return answerRead(request) { request in .now(page.response(to: request)) }
    }
    // The page refers to its files by relative URLs.
    if path.equals("/console") { return answerRead(request) { _ in .now(Self.consoleFolder) } }
    for prefix in catalog.current.prefixes {
      let prefix = prefix.span.bytes
      guard path.byteCount > prefix.byteCount, path.extracting(first: prefix.byteCount).equals(prefix) else {
        continue
      }
      let rest = path.extracting(prefix.byteCount..<path.byteCount)
      if rest.starts(with: "/xcache") { return client(rest, request) }
    }
    return .now(ClientFailure.notFound("not found"))
  }

  /// Answers the paths that the mirror has, too: `/{space}/…` (docs/protocol.md §10).
  private func client(_ path: RawSpan, _ request: borrowing Request) -> Answer {
    // The path used by older apps.
    if path.equals("/xcache-provider/xhr/client/configure.json") { return configure(request) }
    var segments = PathSegments(path)
    guard let space = segments.next(), let name = segments.next() else { return .now(Self.nothing) }
    if name.byteCount > 0, name[0] &- UInt8(ascii: "0") < 10 {
      let file = path.extracting(1..<path.byteCount)
      return answerRead(request) { request in
        origin.downloads.answer(file, whole: request.path, request, downloads)
      }
    }
    if name.equals("delta") {
      let file = path.extracting(1..<path.byteCount)
      return answerRead(request) { request in
        origin.deltas.answer(file, whole: request.path, request, downloads)
      }
    }
    guard let document = segments.next() else { return .now(Self.nothing) }
    if document.equals("pack") {
      let file = path.extracting(1..<path.byteCount)
      return answerRead(request) { request in
        let channel = catalog.current.channel(app: name, space: space)?.channel.id
        return origin.packs.answer(file, whole: request.path, of: channel, request, downloads)
      }
    }
    if let document = ClientDocument(document, segments) {
      return answer(document, app: name, space: space, request)
    }
    guard segments.isAtEnd, document.equals("configure.json") else { return .now(Self.nothing) }
    return answerRead(request) { request in
      guard let channel = catalog.current.channel(app: name, space: space) else {
        return .now(Self.noApp(name.text, channel: space.text))
      }
      let query = Self.query(request)
      return poll(channel.answering(query), query, request)
    }
  }

  /// Answers configure.json when the query names app and channel.
  private func configure(_ request: borrowing Request) -> Answer {
    if request.method == .get, let query = request.query,
      let kept = memo.entry(for: query, edition: catalog.currentEdition),
      kept.patches == PollMemo.noPatch || kept.patches == patches.currentEdition
    {
      if kept.isCounted { polls.count(kept.version, of: kept.channel) }
      return .now(kept.document.response(to: request))
    }
    return answerRead(request) { request in
      let query = Self.query(request)
      // Both editions are read before the answer: otherwise, if a release came in between, an old answer would be kept
      // under the new edition and served to polls until the next change.
      let (catalogEdition, patchEdition) = (catalog.currentEdition, patches.currentEdition)
      guard let channel = catalog.current.channel(query)?.answering(query) else {
        return .now(Self.noApp(query, catalog.current))
      }
      if let text = request.query,
        let (document, isPatch) = origin.configure.document(channel, query, patches.current)
      {
        let version = PollCounter.version(query.version, of: channel)
        memo.keep(
          document, version: version, channel: channel.channel.id, isCounted: !query.isPreview, for: text,
          edition: catalogEdition, patches: isPatch ? patchEdition : PollMemo.noPatch)
      }
      return poll(channel, query, request)
    }
  }

  private func poll(_ channel: ChannelCatalog, _ query: PollQuery, _ request: borrowing Request) -> Answer {
    if !query.isPreview {
      polls.count(PollCounter.version(query.version, of: channel), of: channel.channel.id)
    }
    return origin.configure.answer(channel, query, patches.current, request)
  }

  static func query(_ request: borrowing Request) -> PollQuery {
    guard let query = request.query else { return PollQuery() }
    return PollQuery(query)
  }

  /// Answers GET, HEAD and OPTIONS; refuses any other method (RFC 9110 §15.5.6).
  func answerRead(_ request: borrowing Request, _ answer: (borrowing Request) -> Answer) -> Answer {
    switch request.method {
    case .get, .head: answer(request)
    case .options: .now(Self.options)
    default:
      .now(
        ClientFailure.response(
          .methodNotAllowed, "only GET and HEAD are supported here", allow: "GET, HEAD, OPTIONS"))
    }
  }

  static let nothing = ClientFailure.notFound("not found")

  /// The console is a folder: redirects to its path.
  private static let consoleFolder = Response(
    .found, HeadFields([("Location", "/console/"), ("Cache-Control", "no-cache")]))

  /// The answer to `OPTIONS *`: every method that any path supports (RFC 9110 §9.3.7).
  private static let wholeServer = Response(
    .noContent, HeadFields([("Allow", "GET, HEAD, OPTIONS, PUT, POST, DELETE")]))

  private static let options = Response(
    .noContent,
    HeadFields([
      ("Allow", "GET, HEAD, OPTIONS"), ("Access-Control-Allow-Origin", "*"),
      ("Access-Control-Allow-Methods", "GET, HEAD"), ("Access-Control-Allow-Headers", "*"),
      ("Access-Control-Max-Age", "86400"),
    ]))

  static func noApp(_ query: PollQuery, _ catalog: Catalog) -> Response {
    guard let app = query.app.text ?? catalog.defaultApp?.text else {
      return ClientFailure.notFound("no app exists yet; publish one")
    }
    return noApp(app, channel: query.channel.text ?? ChannelName.online.text)
  }

  static func noApp(_ app: String, channel: String) -> Response {
    ClientFailure.notFound(
      channel == ChannelName.online.text || channel == ChannelName.online.space
        ? "no app named \"\(app)\"" : "no app named \"\(app)\" with a channel named \"\(channel)\"")
  }
}
