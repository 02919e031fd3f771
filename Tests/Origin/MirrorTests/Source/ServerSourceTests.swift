import Manifests
import SocketServer
import Store
import System
import Testing
import Values

@testable import Mirror

@Suite("A running origin as a mirror's source") struct ServerSourceTests {
  /// Runs `body` with an origin that gives every request the same answer.
  private static func with(
    _ status: Int, _ answer: String, _ requests: Locked<[String]> = Locked([]),
    _ body: (ServerSource, _ url: String) throws -> Void
  ) throws {
    let server = SocketServer { request in
      requests.withLock {
        $0.append("\(request.method) \(request.path) \(request.fields["authorization"] ?? "")")
      }
      return .answer(status, [("Content-Type", "application/json")], body: Array(answer.utf8))
    }
    try withExtendedLifetime(server) {
      try body(ServerSource(server: try BaseURL(server.url), token: "t", attempts: 1), server.url)
    }
  }

  private static let channel =
    #"{"app":"shop","appID":1,"channel":"online","digest":"\#(String(repeating: "0", count: 64))","interval":60,"#
    + #""policy":null,"prefetch":2,"publicURL":"https://cdn.example.com/hxm","scripts":[],"version":"7","#
    + #""versions":["6","7"]}"#

  @Test("A pack whose bytes don't match its name counts as lost, and the run continues without it")
  func damagedPack() throws {
    let bench = try Bench(versions: 0)
    try Self.with(200, "damaged") { source, _ in
      let state = MirroredChannelState(
        app: try AppName("shop"), appID: 1, channel: .online,
        publicURL: try BaseURL("https://cdn.example.com"),
        version: ManifestVersion(2), digest: SHA256.of([]),
        versions: [ManifestVersion(1), ManifestVersion(2)],
        extras: .none, scripts: [])
      for (bytes, isWhole) in [("damaged", true), ("good", false)] {
        let path = PackPath(
          channel: .online, app: try AppName("shop"), base: ManifestVersion(1), version: ManifestVersion(2),
          sha256: SHA256.of(Array(bytes.utf8)))
        var error: MirrorError?
        do throws(MirrorError) {
          _ = try source.file(of: path, state, at: bench.folder + "/pack")
        } catch let thrown {
          error = thrown
        }
        #expect((error == nil) == isWhole && (error?.isDamage ?? true))
      }
    }
  }

  @Test("The origin's state, as far as the token may read") func overview() throws {
    let requests = Locked<[String]>([])
    let answer =
      #"{"audit":"3:\#(String(repeating: "1", count: 64))","channels":[\#(Self.channel)],"defaultApp":"shop","#
      + #""limits":{"app":"shop","channel":null},"new":1,"origin":"o"}"#
    try Self.with(200, answer, requests) { source, _ in
      let origin = try source.origin()
      #expect(origin.id == "o" && origin.defaultApp?.text == "shop" && origin.audit?.row == 3)
      #expect(origin.readable.message == "app shop")
      let channel = try #require(try source.channels(keep: 5).first)
      #expect(channel.name.description == "shop online" && channel.versions.map(\.text) == ["6", "7"])
      #expect(channel.extras == AnswerExtras(interval: 60, prefetch: 2))
    }
    #expect(
      requests.withLock { $0 } == [
        "GET /api/v1/mirror?channels=&keep=0 Bearer t", "GET /api/v1/mirror?channels=*&keep=5 Bearer t",
      ])
  }

  @Test("An older origin has neither limits nor an audit trail") func older() throws {
    try Self.with(200, #"{"channels":[],"defaultApp":null,"origin":"o"}"#) { source, _ in
      let origin = try source.origin()
      #expect(origin.audit == nil && origin.readable == .all && origin.defaultApp == nil)
    }
  }

  @Test(
    "An invalid answer is reported with the request",
    arguments: [
      (403, #"{"code":"scope","detail":"it takes read","status":403}"#, false, "answered 403: it takes read"),
      (502, "<html>", true, "status 502 without"), (404, "<html>", false, "status 404 without"),
      (200, "<html>", false, "an answer that isn't JSON"), (200, "{}", false, "channels"),
      (
        200, #"{"channels":[\#(channel.replacing("\"appID\":1", with: "\"appID\":-1"))],"origin":"o"}"#,
        false,
        "channels[0].appID"
      ),
      (
        200, #"{"channels":[\#(channel.replacing("\"7\"", with: "\"x\""))],"origin":"o"}"#, false,
        "channels[0].version"
      ),
    ])
  func failures(status: Int, body: String, isOutage: Bool, words: String) throws {
    try Self.with(status, body) { source, url in
      let error = #expect(throws: MirrorError.self) { try source.channels(keep: 5) }
      let message = error?.description ?? ""
      #expect(error?.isOutage == isOutage)
      #expect(
        message.hasPrefix("\(url)/api/v1/mirror?channels=*&keep=5 ") && message.contains(words), "\(message)")
    }
  }

  @Test("A lease is taken once, renewed and ended") func lease() throws {
    let requests = Locked<[String]>([])
    try Self.with(200, #"{"ended":"l","id":"l"}"#, requests) { source, _ in
      for _ in 0..<2 { try source.hold(600) }
      for _ in 0..<2 { source.release() }
    }
    #expect(
      requests.withLock { $0 } == [
        "POST /api/v1/leases Bearer t", "POST /api/v1/leases/l Bearer t", "DELETE /api/v1/leases/l Bearer t",
      ])
  }
}
