import Glibc
import System
import Testing
import TestSupport
import Values

@Suite("xcache device run")
struct DeviceProcessTests {
  /// A device process of a site, and a client for it.
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
        let start = started.standardOutput.firstRange(of: "?token=")?.upperBound,
        let address = started.standardOutput.firstRange(of: "http://127.0.0.1:")?.upperBound
      else { throw Child.Failed(description: "no device: \(started.standardError)") }
      token = String(started.standardOutput[start...].prefix { $0.isHexDigit })
      let port = started.standardOutput[address...].prefix { $0.isNumber }
      web = Web(port: try #require(UInt16(port)))
    }

    func state() throws -> JSONValue {
      let answer = try web.ask("/control.json", "GET", ["Authorization": "Bearer \(token)"])
      #expect(answer.status == 200)
      return try JSONValue.parse(answer.body)
    }

    /// Waits until the device has a version.
    func waitForVersion(_ version: String) throws -> Bool {
      try Wait.until(60) { try state()["version"]?.string == version }
    }

    func end() throws {
      child.signal(SIGTERM)
      #expect(try child.wait(seconds: 60) == 0, "\(child.standardError)")
    }
  }

  private static let path = "/at/\(Site.base.replacing("://", with: "/"))/"

  @Test("Pages come from the cache, and everything else is redirected")
  func pages() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one", "app.js": "0123456789"])
      let device = try Process(site)
      #expect(try device.waitForVersion("1"))
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

  @Test("The control page requires its token and this process's own address as host")
  func control() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site)
      #expect(try device.waitForVersion("1"))
      for path in ["/", "/control.json", "/?token=", "/?token=" + String(repeating: "0", count: 32)] {
        #expect(try device.web.ask(path).status == 403)
      }
      #expect(try device.web.ask("/control/trigger?name=push", "POST").status == 403)
      let page = try device.web.ask("/?token=\(device.token)")
      #expect(page.status == 200 && page.text.contains("Version 1"))
      #expect(page["content-security-policy"]?.contains("default-src 'none'") == true)
      #expect(page["referrer-policy"] == "no-referrer" && page["cache-control"] == "no-store")
      // Host names that resolve to this address, as DNS rebinding uses them.
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

  @Test("Conditions that an app reports to the runtime are set by buttons")
  func buttonsSetConditions() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site)
      #expect(try device.waitForVersion("1"))
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

  @Test("Invalid control requests are refused, and the answer lists the valid values")
  func badControls() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site)
      #expect(try device.waitForVersion("1"))
      let bearer = ["Authorization": "Bearer \(device.token)"]
      for (query, words) in [
        ("conditions?network=wifi", "offline, metered, unmetered"),
        ("conditions?network=", "network must be one of"),
        ("conditions?savesData=yes", "savesData must be 0 or 1"),
        ("conditions?colour=1", "no such condition"),
        ("conditions?isLowPower=1&network=5g", "network must be one of"), ("conditions", "Say which"),
        ("trigger", "launch, foreground, push, pageClosed"),
      ] {
        let answer = try device.web.ask("/control/\(query)", "POST", bearer)
        #expect(answer.status == 400 && answer.text.contains(words), "\(query): \(answer.text)")
      }
      // Refused requests changed nothing.
      #expect(try device.state()["conditions"]?["isLowPower"] == .bool(false))
      #expect(try device.web.ask("/control/conditions?isLowPower=1", "POST", bearer).status == 204)
      #expect(try device.state()["conditions"]?["isLowPower"] == .bool(true))
      try device.end()
    }
  }

  @Test(
    "Links that begin with / stay on the page's host; frames, origins and other sites are distinguished")
  func referrers() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<script src=/app.js></script>", "app.js": "let a"])
      let device = try Process(site)
      #expect(try device.waitForVersion("1"))
      let page = "http://127.0.0.1:\(device.web.port)" + Self.path + "index.html"
      _ = try device.web.ask(Self.path + "index.html", "GET", ["Sec-Fetch-Dest": "document"])
      let link = try device.web.ask("/app.js?v=1", "GET", ["Referer": page])
      #expect(link.status == 307 && link["location"] == "/at/https/m.example.com/app.js?v=1", "\(link)")
      let odd = try device.web.ask("/at/x.js", "GET", ["Referer": page])
      #expect(odd.status == 307 && odd["location"] == "/at/https/m.example.com/at/x.js", "\(odd)")
      // Another host's resources can be read only with CORS.
      let font = try device.web.ask(
        "/at/https/other.example.com/a.woff2", "GET", ["Referer": page, "Sec-Fetch-Mode": "cors"])
      #expect(font.status == 307 && font["x-xcache"] == "network; foreignHost")
      let foreign = try device.web.ask(
        Self.path + "app.js", "GET", ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"])
      #expect(foreign.status == 403)
      let visit = try device.web.ask(
        Self.path + "index.html", "GET", ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"])
      #expect(visit.status == 200)
      try device.end()
    }
  }

  @Test("Events are printed, polls and the queue are shown, and reported counts reach the origin")
  func events() throws {
    try Site.with { site throws in
      try site.publish(["index.html": "<p>one"])
      let device = try Process(site, ["--json"])
      #expect(try device.waitForVersion("1"))
      for _ in 0..<5 {
        #expect(
          try device.web.ask(Self.path + "index.html", "GET", ["Sec-Fetch-Dest": "document"]).status == 200)
      }
      #expect(try Wait.until(30) { try device.state()["lastPoll"]?["to"]?.string == "1" })
      let state = try device.state()
      #expect(state["queue"]?["waitingFiles"]?.integer == 0 && state["interceptionOff"] == .bool(false))
      #expect(
        try Wait.until(30) {
          try device.state()["events"]?.array?.compactMap { $0["event"]?.string }
            == ["updateFound", "switched", "completed"]
        })
      let page = try device.web.ask("/?token=\(device.token)").text
      #expect(page.contains("version 0 → 1") && page.contains("version 1 is complete"))
      try device.end()
      let lines = try device.child.standardOutput.split(separator: "\n").map {
        try JSONValue.parse(Array($0.utf8))
      }
      #expect(lines.first?["pages"] != nil && lines.contains { $0["event"]?.string == "switched" })
      // Reported counts are written some seconds later, at the latest when the server ends. The device waits a limited time for its last
      // batch, which may be lost on a busy machine.
      try site.stop()
      try site.start()
      let status = try site.run("status", "--app", "shop").output
      #expect(status.contains(" from the device"), "\(status)")
    }
  }

  @Test("The control page counts lazy files, and names no option of pull")
  func lazyFiles() throws {
    try Site.with { site throws in
      try site.scratch.folder("dist", ["index.html": "<p>one", "de.json": "{}"])
      try site.scratch.write(
        "xcache.json",
        """
        {"app": "shop", "bundles": {"main": {"baseURL": "\(Site.base)", "dirs": ["dist"], "lazy": ["*.json"]}}}
        """)
      #expect(try site.run("publish", "--create", "--now").exitCode == 0)
      let device = try Process(site)
      #expect(try Wait.until(60) { try device.state()["lastPoll"]?["to"]?.string == "1" })
      let page = try device.web.ask("/?token=\(device.token)").text
      #expect(page.contains("1 of 2 are held; 1 lazy file isn&#39;t here<"), "\(page)")
      #expect(page.contains("devices fetch it when a page asks<") && !page.contains("--complete"), "\(page)")
      try device.end()
    }
  }

  @Test("It listens on loopback only, and requires hosts")
  func refusals() throws {
    let scratch = try Scratch()
    for (words, reason) in [
      (["--hosts", "m.test", "--listen", "0.0.0.0:0"], "loopback"),
      (["--hosts", "m.test", "--listen", "m.test:80"], "loopback"),
      (["--hosts", "m.test", "--listen", "localhost"], "loopback"),
      (["--listen", "127.0.0.1:0"], "--hosts is required"),
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
