import SocketServer
import System
import Testing
import TestSupport
import Values

/// `serve --purge` as a process: what caches are sent after acts, what people are told, and the end.
@Suite struct EdgePurgeTests {
  /// A cache that answers with a status, and what it was sent: the method, the path and the tag.
  private final class Cache: Sendable {
    private let lines = Locked<[String]>([])
    private let status = Locked(200)
    private let server = Locked<SocketServer?>(nil)

    init(status: Int = 200) {
      self.status.withLock { $0 = status }
      let server = SocketServer { [lines, status = self.status] request in
        lines.withLock {
          $0.append("\(request.method) \(request.path) \(request.fields["xcache-tag"] ?? "-")")
        }
        return .answer(status.withLock { $0 })
      }
      self.server.withLock { $0 = server }
    }

    var url: String { server.withLock { $0?.url ?? "" } }
    var sent: [String] { lines.withLock { $0 } }

    func answer(_ status: Int) { self.status.withLock { $0 = status } }
  }

  private static func done(_ site: Site, _ words: String...) throws -> String {
    let outcome = try Outcome(try site.start(words))
    #expect(outcome.exitCode == 0, "\(words): \(outcome.errors)")
    return outcome.output
  }

  @Test func actsAreTold() throws {
    let (cache, hook) = (Cache(), Cache())
    let options = [
      "--edge-ttl", "10", "--purge", "varnish:\(cache.url)", "--purge",
      "http:\(hook.url)/{app}/{channel}?tag={tag}",
    ]
    try Site.with(options) { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      let ban = "BAN / xcache:shop:online"
      #expect(Wait.until(20) { cache.sent.count { $0 == ban } >= 2 })
      let post = "POST /shop/online?tag=xcache:shop:online xcache:shop:online"
      #expect(Wait.until(20) { hook.sent.contains(post) })
      let before = cache.sent.count
      let killed = try site.run(
        "policy", "kill", "--app", "shop", "-m", "it burns", "--until-resumed")
      #expect(killed.exitCode == 0 && killed.errors.contains("2 of 2 caches told"), "\(killed.errors)")
      #expect(Wait.until(20) { cache.sent.count >= before + 2 })
      let shown = try Self.done(site, "channel", "show", "--app", "shop")
      let line =
        "edge       devices ask caches, which have a change within 10 s by purge, within 30 s if a purge fails"
      #expect(shown.contains(line), "\(shown)")
      let status = try Self.done(site, "status", "--app", "shop")
      #expect(status.contains(line) && !status.contains("EDGE"), "\(status)")
      let metric = "xcache_edge_purge_attempts_total{edge=\"varnish \(cache.url)\",result=\"done\"}"
      #expect(try site.web.ask("/metrics").text.contains(metric))
      #expect(site.server.standardError.contains("edge varnish \(cache.url): told to drop"))
      #expect(!site.server.standardError.contains("{app}"))
    }
  }

  /// A cache that takes nothing is told of once in the log, by `status`, and by metrics; and it doesn't hold up the end.
  @Test func aCacheThatRefuses() throws {
    let (cache, other) = (Cache(status: 403), Cache())
    let options = ["--edge-ttl", "10", "--purge", "nginx:\(cache.url)/p", "--purge", "varnish:\(other.url)"]
    try Site.with(options) { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      #expect(Wait.until(20) { !other.sent.isEmpty })
      #expect(Wait.until(20) { cache.sent.contains("PURGE /p/shop/online xcache:shop:online") })
      let warning =
        "warning: edge nginx \(cache.url): a purge failed: status 403: XCACHE_PURGE_TOKEN isn't set"
      #expect(Wait.until(20) { site.server.standardError.contains(warning) })
      #expect(
        try Wait.until(20) {
          try Self.done(site, "status").contains("The edge nginx \(cache.url) has not taken a purge")
        })
      #expect(site.server.standardError.split(separator: "\n").count { $0.contains("a purge failed") } == 1)
      #expect(
        site.server.standardError.contains("warning: edge nginx \(cache.url): XCACHE_PURGE_TOKEN isn't set;"))
      // The channel's own state says so, too, also to those whose token is limited to the app.
      let line = "EDGE: The edge nginx \(cache.url) has not taken this channel's purge since"
      #expect(try Self.done(site, "status", "--app", "shop").contains(line))
      #expect(try Self.done(site, "channel", "show", "--app", "shop").contains(line))
      let document = try JSONValue.parse(
        Array(try Self.done(site, "status", "--app", "shop", "--json").utf8))
      #expect(document["edges"]?.array?.map { $0["isTold"]?.bool } == [false, true], "\(document)")
      let killed = try site.run("policy", "kill", "--app", "shop", "-m", "it burns")
      #expect(
        killed.exitCode == 0
          && killed.errors.contains("1 of 2 caches told; not told yet: nginx \(cache.url) (status 403"),
        "\(killed.errors)")
      _ = try Self.done(site, "policy", "resume", "--app", "shop")
      cache.answer(200)
      try site.publish(["a.js": "3"])
      #expect(
        Wait.until(20) {
          site.server.standardError.contains("edge nginx \(cache.url): purges are taken again")
        })
      cache.answer(500)
      try site.publish(["a.js": "4"])
    }
  }
}
