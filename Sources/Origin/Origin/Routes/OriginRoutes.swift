import HTTP

/// What the origin answers under a path of its own, besides the API and what mirrors have, too.
struct OriginRoute: Sendable {
  typealias Act = @Sendable (OriginHandler, borrowing Request) -> Answer

  private let path: StaticString
  let answer: Act

  private init(_ path: StaticString, _ answer: @escaping Act) {
    self.path = path
    self.answer = answer
  }

  /// A route that answers GET, HEAD and OPTIONS, and refuses other methods.
  private static func read(_ path: StaticString, _ answer: @escaping Act) -> OriginRoute {
    OriginRoute(path) { handler, request in
      handler.answerRead(request) { request in answer(handler, request) }
    }
  }

  /// A document of the channel that the query names.
  private static func document(_ path: StaticString, _ document: ClientDocument) -> OriginRoute {
    OriginRoute(path) { handler, request in handler.documentByQuery(document, request) }
  }

  /// All of them.
  static let all: [OriginRoute] = [
    document("/prefetchConfig", .prefetch),
    document("/prefetchConfig.json", .prefetch),
    document("/policy.json", .policy),
    document("/info.json", .info),
    document("/head.json", .head),
    OriginRoute("/report") { handler, request in handler.failure(request) },
    OriginRoute("*") { _, _ in .now(wholeServer) },
    read("/healthz") { _, _ in .now(Probe.alive) },
    read("/readyz") { handler, _ in .now(handler.origin.isReady ? Probe.ready : Probe.stopping) },
    read("/metrics") { handler, _ in
      let metrics = handler.origin.metrics
      return .later { Probe.metrics(metrics.text) }
    },
    // The page refers to its files by relative URLs.
    read("/console") { _, _ in .now(consoleFolder) },
  ]

  /// Returns the route of a path; nil if there is none.
  static func at(_ path: RawSpan) -> OriginRoute? {
    for route in all where path.equals(route.path) { return route }
    return nil
  }

  /// The console is a folder: redirects to its path.
  private static let consoleFolder = Response(
    .found, HeadFields([("Location", "/console/"), ("Cache-Control", "no-cache")]))

  /// The answer to `OPTIONS *`: every method that any path supports (RFC 9110 §9.3.7).
  private static let wholeServer = Response(
    .noContent, HeadFields([("Allow", "GET, HEAD, OPTIONS, PUT, POST, DELETE")]))
}
