import Testing
import Values

/// Releases that are looked at, by the real listener.
@Suite("The listener of previews") struct PreviewListenerTests {
  private static let options = ["--preview-listen", "127.0.0.1:0"]

  /// The port in the line that says where previews are.
  private static func port(of site: Site) throws -> UInt16 {
    let line = site.server.standardError.split(separator: "\n").first {
      $0.contains("previews of releases at")
    }
    return try #require(line?.split(separator: ":").last.flatMap { UInt16($0) })
  }

  private static func ask(_ port: UInt16, _ host: String, _ path: String, _ method: String = "GET") throws
    -> Web.Answer
  {
    let socket = try WebSocket(port)
    socket.send(
      Array(
        "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\nAccept: text/html\r\n\r\n".utf8))
    return try Web.answer(try socket.receiveAll(), to: method)
  }

  @Test("It answers a page under its ticket and nothing else, and origin and console don't answer there")
  func shown() throws {
    try Site.with(Self.options) { site in
      let port = try Self.port(of: site)
      _ = try site.publish([
        "index.html": "<!doctype html><body>x<script src=\"\(Site.base)/a.js\"></script>", "a.js": "1",
      ])
      let opened = try site.api("POST", "apps/shop/channels/online/preview", ["version": "1"])
      #expect(opened.status == 200, "\(opened.json)")
      let url = try #require(opened.json["url"]?.string)
      let host = try #require(url.split(separator: "/").dropFirst().first.map(String.init))
      #expect(host.hasSuffix(".localhost:\(port)"))
      let path = String(url.dropFirst("http://\(host)".utf8.count))
      let page = try Self.ask(port, host, path)
      #expect(page.status == 200 && page.text.contains("src=\"http://\(host)/"), "\(page.text)")
      #expect(
        page["content-security-policy"]?.contains("frame-ancestors") == true && page["set-cookie"] == nil)
      #expect(try Self.ask(port, host, path, "HEAD").status == 200)
      #expect(try Self.ask(port, host, path, "POST").status == 405)
      #expect(try Self.ask(port, "127.0.0.1:\(port)", path).status == 421)
      for other in ["/api/v1/token", "/console/", "/metrics"] {
        #expect(try Self.ask(port, host, other).status == 404, "\(other)")
      }
      // Nor is a preview where devices ask.
      #expect(try Self.ask(site.port, host, path).status == 404)
      let policy = try site.web.ask("/console/")["content-security-policy"]
      #expect(policy?.contains("frame-src http://*.localhost:\(port)") == true, "\(policy ?? "")")
    }
  }

  @Test("Clients that hold all its connections hold up no poll") func flood() throws {
    try Site.with(Self.options) { site in
      let port = try Self.port(of: site)
      _ = try site.publish(["index.html": "<!doctype html><body>x"])
      let held = try (0..<300).map { _ in try WebSocket(port) }
      for socket in held { socket.send(Array("GET / HTTP/1.1\r\nHost: a".utf8)) }
      #expect(try site.web.ask("/configure.json?app=shop&version=0").status == 200)
      #expect(try site.api("GET", "token").status == 200)
      withExtendedLifetime(held) {}
    }
  }
}
