import Glibc
import Manifests
import System
import Testing
import TestSupport
import Values

/// Rollouts that stop and go on by themselves, with the real program; devices' reports come through a proxy.
@Suite("Rollouts by themselves") struct RolloutAlarmTests {
  /// Reports of devices in networks of their own, or in few.
  private static func report(
    _ site: Site, _ version: String, candidate: Int, control: Int, of count: Int, networks: Int = 256
  ) throws {
    for (arm, failed) in [("candidate", candidate), ("control", control)] {
      for device in 0..<count {
        let evidence: JSONValue = [
          "arm": .string(arm), "failed": .integer(device < failed ? 1 : 0), "opened": 1,
          "version": .string(version),
        ]
        let body: JSONValue = ["evidence": evidence]
        let answer = try site.web.ask(
          "/report?app=shop", "POST",
          ["X-Forwarded-For": "10.1.\(device % networks).7"],
          body: body.canonical)
        try #require(answer.status == 200, "\(answer.text)")
      }
    }
  }

  private static func rollout(_ site: Site) throws -> JSONValue {
    try site.api("GET", "apps/shop/channels/online/rollout").json
  }

  @Test("A candidate that fails too often is paused once, also if the process is killed") func alarm() throws
  {
    let site = try Site(["--trust-proxy", "127.0.0.1"])
    _ = try site.publish(["a.js": "one"])
    _ = try site.publish(["a.js": "two"], "--rollout", "5%")
    try Self.report(site, "2", candidate: 30, control: 1, of: 150)
    // What was reported is written every 10 seconds.
    #expect(
      Wait.until(40) { (try? Self.rollout(site))?["open"]?["paused"]?.bool == true },
      "\((try? Self.rollout(site)) ?? .null)")
    try site.crash()
    let list = try Self.rollout(site)
    #expect(list["open"]?["paused"]?.bool == true && list["open"]?["changedBy"]?.string == "xcache")
    #expect(list["evidence"]?["candidate"]?["opened"]?.integer == 150)
    #expect(try site.poll("version=1")["data"]?["rollout"]?["share"]?.integer == 0)
    Clock.sleep(for: .milliseconds(11_000))
    let rows = try site.api("GET", "audit?act=rollout.pause").json["rows"]?.array ?? []
    #expect(rows.count == 1 && rows.first?["author"]?.string == "xcache", "\(rows)")

