import Manifests
import System
import Testing

/// Prefetch config and policy: push, poll, pull, roll back, kill, restart.
@Suite struct DocumentTests {
  private static let config = """
    [{"url": "https://m.example.com/shop/help/new", "interfaces": [
      {"api": "https://m.example.com/xhr/a", "method": "post", "body": {"cityId": 123456}, "bodyParam": true},
      {"api": "https://m.example.com/xhr/b", "method": "get", "urlParam": true}]}]
    """

  private static func file(_ site: Site, _ name: String, _ text: String) throws -> String {
    let path = "\(site.scratch.path)/\(name)"
    try DurableFile.write(Array(text.utf8), to: path)
    return path
  }

  private static func numbers(_ site: Site) throws -> String {
    let data = try site.poll("version=1")["data"]
    return "prefetch \(data?["prefetch"]?.string ?? "-") policy \(data?["policy"]?.string ?? "-") "
      + "manifest \(data?["version"]?.string ?? "-")"
  }

  @Test func pushPollPullRollBack() throws {
    try Site.with { site in
      try site.publish(["index.html": "<p>1"])
      try site.pull("device")
      let file = try Self.file(site, "prefetch.json", Self.config)
      let pushed = try site.run("prefetch", "push", file, "--app", "shop", "-m", "first")
      #expect(pushed.exitCode == 0 && pushed.output == "1 page, 2 calls, version 1\n", "\(pushed.errors)")
      #expect(try Self.numbers(site) == "prefetch 1 policy - manifest 1")
      #expect(try site.pull("device")["prefetch"]?.string == "1")
      let other = try Self.file(site, "other.json", "[]")
      #expect(
        try site.run("prefetch", "push", other, "--app", "shop").output.hasPrefix(
          "0 pages, 0 calls, version 2\n"))
      #expect(try site.pull("device")["prefetch"]?.string == "2")
      #expect(try site.run("prefetch", "rollback", "--to", "1", "--app", "shop").exitCode == 0)
      #expect(try Self.numbers(site) == "prefetch 3 policy - manifest 1")
      try site.crash()
      #expect(try site.pull("device")["prefetch"]?.string == "3")
      let kept = try DurableFile.read("\(site.scratch.path)/device/prefetchConfig.json")
      #expect(try kept == site.web.ask("/xcache/shop/prefetchConfig.json").body)
      let refused = try site.run("prefetch", "push", other, "--app", "shop", "--if-version", "2")
      #expect(refused.exitCode == 3 && refused.errors.contains("admin made version 3"), "\(refused.errors)")
      let log = try site.run("prefetch", "log", "--app", "shop")
      #expect(log.output.contains("rollback to 1") && log.output.contains("first"))
    }
  }

  @Test func checkNeedsNoServer() throws {
    try Site.with { site in
      let file = try Self.file(site, "prefetch.json", Self.config)
      let page = "https://m.example.com/shop/help/new?id=163&itemId=126"
      let check = try site.run("prefetch", "check", file, "--url", page, token: "none")
      #expect(
        check.output == """
          entry https://m.example.com/shop/help/new
          POST https://m.example.com/xhr/a
            Content-Type: application/json
            {"cityId":123456,"id":"163","itemId":"126"}
          GET https://m.example.com/xhr/b?id=163&itemId=126

          """)
      let bad = try Self.file(site, "bad.json", #"[{"url":"/p","interfaces":[{"apii":1}]}]"#)
      for verb in ["check", "push"] {
        let refused = try site.run("prefetch", verb, bad, "--app", "shop")
        #expect(refused.exitCode == 3)
        #expect(
          refused.errors.contains(
            "\(bad): error: $[0].interfaces[0].apii: unknown key; did you mean"))
      }
      #expect(try site.run("prefetch", "check", "absent.json").exitCode == 1)
      #expect(try site.run("prefetch", "chek").exitCode == 2)
    }
  }

  @Test func killSwitchIsInStatusAndReachesDevices() throws {
    try Site.with { site in
      try site.publish(["index.html": "<p>1"])
      let kill = try site.run("policy", "kill", "--for", "6h", "--app", "shop", "-m", "white screen")
      #expect(kill.exitCode == 0 && kill.output.hasPrefix("interception is off until 20"))
      let status = try site.run("status", "--app", "shop").output
      #expect(status.contains("KILLED     interception is off until 20") && status.contains("white screen"))
      #expect(try site.pull("device")["policy"]?.string == "1")
      #expect(
        try site.run("policy", "bypass", "add", "https://third.example.com/*", "--app", "shop").exitCode == 0)
      #expect(try site.run("policy", "resume", "--app", "shop").output == "interception is on, version 3\n")
      #expect(try !site.run("status", "--app", "shop").output.contains("KILLED"))
      #expect(
        try site.web.ask("/policy.json?app=shop").text
          == #"{"code":200,"data":{"bypass":["https://third.example.com/*"],"intercept":true,"scripts":[],"version":"3"}}"#
      )
      #expect(try site.run("policy", "kill", "--for", "soon", "--app", "shop").exitCode == 2)
      #expect(try site.run("policy", "bypass", "add", "third.example.com", "--app", "shop").exitCode == 2)
    }
  }

  @Test func pollIntervalIsInEveryAnswer() throws {
    try Site.with { site in
      try site.publish(["index.html": "<p>1"])
      #expect(try site.run("channel", "set", "--interval", "90", "--app", "shop").exitCode == 0)
      #expect(try site.poll("version=1")["data"]?["interval"]?.integer == 90)
      #expect(try site.poll()["data"]?["interval"]?.integer == 90)
      #expect(try site.run("channel", "set", "--interval", "none", "--app", "shop").exitCode == 0)
      #expect(try site.poll("version=1")["data"]?["interval"] == nil)
      #expect(try site.run("channel", "set", "--interval", "29", "--app", "shop").exitCode == 2)
    }
  }
}
