import Glibc
import System
import Testing
import Values

@Suite("Rights of tokens")
struct TokenTests {
  struct Case: Sendable, CustomTestStringConvertible {
    /// The options that the token was made with; nil: an invalid token.
    let made: [String]?
    let words: [String]
    let exitCode: Int32
    /// What the message contains.
    var says: String = ""

    var testDescription: String {
      "\(made?.joined(separator: " ") ?? "none"): \(words.joined(separator: " "))"
    }
  }

  private static let publish = ["publish", "--create", "FOLDER", "--bundle", "main", "--base-url", Site.base]
  private static let unpublish = ["unpublish", "--bundle", "main"]
  private static let status = ["status"]

  @Test("A token for an unknown app is made with a warning that suggests similar names")
  func unknownApp() throws {
    try Site.with { site in
      try site.publish(["a.js": "1"])
      let made = try site.run("token", "create", "ci", "--scope", "publish", "--no-expiry", "--app", "shpo")
      #expect(made.exitCode == 0 && made.output.hasPrefix("xcache_"))
      #expect(made.errors.contains("there is no app shpo yet; did you mean shop?"), "\(made.errors)")
      #expect(
        try !site.run("token", "create", "ci2", "--scope", "publish", "--no-expiry", "--app", "shop").errors
          .contains("warning"))
    }
  }

  @Test(
    "A token that couldn't be printed is revoked, and the command fails",
    arguments: [">/dev/full", ">&-", "| true", "--json >/dev/full"])
  func lost(_ sink: String) throws {
    try Site.with { site in
      // The other end of a pipe must be closed before the token is written.
      let wait = sink == "| true" ? "sleep 1; " : ""
      let script =
        "set -o pipefail; { \(wait)'\(Binary.path)' token create ci --scope publish --all-apps --no-expiry \(sink == "| true" ? "" : sink); } \(wait.isEmpty ? "" : sink)"
      let outcome = try Outcome(try site.start([], launcher: ["bash", "-c", script]))
      #expect(outcome.exitCode == 1, "\(outcome.errors)")
      #expect(
        outcome.errors.contains("could not be printed") && outcome.errors.contains("so it was revoked"),
        "\(outcome.errors)")
      let list = try site.run("token", "list", "--json")
      let tokens = try JSONValue.parse(Array(list.output.utf8))["tokens"]?.array ?? []
      #expect(
        tokens.count { $0["name"]?.string == "ci" && $0["revokedAt"]?.isNull == false } == 1, "\(list.output)"
      )
    }
  }

  @Test(
    "Each command requires its scope",
    arguments: [
      Case(
        made: nil, words: publish + ["--app", "shop"], exitCode: 1,
        says: "token is unknown, expired or revoked"),
      Case(
        made: nil, words: status + ["--app", "shop"], exitCode: 1,
        says: "token is unknown, expired or revoked"),
      Case(made: ["--scope", "read"], words: status + ["--app", "shop"], exitCode: 0),
      Case(made: ["--scope", "read"], words: ["log", "--app", "shop"], exitCode: 0),
      Case(made: ["--scope", "read"], words: ["diff", "1", "2", "--app", "shop"], exitCode: 0),
      Case(made: ["--scope", "read"], words: publish + ["--app", "shop"], exitCode: 1, says: "publish"),
      Case(made: ["--scope", "read"], words: unpublish + ["--app", "shop"], exitCode: 1, says: "publish"),
      Case(made: ["--scope", "read"], words: ["token", "list"], exitCode: 1, says: "admin"),
      Case(made: ["--scope", "publish"], words: publish + ["--app", "shop"], exitCode: 0),
      Case(made: ["--scope", "publish"], words: unpublish + ["--app", "shop"], exitCode: 0),
      Case(made: ["--scope", "publish"], words: publish + ["--app", "fresh"], exitCode: 1, says: "fresh"),
      Case(
        made: ["--scope", "publish"],
        words: ["token", "create", "more", "--scope", "publish", "--all-apps", "--no-expiry"], exitCode: 1,
        says: "admin"),
      Case(made: ["--scope", "publish", "--app", "shop"], words: publish + ["--app", "shop"], exitCode: 0),
      Case(
        made: ["--scope", "publish", "--app", "shop"], words: publish + ["--app", "another"], exitCode: 1,
        says: "another"),
      Case(
        made: ["--scope", "read", "--app", "shop"], words: status + ["--app", "another"], exitCode: 1,
        says: "shop"),
      Case(
        made: ["--scope", "publish", "--app", "shop", "--channel", "test"],
        words: publish + ["--app", "shop"],
        exitCode: 1, says: "channel test"),
      Case(made: ["--scope", "admin"], words: publish + ["--app", "fresh"], exitCode: 0),
      Case(made: ["--scope", "admin"], words: ["token", "list"], exitCode: 0),
      Case(
        made: ["--scope", "admin", "--app", "shop"], words: ["token", "list"], exitCode: 1, says: "admin"),
      Case(
        made: ["--scope", "admin", "--app", "shop"], words: publish + ["--app", "fresh"], exitCode: 1,
        says: "shop"),
    ])
  func scopes(_ test: Case) throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      try site.publish(["a.js": "2"])
      try site.publish(["a.js": "1"], app: "another")
      var token = "xcache_0123456789ab_" + String(repeating: "A", count: 43)
      if var made = test.made {
        made += (made.contains("--app") ? [] : ["--all-apps"]) + ["--no-expiry"]
        let outcome = try Outcome(
          try site.start(["token", "create", "ci"] + made))
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        token = outcome.output.filter { !$0.isWhitespace }
      }
      let folder = try site.scratch.folder("next", ["a.js": "3"])
      let before = try site.poll()
      let outcome = try Outcome(
        try site.start(test.words.map { $0 == "FOLDER" ? folder : $0 }, token: token))
      #expect(outcome.exitCode == test.exitCode, "\(outcome.errors)")
      #expect(test.says.isEmpty || outcome.errors.contains(test.says))
      if test.exitCode != 0 {
        #expect(try site.poll() == before)
        #expect(try site.web.ask("/configure.json?app=fresh").status == 404)
      }
    }
  }

  @Test("A token for some bundles publishes only these, and expires on time")
  func limits() throws {
    try Site.with { site throws in
      for bundle in ["main", "activity-1"] {
        try site.publish(["\(bundle).js": "1"], as: bundle)
        try site.publish(["\(bundle).js": "2"], as: bundle)
      }
      let words = [
        "token", "create", "ci", "--scope", "publish", "--bundle", "activity-*", "--expires", "90d", "--app",
        "shop",
      ]
      let token = try Outcome(try site.start(words)).output.filter { !$0.isWhitespace }
      let list = try site.run("token", "list").output
      #expect(list.contains("activity-*") && !list.contains(token))
      for (act, exitCode) in [
        (["rollback", "--bundle", "activity-1", "--steps", "1"], Int32(0)),
        (["rollback", "--bundle", "main", "--steps", "1"], 1),
        (["rollback", "--all-bundles", "--steps", "1"], 1),
        (["rollback", "--bundle", "activity-1", "--to", "4", "--with-prefetch"], 1),
        (["unpublish", "--bundle", "main"], 1),
        (["promote", "--from", "online", "--to", "test", "--create"], 1),
        (["channel", "freeze", "--channel", "online", "--reason", "x"], 1),
        (["unpublish", "--bundle", "activity-1"], 0),
      ] {
        let outcome = try Outcome(try site.start(act + ["--app", "shop"], token: token))
        #expect(outcome.exitCode == exitCode, "\(act): \(outcome.errors)")
        #expect(!outcome.errors.contains(token))
        if exitCode != 0 { #expect(outcome.errors.contains("token \"ci\""), "\(act): \(outcome.errors)") }
      }
      for text in ["90", "0d", "-1d", "soon", "1y"] {
        #expect(
          try site.run("token", "create", "x", "--scope", "publish", "--all-apps", "--expires", text).exitCode
            == 2, "\(text)")
      }
      #expect(
        try site.run(
          "token", "create", "x", "--scope", "publish", "--all-apps", "--no-expiry", "--bundle", "a/b"
        ).exitCode == 2)
      let body: JSONValue = ["expiresIn": 1, "name": "short", "scope": "read"]
      let short = try site.api("POST", "tokens", body).json["token"]?.string
      let refused = "token is unknown, expired or revoked"
      #expect(
        try Wait.until(30) { try site.run("status", "--app", "shop", token: short).errors.contains(refused) })
    }
  }

  @Test("A revoked token is refused, and its name can be used again")
  func revoked() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      let token = try site.run("token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry")
        .output.filter { !$0.isWhitespace }
      #expect(try site.run("status", "--app", "shop", token: token).exitCode == 0)
      #expect(
        try site.run("token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry").exitCode == 3
      )
      #expect(try site.run("token", "revoke", "ci").exitCode == 0)
      let refused = try site.run("status", "--app", "shop", token: token)
      #expect(refused.exitCode == 1 && refused.errors.contains("revoked"))
      #expect(
        try site.run("token", "create", "ci", "--scope", "publish", "--all-apps", "--no-expiry").exitCode == 0
      )
      #expect(try site.run("token", "list").output.contains("ci (revoked)"))
      #expect(try site.run("token", "revoke", "nobody").exitCode == 1)
      #expect(try site.run("token", "revoke", "admin").exitCode == 3)
    }
  }

  @Test(
    "The API's refusals have problem details (RFC 9457)",
    arguments: [nil, "Basic abc", "Bearer wrong", "bearer"])
  func problems(_ authorization: String?) throws {
    try Shared.site { site throws in
      let fields = authorization.map { ["Authorization": $0] } ?? [:]
      let answer = try site.web.ask("/api/v1/apps/shop/channels/online", "GET", fields)
      #expect(answer.status == 401)
      #expect(answer["content-type"] == "application/problem+json")
      #expect(answer["www-authenticate"] == "Bearer")
      let problem = try JSONValue.parse(answer.body)
      #expect(problem["status"]?.integer == 401 && problem["code"]?.string == "token")
    }
  }

  @Test("An upload without a token is refused and leaves no file")
  func uploadWithoutToken() throws {
    try Site.with { site throws in
      let bytes = Array("secretly".utf8)
      let path = "/api/v1/blobs/\(SHA256.of(bytes).hex)"
      #expect(
        try site.web.ask(path, "PUT", ["Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="], body: bytes).status == 401)
      // With Expect: 100-continue, the refusal is sent instead of `100 Continue`.
      let expecting = try site.web.ask(path, "PUT", ["Expect": "100-continue", "Content-Length": "8"])
      #expect(expecting.status == 401)
      let reader = try site.run("token", "create", "reader", "--all-apps", "--no-expiry", "--scope", "read")
        .output
        .filter { !$0.isWhitespace }
      for (token, status) in [("wrong", 401), (reader, 403)] {
        for (method, path) in [("PUT", path), ("POST", "/api/v1/apps/shop/channels/online/releases")] {
          let fields = [
            "Authorization": "Bearer \(token)", "Expect": "100-continue", "Content-Length": "8",
            "Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA==",
          ]
          #expect(try site.web.ask(path, method, fields).status == status)
        }
      }
      #expect(try Folder.names(site.data + "/tmp/whole").isEmpty)
      #expect(try Folder.textNames(site.data + "/tmp") == ["whole"])
    }
  }

  @Test("The first token is in a file that only its owner can read, and is printed once")
  func firstToken() throws {
    try Site.with { site throws in
      let mode = try Kernel.status(site.data + "/admin.token")?.mode ?? 0
      #expect(mode & 0o777 == 0o600)
      #expect(site.server.standardError.contains("admin.token"))
      #expect(!site.server.standardError.contains(site.token))
      try site.crash()
      #expect(!site.server.standardError.contains("admin.token"))
      #expect(try site.run("token", "list").exitCode == 0)
    }
  }

  @Test("A lost admin token can be replaced in the data folder while no server runs")
  func lostToken() throws {
    let site = try Site()
    let words = [
      "token", "create", "root", "--all-apps", "--no-expiry", "--scope", "admin", "--data", site.data,
    ]
    let refused = try Outcome(try site.start(words))
    #expect(refused.exitCode == 1 && refused.errors.contains("in use"))
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    let made = try Outcome(try site.start(words))
    #expect(made.exitCode == 0)
    try site.start()
    let token = made.output.filter { !$0.isWhitespace }
    #expect(try site.run("token", "revoke", "admin", token: token).exitCode == 0)
    try site.stop()
  }
}
