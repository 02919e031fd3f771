import Testing

@testable import XCacheRuntime

@Suite struct RedirectTests {
  private func request(
    _ status: Int, _ location: String?, _ method: String = "GET", from url: String = "https://m.test/a/b?q=1"
  ) -> NetworkRequest? {
    let last = NetworkRequest(
      url, method: method,
      headers: [("Authorization", "Basic eA=="), ("Content-Type", "application/json"), ("X-Own", "1")],
      body: method == "GET" ? .none : .bytes([1]))
    let headers: HTTPFields = location.map { [("location", $0)] } ?? []
    return Redirect(after: NetworkHead(status: status, headers: headers, url: url), to: last)?.request
  }

  @Test(arguments: [
    ("c", "https://m.test/a/c"), ("/c?d", "https://m.test/c?d"), ("?d", "https://m.test/a/b?d"),
    ("../c#part", "https://m.test/c"), ("//n.test/c", "https://n.test/c"),
    ("https://n.test", "https://n.test/"),
    ("#part", "https://m.test/a/b?q=1"), ("", "https://m.test/a/b?q=1"),
  ])
  func targets(location: String, url: String) { #expect(request(302, location)?.url == url) }

  @Test(
    arguments: [
      (200, "/c"), (300, "/c"), (304, "/c"), (302, nil), (302, "ftp://m.test/c"), (302, "javascript:1"),
      (302, "http://m.test/c"), (302, "https://u:p@m.test/"), (302, "https://"),
    ] as [(Int, String?)])
  func redirectsThatAreNotFollowed(status: Int, location: String?) {
    #expect(request(status, location) == nil)
  }

  /// Fetch §4.4.
  @Test(arguments: [
    (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"),
    (302, "PUT", "PUT"),
    (307, "POST", "POST"), (308, "POST", "POST"), (303, "HEAD", "HEAD"), (301, "DELETE", "DELETE"),
  ])
  func methodsAndBodies(status: Int, method: String, then: String) throws {
    let next = try #require(request(status, "/c", method))
    #expect(next.method == then)
    let keeps = method == then
    #expect(next.body.isEmpty != (keeps && method != "GET"))
    #expect(next.headers.contains("Content-Type") == keeps)
    #expect(next.headers.contains("X-Own") && next.headers.contains("Authorization"))
  }

  /// Other origins only get the page's origin, and a redirect across origins makes the Origin "null" (Fetch §4.4).
  @Test(
    arguments: [
      ("https://m.test/p?q", "https://m.test", "/c", "https://m.test/p?q", "https://m.test"),
      ("https://m.test/p?q", "https://m.test", "https://n.test/", "https://m.test/", "https://m.test"),
      ("https://m.test/p", "https://m.test", "https://m.test:8443/", "https://m.test/", "https://m.test"),
      ("https://o.test/", "https://o.test", "/c", "https://o.test/", "https://o.test"),
      ("https://o.test/", "https://o.test", "https://n.test/", "https://o.test/", "null"),
      ("https://o.test/p", "https://o.test", "https://o.test/", "https://o.test/p", "null"),
      ("nonsense", "null", "https://n.test/", nil, "null"),
    ] as [(String, String, String, String?, String)])
  func referrerAndOrigin(
    referrer: String, origin: String, location: String, then: String?, thenOrigin: String
  ) throws {
    let url = "https://m.test/a"
    let last = NetworkRequest(url, headers: [("Referer", referrer), ("origin", origin)])
    let head = NetworkHead(status: 307, headers: [("location", location)], url: url)
    let headers = try #require(Redirect(after: head, to: last)?.request).headers
    #expect(headers["Referer"] == then)
    #expect(headers["origin"] == thenOrigin)
  }

  /// A secure page isn't named to an insecure server.
  @Test func noReferrerFromSecureToInsecure() throws {
    let last = NetworkRequest("http://m.test/a", headers: [("Referer", "https://m.test/p")])
    let head = NetworkHead(status: 302, headers: [("location", "/b")], url: last.url)
    #expect(try #require(Redirect(after: head, to: last)?.request).headers.isEmpty)
  }

  @Test func authorizationStaysWithItsServer() throws {
    for location in ["https://n.test/", "https://m.test:8443/"] {
      let next = try #require(request(307, location))
      #expect(!next.headers.contains { $0.name == "Authorization" })
    }
    #expect(request(302, "https://m.test/", from: "http://m.test/")?.url == "https://m.test/")
  }
}
