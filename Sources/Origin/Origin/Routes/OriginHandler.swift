import HTTP
import Manifests

/// One event loop's request handler. It takes no lock for polls and for downloads that are already open.
final class OriginHandler: Handler {
  let origin: Origin
  var catalog: PublishedReader<Catalog>
  private var patches: PublishedReader<PatchCache>
  private let downloads: DownloadCache
  private let polls: PollCounter
  /// Whether polls are counted that shared caches may answer. Where caches are, none is: the few that come through say nothing about
  /// the fleet, whose devices count their polls themselves. What no cache keeps arrives here, and is counted here: older apps ask by
  /// other paths, and report nothing.
  private let countsShared: Bool
  private var memo = PollMemo()

  init(_ origin: Origin) {
    self.origin = origin
    catalog = PublishedReader(origin.catalog)
    patches = PublishedReader(origin.builder.patches)
    downloads = DownloadCache(capacity: origin.openFiles, origin.store.changes)
    polls = origin.adoption.makeCounter()
    countsShared = origin.configure.edge == nil
  }

  /// Publishers' requests have workers of their own, which devices can't keep busy, and tokens take turns at them.
  func scheduling(of request: borrowing Request) -> Scheduling {
    let address = request.peer.holder.hashValue
    guard request.path.starts(with: "/api/") else {
      return Scheduling(SignInRoute.at(request.path)?.lane ?? .open, holder: address)
    }
    let lane = APIRoute.lane(of: request)
    // Nobody has checked the token yet; a wrong one costs no more than finding that out.
    let secret = request.field(.authorization)?.array ?? request.field(named: "cookie")?.array
    let holder = secret?.hashValue ?? address
    return Scheduling(lane, holder: holder, isInterruptible: lane == .reads)
  }

  /// What devices ask for most comes first, and is found without allocating, as its path's bytes are.
  func handle(_ request: borrowing Request) -> Answer {
    let path = request.path
    if path.equals("/configure.json") { return pollByQuery(request, isShared: true) }
    if path.starts(with: "/xcache") { return answerMirrored(path, request) }
    if path.starts(with: "/api/") { return origin.api.answer(request) }
    if path.starts(with: "/auth/") { return origin.signIn.answer(request) }
    // A channel's public URL may have a path of its own.
    for prefix in catalog.current.prefixes {
      let prefix = prefix.span.bytes
      guard path.byteCount > prefix.byteCount, path.extracting(first: prefix.byteCount).equals(prefix) else {
        continue
      }
      let rest = path.extracting(prefix.byteCount..<path.byteCount)
      if rest.starts(with: "/xcache") { return answerMirrored(rest, request) }
    }
    if let route = OriginRoute.at(path) { return route.answer(self, request) }
    if let page = origin.pages.page(at: path) {
      return answerRead(request) { request in .now(page.response(to: request)) }
    }
    return .now(Self.nothing)
  }

  /// Answers the paths that the mirror has, too (docs/protocol.md §10): `/{space}/{app}/…`, and `/{space}/…` for downloads.
  private func answerMirrored(_ path: RawSpan, _ request: borrowing Request) -> Answer {
    // The path used by older apps.
    if path.equals("/xcache-provider/xhr/client/configure.json") {
      return pollByQuery(request, isShared: false)
    }
    var segments = PathSegments(path)
    guard let space = segments.next(), let app = segments.next() else { return .now(Self.nothing) }
    // In the place of an app, whose name begins with a letter.
    if app.byteCount > 0, app[0] &- UInt8(ascii: "0") < 10 { return file(path, request) }
    if app.equals("delta") { return delta(path, request) }
    guard let name = segments.next() else { return .now(Self.nothing) }
    if name.equals("pack") { return pack(path, app: app, space: space, request) }
    if name.equals("configure.json"), segments.isAtEnd { return pollByPath(app: app, space: space, request) }
    guard let document = ClientDocument(name, segments) else { return .now(Self.nothing) }
    return documentByPath(document, app: app, space: space, request)
  }

