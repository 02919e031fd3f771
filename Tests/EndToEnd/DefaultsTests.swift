import Testing
import Values

/// Defaults of commands match their help texts.
@Suite("Defaults") struct DefaultsTests {
  /// Command lines without a channel, for each command whose help says "(default: online)".
  static let uses: [String: [[String]]] = [
    "channel": [
      ["freeze", "--reason", "sale"], ["thaw"], ["set", "--interval", "60"], ["list"], ["default-app"],
    ],
    "diff": [["1"]], "log": [[]], "pin": [["1", "why"], ["list"], ["remove", "1"]],
    "policy": [["kill"], ["show"], ["log"], ["resume"]], "prefetch": [["show"], ["log"]],
    "publish": [
      ["next", "--bundle", "more", "--base-url", "https://m.example.com/more", "--now", "--create"]
    ],
    "pull": [["--to", "device", "--force"]], "rollback": [["--bundle", "main", "--steps", "1"]],
    "rollout": [["show"]], "samples": [[]], "schedule": [["list"]],
    "show": [[]], "status": [[]], "unpublish": [["--bundle", "more"]], "web": [["init", "--dir", "next"]],
  ]

  /// The commands whose help says that the default channel is `online`.
  private static func documented() throws -> Set<String> {
    let commands = try HelpTests.commands.filter { command in
      let help = try Outcome(try Child([Binary.path, command, "--help"], environment: [:], in: "/")).output
      return help.split(separator: "\n").contains {
        $0.contains("--channel NAME") && $0.contains("the channel (default: online")
      }
    }
    // `device run` doesn't exit, and `preview` needs an engine: see DeviceProcessTests and PreviewTests. `sign` needs a
    // release that waits, and `acknowledge` a problem: see WaitingTests and ProblemCommandTests.
    return Set(commands).subtracting(["acknowledge", "device", "preview", "sign"])
  }

  @Test("Every command with a default channel uses online")
  func channel() throws {
    #expect(try Self.documented() == Set(Self.uses.keys))
    try Site.with { site in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      try site.scratch.folder("next", ["b.js": "3"])
      let before = try site.api("GET", "apps/shop/channels/online/log").json["releases"]?.array?.count
      for command in ["publish", "rollback"]
        + Self.uses.keys.sorted().filter({ !["publish", "rollback"].contains($0) })
      {
        for words in Self.uses[command] ?? [] {
          let outcome = try Outcome(
            try site.start(
              [command] + words + (command == "channel" && words == ["default-app"] ? [] : ["--app", "shop"]))
          )
          #expect(outcome.exitCode == 0, "\(command) \(words): \(outcome.errors)")
        }
      }
      // They changed this channel, and no other one exists.
      let log = try site.api("GET", "apps/shop/channels/online/log").json["releases"]?.array
      #expect(log?.count == (before ?? 0) + 3)
      #expect(try site.api("GET", "apps").json["channels"]?.array?.count == 1)
    }
  }

  @Test("A freeze without a channel freezes online, prints its name, and a publish is refused")
  func freeze() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let frozen = try site.run("channel", "freeze", "--reason", "sale", "--app", "shop")
      #expect(
        frozen.exitCode == 0 && frozen.output.contains("channel online of shop is frozen"), "\(frozen.errors)"
      )
      let folder = try site.scratch.folder("next", ["a.js": "2"])
      let publish = try site.run(
        "publish", "--create", folder, "--bundle", "main", "--base-url", Site.base, "--app", "shop", "--now")
      #expect(publish.exitCode == 3, "\(publish.output)")
      #expect(try site.poll()["data"]?["version"]?.string == "1")
      let thawed = try site.run("channel", "thaw", "--app", "shop")
      #expect(thawed.exitCode == 0 && thawed.output.contains("channel online of shop accepts releases again"))
    }
  }

  @Test("A channel is created and removed by its name alone", arguments: ["create", "remove"])
  func named(verb: String) throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let outcome = try site.run("channel", verb, "--app", "shop")
      #expect(outcome.exitCode == 2 && outcome.errors.contains("--channel NAME is required"))
    }
  }

  @Test("The default app is shown and changed, and polls without an app use the new one at once")
  func defaultApp() throws {
    try Site.with { site in
      let none = try site.run("channel", "default-app")
      #expect(none.exitCode == 0 && none.output.contains("there is no default app"))
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "1"], app: "other")
      try site.publish(["a.js": "2"], app: "other")
      #expect(
        try site.run("channel", "default-app").output == "polls without an app are answered by shop\n")
      let named = try site.run("channel", "default-app", "other")
      #expect(
        named.output == "polls without an app are answered by other now; before, shop did\n",
        "\(named.errors)")
      let poll = try JSONValue.parse(site.web.ask("/configure.json?version=9").body)
      #expect(poll["data"]?["version"]?.string == "2")
      #expect(
        try site.run("channel", "default-app", "other", "--json").output
          == "{\"changed\":false,\"defaultApp\":\"other\",\"was\":\"other\"}\n")
      #expect(
        try site.run("channel", "list").output.hasSuffix("polls without an app are answered by other\n"))
      #expect(try site.run("status", "--app", "other").output.contains("default    answers polls"))
      #expect(try !site.run("status", "--app", "shop").output.contains("default    answers polls"))
      let unknown = try site.run("channel", "default-app", "nobody")
      #expect(unknown.exitCode == 1 && unknown.errors.contains("nobody"))
      #expect(try site.run("channel", "default-app", "a", "b").exitCode == 2)
      #expect(try site.run("unpublish", "--app", "other", "--bundle", "main").exitCode == 0)
      #expect(
        try site.run("channel", "remove", "--app", "other", "--channel", "online").exitCode == 0)
      for words in ["default-app", "list"] {
        #expect(try site.run("channel", words).output.contains("is other, which has no channel"))
      }
      #expect(try site.web.ask("/configure.json").status == 404)
    }
  }

  @Test("A token is limited by its command line, not by the environment")
  func token() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let made = try Outcome(
        try site.start(
          ["token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry"],
          launcher: ["env", "XCACHE_APP=shop", "XCACHE_CHANNEL=test"]))
      #expect(made.exitCode == 0, "\(made.errors)")
      let tokens = try site.api("GET", "tokens").json["tokens"]?.array
      let ci = tokens?.first { $0["name"]?.string == "ci" }
      #expect(ci?["app"]?.isNull ?? true)
      #expect(ci?["channel"]?.isNull ?? true)
    }
  }
}
