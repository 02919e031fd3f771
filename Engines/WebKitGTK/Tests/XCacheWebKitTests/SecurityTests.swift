import DeviceLinux
import Foundation
import Testing
import WebKitTestSupport
import XCacheRuntime

@testable import XCacheWebKit

extension WebKitTests {
  /// Access to the proxy, and the certificates and responses that are accepted.
  @Suite(.serialized)
  @WebActor
  struct SecurityTests {
    @Test func untrustedClientsAndServersAreRejected() async throws {
      let sites = try Sites()
      let app = try await App(sites, trustsSites: false)
      let port = try #require(app.host.proxyPort)
      let answers = try JSONDecoder().decode([String].self, from: Data(try sites.tell("probe \(port)").utf8))
      #expect(answers.count == 8 && answers.prefix(6).allSatisfy { $0.hasPrefix("HTTP/1.1 407 ") })
      // SOCKS: no acceptable method, and a wrong password.
      #expect(answers.suffix(2) == ["05ff", "0101"])
      let page = try WebPage(app.host)
      await #expect(throws: WebKitError.self) { try await page.load(sites.url("/", "bad.test")) }
      // A server of the app's host with a self-signed certificate.
      try await page.load(sites.url("/second.html"))
      #expect(
        try await page.evaluate("return await fetch('/api/echo').catch(e => e.name)") == "\"TypeError\"")
      #expect(
        try await page.evaluate(
          """
          const socket = new WebSocket(location.origin.replace('https', 'wss') + '/socket');
          return await new Promise(done => { socket.onopen = () => done('open'); socket.onerror = () => done('refused') });
          """) == "\"refused\"")
      await #expect(throws: WebKitError.self) { try await page.load(sites.url("/net/plain.html")) }
      #expect(try sites.log() == [])
      await app.end()
    }

    /// The proxy's password isn't passed on to servers.
    @Test func serversNeverGetTheProxysPassword() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let page = try WebPage(app.host)
      for host in ["m.example.com", "foreign.test"] {
        try await page.load(sites.url("/index.html", host))
        #expect(
          try await page.evaluate("return (await (await fetch('/api/echo')).json()).proxy") == "null",
          "\(host)")
      }
      await app.end()
    }

    /// The origin lists pages of a host that the app doesn't name, whose connections are tunneled.
    @Test func hostsThatTheAppDoesNotNameAreTunneled() async throws {
      let sites = try Sites()
      try sites.tell("list foreign.test")
      for (hosts, title) in [(Sites.hosts, "foreign"), (Sites.hosts + ["foreign.test"], "listed")] {
        let app = try await App(sites, hosts: hosts)
        _ = try sites.log()
        let page = try WebPage(app.host)
        try await page.load(sites.url("/index.html", "foreign.test"))
        #expect(try await page.evaluate("return document.title") == "\"\(title)\"")
        let isListed = title == "listed"
        #expect(try sites.log() == (isListed ? [] : ["GET foreign.test/index.html"]))
        #expect(app.host.proxy?.hosts.contains("foreign.test") == isListed)
        try await page.load(sites.url("/second.html"))
        #expect(
          try await page.evaluate(
            "return (await (await fetch('\(sites.url("/text.txt", "foreign.test"))')).text()).trim()")
            == (isListed ? "\"<!doctype html><title>listed</title>\"" : "\"foreign text\""))
        await app.end()
      }
    }

    /// A truncated response fails for every kind of request: it isn't run, saved or cached.
    @Test(arguments: ["gzip", "gzip chunks", "gzip damaged", "gzip damaged short", "chunks", "length"])
    func truncatedResponsesAreRejected(_ how: String) async throws {
      let sites = try Sites()
      let app = try await App(sites)
      // With the engine's own cache.
      var settings = WebHostSettings()
      settings.folder = app.folder.appendingPathComponent("web").path
      settings.transport = CurlPageTransport(
        connectSeconds: 3, resolver: LocalNames(), authorities: sites.told.authorities)
      settings.network = LinuxProxyNetwork(authorities: sites.told.authorities, resolver: LocalNames())
      let host = try WebHost(app.runtime, settings)
      let page = try WebPage(host)
      try await page.load(sites.url("/second.html"))
      _ = try sites.log()
      let path = "/api/cut?how=\(how.replacingOccurrences(of: " ", with: "+"))"
      let script = """
        const tell = () => fetch('\(path)').then(r => r.text()).then(text => 'whole: ' + text.length, e => e.name);
        const run = () => new Promise(done => {
          const script = Object.assign(document.createElement('script'), {src: '\(path)'});
          script.onload = () => done('run: ' + window.ran);
          script.onerror = () => done('failed: ' + window.ran);
          document.head.append(script);
        });
        return [await tell(), await run(), await tell()]
        """
      let expected = #"["TypeError","failed: undefined","TypeError"]"#
      #expect(try await page.evaluate(script) == expected)
      #expect(try sites.log().count == 3)
      let other = try WebPage(host)
      try await other.load(sites.url("/frame.html"))
      #expect(try await other.evaluate(script) == expected)
      #expect(try sites.log().count == 3)

      var ended: [String] = []
      let place = app.folder.appendingPathComponent("cut.own")
      // WebKit decodes what has arrived before it reads the header: damage found by then fails the load, and no
      // download begins. For a long body that depends on timing.
      page.onEvent = { event in
        if case .failed(_, let error) = event, !error.isNotShown { ended.append("failed") }
      }
      host.onDownload = { download in
        do {
          try await download.save(to: place.path)
          ended.append("saved")
        } catch {
          ended.append("failed")
        }
      }
      _ = try await page.evaluate("location.href = '\(path)&name=cut.own'; return 1")
      #expect(await app.until { !ended.isEmpty })
      #expect(ended == ["failed"] && !FileManager.default.fileExists(atPath: place.path))
      await app.end()
    }

    /// The certificate that the device issued for a host of the app, used by another host.
    @Test func certificatesAreValidForTheirHostOnly() async throws {
      let sites = try Sites()
      let app = try await App(sites)
      let (proxy, port) = (try #require(app.host.proxy), try #require(app.host.proxyPort))
      let page = try WebPage(app.host)
      try await page.load(sites.url("/second.html"))
      let other = try sites.tell("forward \(port) \(proxy.password)")
      await #expect(throws: WebKitError.self) { try await page.load("https://bad.test:\(other)/second.html") }
      #expect(try await page.evaluate("return document.title") == "\"second\"")
      // The server does use that certificate: an engine that trusts it connects, and is refused for the host's name.
      try app.host.trust(try #require(app.network.certificate(for: "m.example.com")), for: "bad.test")
      try await page.load("https://bad.test:\(other)/second.html")
      #expect(try await page.evaluate("return document.title") == "\"\"")
      await app.end()
    }
  }
}