  // MARK: - Downloads

  private func file(_ path: RawSpan, _ request: borrowing Request) -> Answer {
    let file = path.extracting(1..<path.byteCount)
    return answerRead(request) { request in
      origin.downloads.answer(file, whole: request.path, request, downloads)
    }
  }

  private func delta(_ path: RawSpan, _ request: borrowing Request) -> Answer {
    let file = path.extracting(1..<path.byteCount)
    return answerRead(request) { request in
      origin.deltas.answer(file, whole: request.path, request, downloads)
    }
  }

  private func pack(_ path: RawSpan, app: RawSpan, space: RawSpan, _ request: borrowing Request) -> Answer {
    let file = path.extracting(1..<path.byteCount)
    return answerRead(request) { request in
      let channel = catalog.current.channel(app: app, space: space)?.channel.id
      return origin.packs.answer(file, whole: request.path, of: channel, request, downloads)
    }
  }

  // MARK: - Polls

  /// Answers configure.json where the path names app and channel.
  private func pollByPath(app: RawSpan, space: RawSpan, _ request: borrowing Request) -> Answer {
    answerRead(request) { request in
      guard let channel = catalog.current.channel(app: app, space: space) else {
        return .now(Self.noApp(app.text, channel: space.text))
      }
      let query = Self.query(request)
      return answer(.init(channel: channel.answering(query), query: query, isShared: false), request)
    }
  }

  /// Answers configure.json where the query names app and channel. Shared caches may keep answers only if `isShared`.
  @inline(__always)
  private func pollByQuery(_ request: borrowing Request, isShared: Bool) -> Answer {
    guard let kept = rememberedPoll(request) else { return firstPoll(request, isShared: isShared) }
    if kept.isCounted, countsShared || !isShared { polls.count(kept.version, of: kept.channel) }
    return .now((isShared ? kept.shared : kept.document).response(to: request))
  }

  /// Answers a query that isn't remembered. Apart, so that the way of nearly all polls is short.
  @inline(never)
  private func firstPoll(_ request: borrowing Request, isShared: Bool) -> Answer {
    answerRead(request) { request in
      let query = Self.query(request)
      // Both editions are read before the answer: otherwise, if a release came in between, an old answer would be kept
      // under the new edition and served to polls until the next change.
      let editions = (catalog: catalog.currentEdition, patches: patches.currentEdition)
      guard let channel = catalog.current.channel(query)?.answering(query) else {
        return .now(Self.noApp(query, catalog.current))
      }
      let poll = ConfigureEndpoint.Poll(channel: channel, query: query, isShared: isShared)
      guard let (document, shared, isPatch) = origin.configure.rendered(poll, patches.current) else {
        return answer(poll, request)
      }
      if let text = request.query {
        memo.keep(
          document, shared: shared, version: PollCounter.version(query.version, of: channel),
          channel: channel.channel.id, isCounted: !query.isPreview, for: text, edition: editions.catalog,
          patches: isPatch ? editions.patches : PollMemo.noPatch)
      }
      count(poll)
      return .now((isShared ? shared : document).response(to: request))
    }
  }

  /// Returns the answer that the same query got, if nothing has changed since.
  @inline(__always)
  private func rememberedPoll(_ request: borrowing Request) -> PollMemo.Entry? {
    guard request.method == .get, let query = request.query,
      let kept = memo.entry(for: query, edition: catalog.currentEdition),
      kept.patches == PollMemo.noPatch || kept.patches == patches.currentEdition
    else { return nil }
    return kept
  }

  private func answer(_ poll: ConfigureEndpoint.Poll, _ request: borrowing Request) -> Answer {
    count(poll)
    return origin.configure.answer(poll, patches.current, request)
  }

  private func count(_ poll: ConfigureEndpoint.Poll) {
    guard !poll.query.isPreview, countsShared || !poll.isShared else { return }
    polls.count(PollCounter.version(poll.query.version, of: poll.channel), of: poll.channel.channel.id)
  }

  // MARK: - What is common to them

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
