import HTTP
import Manifests
import Store
import System
import Testing
import TestSupport
import Values

@testable import Origin

/// Releases that are looked at: tickets, what is answered under them, and what isn't.
@Suite struct PagePreviewTests {
  private static let preview = "apps/shop/channels/online/preview"

  /// An origin with a listener for previews, and that listener.
  private struct Site {
    let origin: TestOrigin
    let handler: any Handler

    init(console: String? = nil, clock: (@Sendable () -> Int64)? = nil) throws {
      origin = try TestOrigin(
        { options in
          options.preview = PreviewAddress(localPort: 8081)
          options.consoleOrigin = console
        }, clock: clock)
      handler = try #require(origin.origin.makePreviewHandler())
    }

    /// Asks the listener of previews for what is at a URL.
    func look(_ url: String, _ lines: [String] = []) throws -> TestOrigin.Reply {
      try look("GET", url, lines)
    }

    func look(_ method: String, _ url: String, _ lines: [String] = []) throws -> TestOrigin.Reply {
      let rest = url.dropFirst("http://".count)
      let host = rest.prefix { $0 != "/" }
      let target = rest.dropFirst(host.count)
      var bytes = Array(
        ("\(method) \(target.isEmpty ? "/" : target) HTTP/1.1\r\nHost: \(host)\r\n"
          + lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
      var parser = RequestParser()
      guard case .complete = parser.parse(bytes.span.bytes, limits: RequestLimits()) else {
        throw TestOrigin.BadRequest(text: String(decoding: bytes, as: UTF8.self))
      }
      var head = parser.head
      if head.pathNeedsNormalising {
        bytes.withUnsafeMutableBytes {
          var span = $0.mutableBytes
          head.path = PathNormaliser.normalise(&span, head.path)
        }
      }
      return origin.finish(handler.handle(Request(head, in: bytes.span.bytes, from: .unknown)))
    }

    func open(
      _ page: String? = nil, version: String? = nil, token: String? = nil, from console: String? = nil
    )
      throws -> TestOrigin.Reply
    {
      var body = JSONObject()
      body["page"] = page.map { .string($0) }
      body["version"] = version.map { .string($0) }
      return try origin.ask(
        "POST", "/api/v1/\(PagePreviewTests.preview)",
        ["Authorization: Bearer \(token ?? origin.token)"] + (console.map { ["Origin: \($0)"] } ?? []),
        body: JSONValue.object(body).canonical)
    }

    /// Opens a page, and returns where it is.
    func url(_ page: String? = nil, version: String? = nil, from console: String? = nil) throws -> String {
      let reply = try open(page, version: version, from: console)
      #expect(reply.status == 200, "\(reply.text)")
      return try #require(reply.json["url"]?.string)
    }
  }

  private static let page =
    "<!doctype html><script src=\"https://m.example.com/shop/app.js\"></script><a href=\"https://other.example.com/\">"

  @Test func offWithoutListener() throws {
    let origin = try TestOrigin()
    try origin.publish(["shop/index.html": Self.page])
    let reply = try origin.api("POST", Self.preview, [:])
    #expect(reply.status == 409 && reply.json["code"]?.string == "preview-off")
    #expect(reply.json["detail"]?.string?.contains("--preview-listen") == true)
    #expect(origin.origin.makePreviewHandler() == nil)
    #expect(
      try origin.ask("GET", "/console/").field("Content-Security-Policy")?.contains("frame-src") == false)
  }

  @Test func consoleMayFrameThemOnly() throws {
    let site = try Site()
    let policy = try #require(try site.origin.ask("GET", "/console/").field("Content-Security-Policy"))
    #expect(policy.hasSuffix("; frame-src http://*.localhost:8081") && policy.hasPrefix("default-src 'none'"))
    #expect(policy.contains("frame-ancestors 'none'"))
  }

