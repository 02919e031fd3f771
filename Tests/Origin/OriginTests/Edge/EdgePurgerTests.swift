import HTTP
import Manifests
import OriginAPI
import SocketServer
import System
import TestSupport
import Testing
import Values

@testable import Origin

/// Purges, sent to real servers that behave in every way.
@Suite struct EdgePurgerTests {
  /// An edge, and what it was sent.
  private final class Server: Sendable {
    private let requests = Locked<[(at: UInt64, request: SocketServer.Request)]>([])
    private let steps = Locked<[SocketServer.Step]>(.answer())
    private let server = Locked<SocketServer?>(nil)

    init(_ steps: [SocketServer.Step] = .answer()) {
      self.steps.withLock { $0 = steps }
      let server = SocketServer { [requests, steps = self.steps] request in
        requests.withLock { $0.append((Clock.monotonicNanoseconds(), request)) }
        return steps.withLock { $0 }
      }
      self.server.withLock { $0 = server }
    }

    var url: String { server.withLock { $0?.url ?? "" } }
    var connections: Int { server.withLock { $0?.connections ?? 0 } }
    var all: [SocketServer.Request] { requests.withLock { $0.map(\.request) } }
    var tags: [String] { all.compactMap { $0.fields["xcache-tag"] } }

    func answer(_ steps: [SocketServer.Step]) { self.steps.withLock { $0 = steps } }
  }

  private let log = Locked<[String]>([])

  private func purger(_ targets: EdgePurgeTarget...) throws -> EdgePurger {
    let purger = EdgePurger(targets) { [log] line in log.withLock { $0.append(line) } }
    try purger.start(Published(Catalog()))
    return purger
  }

  private static func varnish(_ server: Server, token: String? = "s3cret") throws -> EdgePurgeTarget {
    EdgePurgeTarget(.varnish(try BaseURL(server.url)), token: token)
  }

  private static func change(_ channel: String, urgent: Bool = false) throws -> EdgeChange {
    EdgeChange(purge: EdgePurge(try AppName("shop"), try ChannelName(channel)), isUrgent: urgent)
  }

  private static func wait(_ seconds: Double = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Clock.monotonicNanoseconds() + UInt64(seconds * 1e9)
    while try !condition() {
      if Clock.monotonicNanoseconds() > end { return false }
      Clock.sleep(for: .milliseconds(5))
    }
    return true
  }