    let show = try site.run("rollout", "show", "--app", "shop")
    for line in [
      "failures: 30 of 150 devices with version 2 (20 %; 95 % confidence: 10.59 % to 32.39 %), in 30 networks",
      "          1 of 150 devices that they are compared with (0.67 %; 95 % confidence: 0 % to 5.82 %)",
      "paused by an alarm, ",
      "waits for: a person: an alarm has paused it",
    ] { #expect(show.output.contains(line), "\(show)") }
    let status = try site.run("status", "--app", "shop")
    #expect(status.output.contains("failures: 30 of 150 devices"), "\(status)")
    #expect(status.output.contains("Version 2 fails too often"), "\(status)")
    // Who lets more devices in is told, and completing has to be meant.
    let more = try site.run("rollout", "set", "50%", "--app", "shop")
    #expect(
      more.exitCode == 0 && more.errors.contains("version 2 fails too often: 30 of 150 devices"), "\(more)")
    for complete in [
      try site.run("rollout", "complete", "--app", "shop"),
      try site.run("rollout", "complete", "--app", "shop", "--json"),
    ] {
      #expect(complete.exitCode == 2, "\(complete)")
      for words in [
        "version 2 fails too often: 30 of 150 devices with it failed", "nothing was changed", "-y does it",
      ] {
        #expect("\(complete)".contains(words), "\(complete)")
      }
    }
    let resumed = try site.run("rollout", "resume", "--app", "shop")
    #expect(resumed.output.contains("alarms don't pause it any more"), "\(resumed)")
    let again = try site.run("rollout", "show", "--app", "shop")
    #expect(again.output.contains("  an alarm doesn't pause it any more\n"), "\(again)")
    #expect(
      again.output.contains("evidence against it since a person resumed it: e = 1, of what is opened from "),
      "\(again)")
    try site.stop()
  }

  @Test("A ramp goes on once enough devices have opened a page") func ramp() throws {
    let site = try Site(["--trust-proxy", "127.0.0.1"])
    _ = try site.publish(["a.js": "one"])
    let release = try site.publish(
      ["a.js": "two"], "--ramp", "5%,25%,100%", "--each", "50", "--at-least", "0")
    #expect(release["rollout"]?["open"]?["share"]?.integer == 500)
    #expect(release["rollout"]?["ramp"]?["each"]?.integer == 50, "\(release)")
    let show = try site.run("rollout", "show", "--app", "shop")
    #expect(
      show.output.contains("steps 5%, 25%, 100%, each after 50 devices; the next one is 25%"), "\(show)")
    #expect(
      show.output.contains(
        "waits for: devices with the candidate that open a page in this step: so far 0 of 50"), "\(show)")
    try Self.report(site, "2", candidate: 0, control: 0, of: 60)
    #expect(
      Wait.until(40) { (try? Self.rollout(site))?["open"]?["share"]?.integer == 2500 },
      "\((try? Self.rollout(site)) ?? .null)")
    try site.crash()
    Clock.sleep(for: .milliseconds(11_000))
    #expect(try Self.rollout(site)["open"]?["share"]?.integer == 2500)
    let each = try site.run("rollout", "set", "--each", "70", "--at-least", "0m", "--app", "shop")
    #expect(each.exitCode == 0, "\(each)")
    let ramp = try Self.rollout(site)["ramp"]
    #expect(ramp?["each"]?.integer == 70 && ramp?["steps"]?.array?.count == 3, "\(ramp ?? .null)")
    let same = try site.run("rollout", "set", "--each", "70", "--app", "shop")
    #expect(same.output.contains("nothing changed: version 2 does that already"), "\(same)")
    let set = try site.run("rollout", "set", "--ramp", "none", "--app", "shop")
    #expect(try site.run("rollout", "set", "--each", "70", "--app", "shop").exitCode == 2)
    #expect(set.exitCode == 0, "\(set)")
    let without = try site.run("rollout", "show", "--app", "shop")
    #expect(without.output.contains("waits for: a person, who takes each step"), "\(without)")
    try site.stop()
  }

  @Test("A ramp of a fleet in few networks goes on once it is told so") func fewNetworks() throws {
    let site = try Site(["--trust-proxy", "127.0.0.1"])
    _ = try site.publish(["a.js": "one"])
    _ = try site.publish(["a.js": "two"], "--ramp", "5%,25%", "--each", "50", "--at-least", "0")
    try Self.report(site, "2", candidate: 0, control: 0, of: 60, networks: 3)
    func show() throws -> String { try site.run("rollout", "show", "--app", "shop").output }
    let lines = """
      114 of 120 openings of the last two days aren't counted: they came from 3 networks, and one counts for 5 % at most
        if there is a proxy before the origin, `serve --trust-proxy ADDRESS` tells devices apart;
        if the devices themselves are in few networks, `xcache rollout set --network-cap 100% --app shop` counts all
      """
    #expect(Wait.until(40) { (try? show())?.contains(lines) == true }, "\((try? show()) ?? "")")
    #expect(
      try show().contains(
        "waits for: devices with the candidate that open a page in this step: so far 3 of 50"))
    let set = try site.run("rollout", "set", "--network-cap", "100%", "--app", "shop")
    #expect(set.exitCode == 0, "\(set)")
    #expect(set.output.contains("`xcache rollout show --app shop` says how it goes on"))
    #expect(try show().contains("one network counts for 100 % at most"))
    #expect(
      Wait.until(40) { (try? Self.rollout(site))?["open"]?["share"]?.integer == 2500 },
      "\((try? Self.rollout(site)) ?? .null)")
    try site.stop()
  }

  @Test(
    "Options that can't be",
    arguments: [
      ["--ramp", "5%,5%"], ["--ramp", "complete"], ["--ramp", "0%,5%"], ["--ramp", "5%,"], ["--each", "0"],
      ["--ramp", "5%", "--each", "0"], ["--ramp", "5%", "--at-least", "soon"], ["--at-least", "soon"],
      ["--ramp", "none", "--each", "5"],
      ["--auto-halt", "--no-auto-halt"], ["--network-cap", "0%"], ["--network-cap", "101%"],
      ["--network-cap", "all"],
    ])
  func options(_ words: [String]) throws {
    let scratch = try Scratch()
    let child = try Child(
      [Binary.path, "rollout", "set", "--app", "shop", "--server", "http://127.0.0.1:1"] + words,
      environment: ["XCACHE_TOKEN": "xc_00000000_00000000000000000000000000000000", "HOME": scratch.path],
      in: scratch.path)
    #expect(try child.wait(seconds: 20) == 2, "\(child.standardError)")
  }
}
