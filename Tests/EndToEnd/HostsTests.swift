import System
import Testing
import Values

/// Allowed hosts of channels and tokens, and what devices report.
@Suite("Allowed hosts, and reported counts") struct HostsTests {
  private static func publish(_ site: Site, _ host: String, token: String? = nil) throws -> Outcome {
    let folder = try site.scratch.folder("other", ["b.js": "b"])
    return try site.run(
      "publish", "--create", folder, "--app", "shop", "--bundle", "other", "--base-url", "https://\(host)/x",
      "--now",
      token: token)
  }

  @Test("A release outside the allowed hosts of its channel or token is refused with exit code 3")
  func hosts() throws {
    try Site.with { site in
      try site.publish(["a.js": "one"])
      let set = try site.run(
        "channel", "set", "--hosts", "M.example.com, *.example.org", "--reports", "2.5%", "--app", "shop")
      #expect(set.exitCode == 0 && set.output.contains("only m.example.com, *.example.org"), "\(set.errors)")
      #expect(set.output.contains("2.5 % of their usage reports"))
      let bank = try Self.publish(site, "bank.example.net")
      #expect(bank.exitCode == 3 && bank.errors.contains("https://bank.example.net/x/b.js"), "\(bank.errors)")
      #expect(bank.errors.contains("channel set --hosts"))
      #expect(try site.poll()["data"]?["version"]?.string == "1")
      let status = try site.run("status", "--app", "shop").output
      #expect(
        status.contains("hosts      m.example.com, *.example.org") && status.contains("reports    2.5 %"))
      #expect(try site.run("channel", "list").output.contains("m.example.com,*.example.org"))

      let made = try site.run(
        "token", "create", "ci", "--scope", "publish", "--no-expiry", "--app", "shop", "--hosts",
        "a.example.org")
      let token = made.output.filter { !$0.isWhitespace }
      #expect(try site.run("token", "list").output.contains("a.example.org"))
      let other = try Self.publish(site, "b.example.org", token: token)
      #expect(other.exitCode == 3 && other.errors.contains("token \"ci\" is limited"), "\(other.errors)")
      #expect(try Self.publish(site, "a.example.org", token: token).exitCode == 0)
      let lifted = try site.run("channel", "set", "--hosts", "*", "--app", "shop", token: token)
      #expect(lifted.exitCode == 1 && lifted.errors.contains("admin"))
      #expect(try site.run("channel", "set", "--hosts", "*", "--app", "shop").output.contains("all hosts"))
      #expect(try Self.publish(site, "bank.example.net").exitCode == 0)
      for words in [["--hosts", "https://a"], ["--reports", "101"], ["--reports", "1.234"], []] {
        #expect(
          try Outcome(site.start(["channel", "set", "--app", "shop"] + words)).exitCode == 2, "\(words)")
      }
    }
  }

  @Test("Reported counts are in status and in the metrics")
  func counts() throws {
    try Site.with { site in
      try site.publish(["a.js": "one"])
      let batch =
        #"{"counts":{"local":9,"passed":1,"page-failed":2,"status-4xx":1,"paint-local-256":3},"version":"1"}"#
      #expect(try site.web.ask("/report?app=shop", "POST", body: Array(batch.utf8)).text == #"{"code":200}"#)
      // Counts are written some seconds later, at the latest when the server ends.
      try site.stop()
      try site.start()
      let status = try site.run("status", "--app", "shop").output
      for words in [
        "version 1: 90.0 % of 10 requests from the device, 2 pages not up", "network responses: 1 × 4xx",
        "first paint: from the device half within 256 ms",
      ] { #expect(status.contains(words), "\(status)") }
      let json = try JSONValue.parse(Array(try site.run("status", "--app", "shop", "--json").output.utf8))
      #expect(json["adoption"]?["reports"]?.array?.first?["counts"]?["local"]?.integer == 9)
      #expect(try site.web.ask("/metrics").text.contains(#"version="1",event="page-failed"} 2"#))
    }
  }

  @Test("status --json has the console's polls and failures over time, disk, mirrors and problems")
  func history() throws {
    try Site.with { site in
      try site.publish(["a.js": "one"])
      for _ in 0..<3 { _ = try site.poll("version=1") }
      let failure = Array(#"{"reason":"integrity","url":"https://m.example.com/a.js","version":"1"}"#.utf8)
      for _ in 0..<12 { _ = try site.web.ask("/report?app=shop", "POST", body: failure) }
      #expect(try site.run("mirror", "--to", "www").exitCode == 0)
      // Counts are written some seconds later, at the latest when the server ends.
      try site.stop()
      try site.start()
      func status(_ token: String? = nil) throws -> JSONValue {
        let output = try site.run("status", "--app", "shop", "--json", token: token).output
        return try #require(try JSONValue.parse(Array(output.utf8))["history"])
      }
      let all = try status()
      for (name, step, points) in [("hours", "hour", 48), ("days", "day", 90)] as [(String, String, Int64)] {
        let series = all[name]
        #expect(series?["step"]?.string == step && series?["points"]?.integer == points, "\(all)")
        let polls = series?["versions"]?.array?.first { $0["version"]?.string == "1" }?["polls"]?.array ?? []
        #expect(polls.count == Int(points) && polls.compactMap(\.integer).reduce(0, +) == 3, "\(polls)")
        let failures = series?["failures"]?.array?.first
        #expect(failures?["reason"]?.string == "integrity")
        #expect(failures?["failures"]?.array?.compactMap(\.integer).reduce(0, +) == 12)
      }
      #expect(try #require(all["disk"]?["now"]?["size"]?.integer) > 0)
      #expect(all["mirrors"]?.array?.first?["versions"]?.array?.first?["version"]?.string == "1")
      #expect(all["problems"]?.array?.contains { $0["code"]?.string == "failing" } == true, "\(all)")
      // A token that may not see the disk gets the rest.
      let wall = try site.run("token", "create", "wall", "--all-apps", "--no-expiry", "--scope", "read")
        .output
      let some = try status(wall.filter { !$0.isWhitespace })
      #expect(some["disk"] == nil && some["days"] == all["days"], "\(some)")
    }
  }
}