  @Test func pageIsShownUnderItsTicket() throws {
    let site = try Site()
    try site.origin.publish([
      "shop/index.html": Self.page, "shop/app.js": "load('//m.example.com/shop/x')", "p.png": "png",
    ])
    let reply = try site.open("https://m.example.com/shop/index.html#/cart", from: "http://127.0.0.1:8080")
    let url = try #require(reply.json["url"]?.string)
    let host = try #require(url.dropFirst("http://".count).split(separator: "/").first)
    #expect(host.hasSuffix(".localhost:8081") && host.prefix { $0 != "." }.utf8.count == 26)
    #expect(url.hasSuffix("/shop/index.html"))
    #expect(reply.json["pages"] == .strings(["https://m.example.com/shop/index.html"]))
    #expect(reply.json["version"]?.string == "1" && reply.json["pagesLeftOut"]?.integer == 0)
    let shown = try site.look(url)
    #expect(shown.status == 200 && shown.field("Content-Type")?.hasPrefix("text/html") == true)
    #expect(
      shown.text.contains("src=\"http://\(host)/shop/app.js\"")
        && shown.text.contains("https://other.example.com/"))
    let policy = try #require(shown.field("Content-Security-Policy"))
    #expect(
      policy.hasPrefix(
        "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; frame-ancestors http://127.0.0.1:8080 'self'; "
      ))
    #expect(policy.contains("form-action 'none'") && policy.contains("sandbox allow-scripts"))
    #expect(
      !policy.contains("allow-top-navigation") && !policy.contains("allow-popups") && !policy.contains("*"))
    #expect(shown.field("Cache-Control") == "no-store" && shown.field("X-Content-Type-Options") == "nosniff")
    #expect(shown.field("Referrer-Policy") == "no-referrer" && shown.field("Origin-Agent-Cluster") == "?1")
    #expect(shown.field("Set-Cookie") == nil && shown.field("Access-Control-Allow-Origin") == nil)
    let script = try site.look("http://\(host)/shop/app.js", ["Sec-Fetch-Dest: script"])
    #expect(script.text == "load('//\(host)/shop/x')" && script.field("Accept-Ranges") == nil)
    #expect(script.field("Content-Length") == "\(script.body.count)")
    let image = try site.look("http://\(host)/p.png", ["Range: bytes=1-2"])
    #expect(image.status == 206 && image.text == "ng")
    #expect(try site.look("HEAD", "http://\(host)/p.png").field("Content-Length") == "3")
  }

  /// A release says what an entry's answer has besides its type; a preview's own policy decides.
  @Test func headersOfEntriesAreNotSent() throws {
    let site = try Site()
    let headers = try EntryHeaders(json: ["Content-Security-Policy": "default-src *"])
    try site.origin.publish(["index.html": Self.page], headers: headers)
    let shown = try site.look(site.url())
    #expect(shown.head.lowercased().ranges(of: "content-security-policy:").count == 1)
    #expect(shown.field("Content-Security-Policy")?.contains("default-src *") == false)
  }

  @Test func onlyLiveTicketsAreAnswered() throws {
    let now = Locked<Int64>(1_700_000_000_000)
    let site = try Site(clock: { now.withLock { $0 } })
    try site.origin.publish(["index.html": Self.page])
    let url = try site.url()
    let host = try #require(url.dropFirst("http://".count).split(separator: "/").first)
    #expect(try site.look(url).status == 200)
    for other in ["127.0.0.1:8081", "localhost:8081", "evil.org", "x.\(host)", "localhost"] {
      #expect(try site.look("http://\(other)/index.html").status == 421, "\(other)")
    }
    #expect(try site.look("http://aaaaaaaaaaaaaaaaaaaaaaaaaa.localhost:8081/index.html").status == 404)
    #expect(try site.look("http://a.localhost:8081/index.html").status == 404)
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
      let reply = try site.look(method, url)
      #expect(reply.status == 405 && reply.field("Allow") == "GET, HEAD")
    }
    #expect(try site.look(url, ["Service-Worker: script"]).status == 403)
    now.withLock { $0 += PreviewTickets.lifetime - 1 }
    #expect(try site.look(url).status == 200)
    now.withLock { $0 += 1 }
    #expect(try site.look(url).status == 404)
    #expect(try site.url() != url)
    // One that a clock gave that was ahead doesn't last until it is that late.
    let ahead = try site.url()
    now.withLock { $0 -= 24 * PreviewTickets.lifetime }
    #expect(try site.look(ahead).status == 404)
    #expect(try site.url() != ahead)
  }

  /// No path of the API, the console or of devices is there, whatever is sent along.
  @Test func nothingElseIsThere() throws {
    let site = try Site()
    try site.origin.publish(["index.html": Self.page])
    let host = try #require(try site.url().dropFirst("http://".count).split(separator: "/").first)
    let lines = ["Authorization: Bearer \(site.origin.token)", "Xcache-Console: 1"]
    for path in [
      "/", "/api/v1/token", "/console/", "/auth/", "/metrics", "/healthz", "/configure.json?app=shop",
      "/xcache",
    ] {
      let reply = try site.look("http://\(host)\(path)", lines)
      #expect(reply.status == 404 && reply.field("Content-Type")?.hasPrefix("text/plain") == true, "\(path)")
      #expect(reply.field("Content-Security-Policy")?.contains("sandbox") == true)
    }
  }

  @Test func routesAreAnsweredByTheirPages() throws {
    let site = try Site()
    let fallbacks = try PageFallbacks([.init(prefix: "/app/", except: ["/app/api/*"])])
    try site.origin.publish(["app/index.html": "the app"], fallbacks: fallbacks)
    let url = try site.url("https://m.example.com/app/items/3?tab=1")
    #expect(url.hasSuffix(".localhost:8081/app/items/3?tab=1"))
    #expect(try site.look(url, ["Sec-Fetch-Dest: iframe"]).text == "the app")
    #expect(try site.look(url, ["Accept: text/html,*/*"]).text == "the app")
    #expect(try site.look(url, ["Sec-Fetch-Dest: script"]).status == 404)
    #expect(try site.open("https://m.example.com/app/api/x").status == 404)
    #expect(try site.open("https://m.example.com/other").json["code"]?.string == "unknown-url")
    #expect(try site.open("https://evil.org/app/").json["code"]?.string == "unknown-url")
    #expect(try site.open("javascript:alert(1)").status == 400)
    let page = try site.url("https://m.example.com/app/index.html?lang=de")
    #expect(try site.look(page, ["Sec-Fetch-Dest: document"]).text == "the app")
  }

  /// Each host of a version has a ticket, whose files the pages of the others may read.
  @Test func hostsHaveTheirOwnTickets() throws {
    let site = try Site(console: "https://xcache.example.com")
    var body = try #require(try site.origin.release(["index.html": "https://static.example.com/f.js"]).object)
    let bytes = Array("f()".utf8)
    _ = try site.origin.store.receive(bytes.span.bytes, BlobClaim(sha256: .of(bytes), md5: .of(bytes)))
    let file: JSONValue = [
      "ctype": "application/javascript", "md5": .string(MD5.of(bytes).hex),
      "sha256": .string(SHA256.of(bytes).hex),
      "size": 3,
    ]
    var bundle = try #require(body["bundles"]?.array?.first?.object)
    var set = try #require(bundle["set"]?.object)
    set["https://static.example.com/f.js"] = file
    bundle["set"] = .object(set)
    body["bundles"] = [.object(bundle)]
    #expect(try site.origin.api("POST", "apps/shop/channels/online/releases", .object(body)).status == 201)
    let url = try site.url()
    let shown = try site.look(url)
    let other = try #require(shown.text.split(separator: "/f.js").first.map(String.init))
    #expect(other.hasPrefix("http://") && !url.hasPrefix(other))
    let policy = try #require(shown.field("Content-Security-Policy"))
    #expect(policy.hasPrefix("default-src 'self' \(other) data:"))
    #expect(policy.contains("frame-ancestors https://xcache.example.com 'self' \(other);"))
    let origin = String(url.dropLast("/index.html".count))
    let script = try site.look("\(other)/f.js", ["Origin: \(origin)"])
    #expect(script.text == "f()" && script.field("Access-Control-Allow-Origin") == origin)
    #expect(
      try site.look("\(other)/f.js", ["Origin: http://evil.org"]).field("Access-Control-Allow-Origin") == nil)
    #expect(try site.look("\(other)/index.html").status == 404)
  }

  @Test func sameViewerGetsSameTicketsOthersTheirOwn() throws {
    let site = try Site()
    try site.origin.publish(["index.html": Self.page])
    let url = try site.url()
    #expect(try site.url() == url)
    #expect(try site.url(from: "http://127.0.0.1:8080") != url)
    let other = try site.origin.store.createToken(name: "other", scope: .read)
    #expect(try site.open(token: other.text).json["url"]?.string != url)
  }

  /// An Origin field goes into a policy, so it must be one.
  @Test(arguments: [
    "null", "http://a.com; script-src *", "http://a.com/x", "file://", "http://a.com 'unsafe-inline'", "*",
  ])
  func consoleThatIsNoOriginFramesNothing(console: String) throws {
    let site = try Site()
    try site.origin.publish(["index.html": Self.page])
    let policy = try site.look(site.url(from: console)).field("Content-Security-Policy")
    #expect(policy?.contains("frame-ancestors 'self'; form-action") == true)
  }

  @Test func oneTokenCannotTakeAllTickets() throws {
    let site = try Site()
    for number in 0..<PreviewTickets.versionsPerCaller + 4 {
      try site.origin.publish(["index.html": "\(number)"])
    }
    let other = try site.origin.store.createToken(name: "other", scope: .read)
    let kept = try #require(try site.open(version: "1", token: other.text).json["url"]?.string)
    let urls = try (1...PreviewTickets.versionsPerCaller + 4).map { try site.url(version: "\($0)") }
    #expect(try urls.filter { try site.look($0).status == 200 }.count == PreviewTickets.versionsPerCaller)
    #expect(try site.look(kept).text == "0")
    #expect(try site.look(try #require(urls.last)).text == "\(PreviewTickets.versionsPerCaller + 3)")
    #expect(site.origin.origin.previews?.count == PreviewTickets.versionsPerCaller + 1)
  }

  @Test func versionsThatAreGoneAreSaidSo() throws {
    let site = try Site()
    #expect(try site.open().status == 404)
    try site.origin.publish(["index.html": "1"])
    try site.origin.publish(["index.html": "2"])
    let url = try site.url(version: "1")
    #expect(try site.look(url).text == "1")
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    _ = try site.origin.store.collect(policy)
    let reply = try site.look(url)
    #expect(reply.status == 404 && reply.text.contains("isn't kept any more"))
    #expect(try site.open(version: "1").status == 404)
    try site.origin.publish(["a.js": "1"], remove: ["index.html"])
    #expect(try site.open().json["detail"]?.string?.contains("has no pages") == true)
  }
}