  @Test func sendsTwiceOverOneConnection() throws {
    let server = Server()
    let purger = try purger(try Self.varnish(server))
    defer { purger.finish() }
    purger.add([try Self.change("online"), try Self.change("test")])
    #expect(Self.wait { server.all.count == 4 })
    #expect(
      server.tags == ["xcache:shop:online", "xcache:shop:test", "xcache:shop:online", "xcache:shop:test"])
    #expect(server.all.allSatisfy { $0.method == "BAN" && $0.path == "/" && $0.body.isEmpty })
    #expect(server.all.allSatisfy { $0.fields["authorization"] == "Bearer s3cret" })
    #expect(server.connections == 1)
    // The last answer may still be on its way.
    #expect(
      Self.wait {
        purger.prometheusText.contains(
          "xcache_edge_purge_attempts_total{edge=\"varnish \(server.url)\",result=\"done\"} 4")
      })
    #expect(purger.states.map(\.waiting) == [0] && log.withLock { $0 } == [])
  }

  @Test func theAPIsOfCDNsGetBatches() throws {
    let server = Server(.answer(body: Array(#"{"success":true}"#.utf8)))
    let purger = try purger(
      EdgePurgeTarget(.fastly(service: "SU1Z"), token: "f", api: server.url),
      EdgePurgeTarget(.cloudflare(zone: "023e"), token: "c", api: server.url))
    defer { purger.finish() }
    purger.add(try (0..<100).map { try Self.change("c\($0)") })
    func bodies(_ path: String, _ member: String) throws -> [Int] {
      try server.all.filter { $0.path == path }.map {
        try JSONValue.parse($0.body)[member]?.array?.count ?? 0
      }
    }
    #expect(
      try Self.wait {
        try bodies("/service/SU1Z/purge", "surrogate_keys") == [100, 100]
          && bodies("/zones/023e/purge_cache", "tags") == [30, 30, 30, 10, 30, 30, 30, 10]
      })
    #expect(server.all.allSatisfy { $0.fields["content-type"] == "application/json" })
  }

  /// Whatever one edge does, the other one gets its purges at once, and both in the end. The log tells of what is late or refused.
  @Test(
    arguments: [
      ("hangs", [.sleep(milliseconds: 20_000)], "took too long to answer", true),
      ("401", .answer(401), "status 401: XCACHE_PURGE_TOKEN isn't accepted", true),
      (
        "redirects", .answer(302, [("Location", "http://127.0.0.1:1/")]),
        "status 302: redirects aren't followed", true
      ),
      ("500", .answer(500), "status 500", false), ("closes", [.close], "closed the connection", false),
      ("resets", [.reset], "closed the connection", false),
      ("no HTTP", [.send(Array("hello\r\n\r\n".utf8)), .close], "can't be read", false),
      (
        "breaks off", [.send(Array("HTTP/1.1 200 OK\r\nContent-".utf8)), .close], "closed the connection",
        false
      ),
    ] as [(String, [SocketServer.Step], String, Bool)])
  func anEdgeThatFails(name: String, steps: [SocketServer.Step], words: String, isLogged: Bool) throws {
    let (bad, good) = (Server(steps), Server())
    let purger = try purger(try Self.varnish(bad), try Self.varnish(good))
    defer { purger.finish() }
    purger.add([try Self.change("online")])
    #expect(Self.wait { good.all.count == 1 })
    #expect(Self.wait { purger.states[1].waiting == 0 && purger.states[0].fault != nil })
    let state = purger.states[0]
    #expect(state.waiting == 1 && state.fault?.contains(words) == true, "\(state)")
    #expect(purger.states[1].fault == nil)
    if isLogged { #expect(Self.wait { log.withLock { !$0.isEmpty } }) }
    bad.answer(.answer())
    // A change leads to an attempt, though the next one of what failed may be far.
    purger.add([try Self.change("test")])
    #expect(Self.wait { purger.states[0].waiting == 0 && purger.states[0].fault == nil })
    #expect(Set(bad.tags.suffix(4)) == ["xcache:shop:test", "xcache:shop:online"])
    let lines = log.withLock { $0 }
    if isLogged {
      #expect(lines.count == 2, "\(lines)")
      #expect(lines.first?.hasPrefix("warning: edge varnish \(bad.url): a purge failed: ") == true)
      #expect(lines.last == "edge varnish \(bad.url): purges are taken again")
    }
    let told = lines.joined() + purger.prometheusText + (state.fault ?? "") + state.name
    #expect(!told.contains("s3cret"))
  }

  /// What an edge redirects to gets neither the request nor the token.
  @Test func redirectsAreNotFollowed() throws {
    let other = Server()
    let server = Server(.answer(307, [("Location", other.url + "/steal")]))
    let purger = try purger(try Self.varnish(server))
    defer { purger.finish() }
    purger.add([try Self.change("online")])
    #expect(Self.wait { server.all.count >= 2 })
    #expect(other.connections == 0)
  }

  @Test func labelsAreEscaped() {
    #expect(EdgePurger.label("http http://h:1") == "http http://h:1")
    #expect(EdgePurger.label("a\\b\"c\nd") == #"a\\b\"c\nd"#)
  }

  @Test func theKillSwitchOvertakesManyReleases() throws {
    let server = Server([.sleep(milliseconds: 20)] + .answer())
    let purger = try purger(try Self.varnish(server))
    defer { purger.finish() }
    purger.add(try (0..<200).map { try Self.change("c\($0)") })
    #expect(Self.wait { server.all.count >= 3 })
    let before = server.all.count
    purger.add([try Self.change("c199", urgent: true)])
    #expect(Self.wait { server.tags.contains("xcache:shop:c199") })
    let place = try #require(server.tags.firstIndex(of: "xcache:shop:c199"))
    #expect(place <= before + 3, "\(before), \(place)")
    #expect(Self.wait(60) { purger.states[0].waiting == 0 })
    #expect(Set(server.tags).count == 200)
  }

  /// Changes of many threads at once: none is lost, none is sent more often than twice per change.
  @Test func manyChannelsAtOnce() throws {
    let server = Server()
    let purger = try purger(try Self.varnish(server))
    defer { purger.finish() }
    let changes = try (0..<8).map { part in try (0..<50).map { try Self.change("c\(part)-\($0)") } }
    let threads = try changes.map { part in
      try OSThread(name: "changes") { for change in part { purger.add([change]) } }
    }
    for thread in threads { thread.join() }
    #expect(Self.wait(60) { server.all.count == 800 })
    #expect(Set(server.tags).count == 400)
  }

  // MARK: - The end

  /// What waits is sent once more: a release right before a restart isn't left to its age.
  @Test func theEndSendsWhatWaits() throws {
    let server = Server()
    let purger = try purger(try Self.varnish(server))
    purger.add(try (0..<20).map { try Self.change("c\($0)") })
    purger.finish()
    #expect(Set(server.tags).count == 20)
  }

  @Test func theEndWaitsForNoEdge() throws {
    let servers = (0..<4).map { _ in Server([.sleep(milliseconds: 20_000)]) }
    let targets = try servers.map { try Self.varnish($0) }
    let purger = EdgePurger(targets) { _ in }
    try purger.start(Published(Catalog()))
    purger.add([try Self.change("online")])
    #expect(Self.wait { servers.allSatisfy { $0.all.count == 1 } })
    purger.add(try (0..<200).map { try Self.change("c\($0)") })
    let start = Clock.monotonicNanoseconds()
    purger.finish()
    let milliseconds = (Clock.monotonicNanoseconds() - start) / 1_000_000
    #expect(milliseconds < 1500, "\(milliseconds)")
  }

  // MARK: - In an origin

  /// The process before may have been killed between a change and its purge.
  @Test func aStartPurgesEveryChannelTwice() throws {
    let server = Server()
    let target = try Self.varnish(server)
    let origin = try TestOrigin { options in
      options.edge = EdgePolicy(ttl: 10)
      options.purges = [target]
    }
    try origin.publish(["a.js": "1"])
    try origin.publish(["a.js": "1"], channel: "test")
    #expect(server.connections == 0)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.finish() }
    #expect(Self.wait { server.all.count == 4 })
    #expect(
      server.tags == ["xcache:shop:online", "xcache:shop:test", "xcache:shop:online", "xcache:shop:test"])
  }

  @Test func anOriginPurgesAndTells() throws {
    let server = Server(.answer(503))
    let target = try Self.varnish(server)
    let origin = try TestOrigin { options in
      options.edge = EdgePolicy(ttl: 10)
      options.purges = [target]
    }
    try origin.publish(["a.js": "1"])
    try origin.publish(["a.js": "1"], channel: "test")
    try origin.origin.startBackgroundWork()
    defer { origin.origin.finish() }
    #expect(try origin.api("GET", "overview").json["edges"]?.array?.count == 1)
    try origin.publish(["a.js": "2"])
    #expect(Self.wait { server.tags.first == "xcache:shop:online" })
    let overview = try Self.waitForJSON {
      try origin.api("GET", "overview").json
    } until: { json in
      json["problems"]?.array?.contains { $0["code"]?.string == "edge" } == true
    }
    let problem = overview["problems"]?.array?.first { $0["code"]?.string == "edge" }
    #expect(
      problem?["detail"]?.string?.contains(
        "2 channels wait, and devices may get answers that are up to 30 s old. The last attempt: status 503")
        == true,
      "\(overview)")
    #expect(overview["edges"]?.array?.first?["fault"]?.string == "status 503")
    #expect(!String(decoding: overview.canonical, as: UTF8.self).contains("s3cret"))
    let edge = try origin.api("GET", "apps/shop/channels/online").json["edge"]
    #expect(edge == ["oldest": 30, "purged": 10, "ttl": 10])
    let late = try origin.api("GET", "apps/shop/channels/online").json["edges"]?.array
    #expect(late?.count == 1 && late?[0]["name"]?.string == "varnish \(server.url)")
    #expect(late?[0]["isTold"]?.bool == false && late?[0]["lateSince"]?.string != nil)
    #expect(late?[0]["fault"]?.string == "status 503")
    // Tokens of one app see nothing of the origin's edges, but which don't know their channel's last change.
    let token = try origin.api("POST", "tokens", ["name": "ci", "scope": "publish", "app": "shop"])
    let seen = try origin.api("GET", "overview", token: token.json["token"]?.string).json
    #expect(seen["edges"] == nil && seen["problems"]?.array?.isEmpty == true, "\(seen)")
    let channel = try origin.api("GET", "apps/shop/channels/online", token: token.json["token"]?.string).json
    let edges = channel["edges"]?.array
    #expect(edges?.count == 1 && edges?[0]["lateSince"]?.string != nil, "\(channel)")
    #expect(edges?[0]["isTold"]?.bool == false && edges?[0]["fault"] == .null, "\(channel)")
    // The start purges each channel, since nobody knows what the process before had left.
    let other = try origin.api("GET", "apps/shop/channels/test").json["edges"]?.array
    #expect(
      other?[0]["isTold"]?.bool == false && other?[0]["fault"]?.string == "status 503", "\(other ?? [])")
  }

  private static func waitForJSON(_ read: () throws -> JSONValue, until: (JSONValue) -> Bool) throws
    -> JSONValue
  {
    var json = try read()
    _ = try wait {
      json = try read()
      return until(json)
    }
    return json
  }

  @Test func boundsWithoutPurges() throws {
    let cases: [(EdgePolicy, JSONValue)] = [
      (EdgePolicy(ttl: 10), ["oldest": 30, "purged": .null, "ttl": 10]),
      (EdgePolicy(ttl: 3), ["oldest": 9, "purged": .null, "ttl": 3]),
      (EdgePolicy(ttl: 10, header: .sMaxAge), ["oldest": .null, "purged": .null, "ttl": 10]),
    ]
    for (policy, bound) in cases {
      let origin = try TestOrigin { $0.edge = policy }
      try origin.publish(["a.js": "1"])
      let channel = try origin.api("GET", "apps/shop/channels/online").json
      #expect(channel["edge"] == bound && channel["edges"] == nil)
      #expect(!origin.origin.metrics.current.contains("xcache_edge"))
    }
    let origin = try TestOrigin()
    try origin.publish(["a.js": "1"])
    #expect(try origin.api("GET", "apps/shop/channels/online").json["edge"] == nil)
    #expect(try origin.api("GET", "overview").json["edges"] == nil)
  }
}
