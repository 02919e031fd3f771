import Glibc
import Manifests
import System
import Testing

@Suite("xcache device run: the runtime as a local process")
struct DeviceProcessTests {
  /// A device process over a site, and how it is asked.
  private struct Process {
    let child: Child
    let web: Web
    let token: String

    init(_ site: Site, _ options: [String] = []) throws {
      let words = [
        Binary.path, "device", "run", "--to", "held", "--hosts", "m.example.com", "--server", site.url,
        "--app",
        "shop", "--listen", "127.0.0.1:0",
      ]
      let started = try Child(words + options, environment: [:], in: site.scratch.path)
      child = started
      guard Wait.until(30, { started.standardOutput.contains("?token=") || started.hasEnded }),
        let line = started.standardOutput.split(separator: "\n").last, let equals = line.lastIndex(of: "="),
        let port = line.split(separator: "/").dropFirst().first?.split(separator: ":").last
      else { throw Child.Failed(description: "no device: \(started.standardError)") }
      token = String(line[line.index(after: equals)...])
      web = Web(port: try #require(UInt16(port)))
    }

    func state() throws -> JSONValue {
      let answer = try web.ask("/control.json", "GET", ["Authorization": "Bearer \(token)"])
      #expect(answer.status == 200)
      return try JSONValue.parse(answer.body)
    }

    /// Waits until the device holds a version.
    func holds(_ version: String) throws -> Bool {
      try Wait.until(60) { try state()["version"]?.string == version }
    }

    func end() throws {
      child.signal(SIGTERM)
      #expect(try child.wait(seconds: 60) == 0, "\(child.standardError)")
    }
  }

  private static let path = "/at/\(Site.base.replacing("://", with: "/"))/"

  @Test("Pages come from what is held, and everything else is a redirect")
  func pages() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one", "app.js": "0123456789"])
      let device = try Process(site)
      #expect(try device.holds("1"))
      let page = try device.web.ask(Self.path + "index.html?x=1", "GET", ["Sec-Fetch-Dest": "document"])
      #expect(page.status == 200 && page.text == "<p>one")
      #expect(
        page["x-content-type-options"] == "nosniff" && page["content-type"]?.hasPrefix("text/html") == true)
      let part = try device.web.ask(Self.path + "app.js", "GET", ["Range": "bytes=2-4"])
      #expect(part.status == 206 && part.text == "234" && part["content-range"] == "bytes 2-4/10")
      #expect(try device.web.ask(Self.path + "app.js", "HEAD")["content-length"] == "10")
      let tag = try #require(part["etag"])
      #expect(try device.web.ask(Self.path + "app.js", "GET", ["If-None-Match": tag]).status == 304)
      let other = try device.web.ask(Self.path + "other.js?a=b")
      #expect(other.status == 307 && other["location"] == Site.base + "/other.js?a=b")
      #expect(other["x-xcache"] == "network; notListed")
      let bank = try device.web.ask("/at/https/bank.example/")
      #expect(bank.status == 307 && bank["x-xcache"] == "network; foreignHost")
      #expect(try device.state()["counts"]?["passed"]?["foreignHost"]?.integer == 1)
      try device.end()
    }
  }

  @Test("The control page is behind its token, and behind this process's own address")
  func control() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site)
      #expect(try device.holds("1"))
      for path in ["/", "/control.json", "/?token=", "/?token=" + String(repeating: "0", count: 32)] {
        #expect(try device.web.ask(path).status == 403)
      }
      #expect(try device.web.ask("/control/trigger?name=push", "POST").status == 403)
      let page = try device.web.ask("/?token=\(device.token)")
      #expect(page.status == 200 && page.text.contains("Version 1"))
      #expect(page["content-security-policy"]?.contains("default-src 'none'") == true)
      #expect(page["referrer-policy"] == "no-referrer" && page["cache-control"] == "no-store")
      // A name that leads here, as a page of any site could have it.
      let port = device.web.port
      for host in ["evil.example:\(port)", "evil.example", "127.0.0.1", "127.0.0.1:\(port).evil.example"] {
        let socket = try WebSocket(port)
        socket.send(
          Array("GET /?token=\(device.token) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n".utf8))
        #expect(try Web.answer(try socket.receiveAll(), to: "GET").status >= 400)
      }
      try device.end()
    }
  }

  @Test("What an app would tell the runtime is told by buttons")
  func conditions() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site)
      #expect(try device.holds("1"))
      let token = "token=\(device.token)"
      #expect(try device.web.ask("/control/conditions?network=offline&\(token)", "POST").status == 303)
      #expect(try device.state()["conditions"]?["network"]?.string == "offline")
      #expect(try device.web.ask("/control/trigger?name=push&\(token)", "POST").status == 303)
      #expect(try device.web.ask("/control/trigger?name=never&\(token)", "POST").status == 400)
      #expect(try device.web.ask("/control/memory?\(token)", "POST").status == 303)
      #expect(try device.web.ask("/control/trigger?name=push&\(token)").status == 404)
      try device.end()
    }
  }

  @Test("It listens on loopback alone, and needs its hosts")
  func refusals() throws {
    let scratch = try Scratch()
    for (words, reason) in [
      (["--hosts", "m.test", "--listen", "0.0.0.0:0"], "loopback"),
      (["--hosts", "m.test", "--listen", "m.test:80"], "loopback"),
      (["--listen", "127.0.0.1:0"], "--hosts is needed"),
    ] {
      let child = try Child(
        [Binary.path, "device", "run", "--to", "held", "--app", "shop", "--server", "http://127.0.0.1:1"]
          + words,
        environment: [:], in: scratch.path)
      #expect(try child.wait() == 2)
      #expect(child.standardError.contains(reason))
    }
  }
}
