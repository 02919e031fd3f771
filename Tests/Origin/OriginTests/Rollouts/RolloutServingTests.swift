import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Answers to polls during a rollout.
@Suite struct RolloutServingTests {
  private static let online = "apps/shop/channels/online"

  /// Full version 2, and candidate 3.
  private func opened() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one", "same.js": "same"])
    try origin.publish(["b.js": "b"], bundle: "other")
    #expect(try origin.candidate(["a.js": "two", "same.js": "same"]).status == 201)
    return origin
  }

  private func data(_ origin: TestOrigin, _ query: String) throws -> JSONValue {
    try origin.ask("GET", "/configure.json?app=shop&\(query)").json["data"] ?? .null
  }

  private func version(_ origin: TestOrigin, _ query: String) throws -> String? {
    try data(origin, query)["version"]?.string
  }

  @Test func pollsGetTheRequestedVersionAndTheRule() throws {
    let origin = try opened()
    for origin in [origin, try origin.restarted()] {
      for known in [
        "", "version=1", "version=2", "version=3", "version=1&patch=1", "version=2&patch=1", "version=9",
      ] {
        let (full, candidate) = (try data(origin, known), try data(origin, "\(known)&candidate=1"))
        #expect(full["version"]?.string == "2" && candidate["version"]?.string == "3", "\(known)")
        for answer in [full, candidate] {
          let rule = answer["rollout"]
          #expect(rule?["version"]?.string == "3" && rule?["share"]?.integer == 500, "\(known)")
        }
      }
      #expect(try data(origin, "version=2")["update"]?.bool == false)
      #expect(try data(origin, "version=3&candidate=1")["update"]?.bool == false)
      let patch = try data(origin, "version=2&patch=1&candidate=1")
      #expect(patch["base"]?.string == "2" && patch["patch"]?.object?.members.count == 1)
      // Back to the full version only as a whole manifest.
      #expect(try data(origin, "version=3&patch=1")["resourcemap"] != nil)
    }
  }

  /// A device that went back from the candidate gets nothing until there is a higher version; it still learns the rule.
  @Test func skippedCandidate() throws {
    let origin = try opened()
    for known in ["version=2&patch=1", "version=1&patch=1&pack=1", "version=1"] {
      let answer = try data(origin, "\(known)&candidate=1&skip=3")
      #expect(answer["update"]?.bool == false && answer["version"]?.string == "3", "\(known)")
      #expect(answer["rollout"]?["version"]?.string == "3", "\(known)")
    }
    // The full version isn't what it skips.
    #expect(try data(origin, "version=1&patch=1&skip=3")["patch"] != nil)
    #expect(try data(origin, "version=1&patch=1&skip=2")["update"]?.bool == false)
    // Once it is the version of all devices, it is the newest of all polls.
    #expect(try origin.api("POST", "\(Self.online)/rollout/complete", [:]).status == 200)
    #expect(try data(origin, "version=2&patch=1&skip=3")["update"]?.bool == false)
    try origin.publish(["a.js": "three"])
    #expect(try data(origin, "version=2&patch=1&skip=3")["version"]?.string == "4")
    #expect(try data(origin, "version=2&patch=1&skip=3")["update"]?.bool != false)
  }

  /// Also at the paths that a copy has, and for requests of older apps.
  @Test func otherPathsAndOlderDevices() throws {
    let origin = try opened()
    for (path, wanted) in [
      ("/xcache/shop/configure.json?version=1", "2"), ("/xcache/shop/configure.json?candidate=1", "3"),
      ("/xcache-provider/xhr/client/configure.json?app=shop&candidate=1", "3"),
      ("/configure.json?app=shop&candidate=0", "2"),
    ] {
      #expect(try origin.ask("GET", path).json["data"]?["version"]?.string == wanted, "\(path)")
    }
    #expect(try origin.ask("GET", "/info.json?app=shop").json["version"]?.string != nil)
  }

  @Test func newRuleIsInEveryAnswerAtOnce() throws {
    let origin = try opened()
    let polls = [
      "version=2", "version=3&candidate=1", "", "candidate=1", "version=1&patch=1",
      "version=1&patch=1&candidate=1",
    ]
    for poll in polls { _ = try data(origin, poll) }
    let tag = try origin.ask("GET", "/configure.json?app=shop&version=2").field("ETag")
    #expect(
      try origin.api("POST", "\(Self.online)/rollout/set", ["share": 2500, "groups": ["qa"]]).status == 200)
    for poll in polls {
      let rule = try data(origin, poll)["rollout"]
      #expect(rule?["share"]?.integer == 2500 && rule?["groups"]?.array?.count == 1, "\(poll)")
    }
    #expect(try origin.ask("GET", "/configure.json?app=shop&version=2").field("ETag") != tag)
    #expect(try origin.api("POST", "\(Self.online)/rollout/pause", [:]).status == 200)
    for poll in polls {
      let rule = try data(origin, poll)["rollout"]
      #expect(rule?["share"]?.integer == 0 && rule?["groups"] == nil, "\(poll)")
    }
    // A new interval keeps the rule, and the reverse.
    _ = try origin.api("POST", "\(Self.online)/settings", ["interval": 60])
    for poll in polls {
      let answer = try data(origin, poll)
      #expect(answer["interval"]?.integer == 60 && answer["rollout"]?["share"]?.integer == 0, "\(poll)")
    }
  }

  @Test func completingAndHalting() throws {
    let origin = try opened()
    #expect(try origin.api("POST", "\(Self.online)/rollout/complete", [:]).json["changed"]?.bool == true)
    for poll in ["", "version=1", "version=2&patch=1", "candidate=1", "version=3"] {
      let answer = try data(origin, poll)
      #expect(answer["version"]?.string == "3" && answer["rollout"] == nil, "\(poll)")
    }
    #expect(
      try origin.api("POST", "\(Self.online)/rollout/complete", [:]).json["code"]?.string == "no-rollout")
    #expect(try origin.candidate(["a.js": "three", "same.js": "same"]).json["version"]?.string == "4")
    _ = try origin.api("POST", "\(Self.online)/freeze", ["reason": "sale"])
    #expect(try origin.api("POST", "\(Self.online)/rollout/complete", [:]).json["code"]?.string == "frozen")
    #expect(try origin.api("POST", "\(Self.online)/rollout/halt", [:]).status == 400)
    let halted = try origin.api("POST", "\(Self.online)/rollout/halt", ["message": "broken"])
    #expect(halted.status == 201 && halted.json["version"]?.string == "5")
    #expect(halted.json["rollout"]?["ended"]?["state"]?.string == "halted")
    for poll in ["", "version=3", "version=4&patch=1&candidate=1"] {
      let answer = try data(origin, poll)
      #expect(answer["version"]?.string == "5" && answer["rollback"]?.string == "5", "\(poll)")
      #expect(answer["rollout"] == nil, "\(poll)")
    }
    let whole = try data(origin, "")["resourcemap"]?.object
    #expect(whole?.members.count == 3)
  }

  /// The answer of a release says whose content was halted before, so that a CI job that tries again is told.
  @Test func sameAsHalted() throws {
    let origin = try opened()
    #expect(try origin.api("POST", "\(Self.online)/rollout/halt", ["message": "broken"]).status == 201)
    let again = try origin.candidate(["a.js": "two", "same.js": "same"])
    let same = again.json["sameAsHalted"]
    #expect(again.status == 201 && same?["version"]?.string == "3", "\(again.json)")
    #expect(same?["reason"]?.string == "broken" && same?["state"]?.string == "halted", "\(again.json)")
    let other = try origin.candidate(["a.js": "three", "same.js": "same"])
    #expect(other.status == 201 && other.json["sameAsHalted"] == nil, "\(other.json)")
  }

  @Test func remadeCandidateHasBothContents() throws {
    let origin = try opened()
    let reply = try origin.publish(["b.js": "b2"], bundle: "other")
    #expect(reply.json["version"]?.string == "4" && reply.json["rollout"]?["open"]?["version"]?.string == "5")
    for origin in [origin, try origin.restarted()] {
      for (poll, version) in [("", "4"), ("version=2&patch=1", "4"), ("version=3&patch=1", "4")] {
        #expect(try self.version(origin, poll) == version, "\(poll)")
        #expect(try self.version(origin, poll + "&candidate=1") == "5", "\(poll)")
      }
      // Devices with the previous candidate update directly to the new one: one file.
      let step = try data(origin, "version=3&patch=1&candidate=1")
      #expect(step["patch"]?.object?.members.map(\.key) == ["https://m.example.com/b.js"])
      let digests = try ["", "candidate=1"].map { try data(origin, $0)["digest"]?.string }
      #expect(digests[0] != nil && digests[0] != digests[1])
    }
    let channel = try origin.store.channel(AppName("shop"), .online)
    for state in [channel, channel.full] {
      #expect(try state.digest == origin.store.digestByQuery(channel, at: state.version))
    }
  }

  @Test func bothVersionsAreShown() throws {
    let origin = try opened()
    let overview = try origin.api("GET", Self.online).json
    #expect(overview["version"]?.string == "2" && overview["resources"]?.integer == 3)
    #expect(overview["rollout"]?["version"]?.string == "3" && overview["rollout"]?["full"]?.string == "2")
    let log = try origin.api("GET", "\(Self.online)/log").json["releases"]?.array ?? []
    #expect(log.first?["rollout"]?["state"]?.string == "open" && log.last?["rollout"] == nil)
    let list = try origin.api("GET", "\(Self.online)/rollout").json
    #expect(list["full"]?.string == "2" && list["open"]?["version"]?.string == "3")
    #expect(list["rollouts"]?.array?.count == 1)
    #expect(try origin.api("GET", "\(Self.online)/manifest").field("X-Xcache-Version") == "2")
    // The full version is promoted.
    let promoted = try origin.api("POST", "apps/shop/channels/test/promote", ["from": "online"])
    #expect(promoted.json["fromVersion"]?.string == "2", "\(promoted.text)")
  }

  @Test func tokenForOtherBundlesCannotChangeTheRollout() throws {
    let origin = try opened()
    let made = try origin.api(
      "POST", "tokens",
      ["app": "shop", "bundles": "other", "name": "team", "scope": "publish"])
    let token = try #require(made.json["token"]?.string, "\(made.text)")
    for (verb, body) in [
      ("set", ["share": 1]), ("pause", [:]), ("complete", [:]), ("halt", ["message": "x"]),
    ]
      as [(String, JSONValue)]
    {
      let reply = try origin.api("POST", "\(Self.online)/rollout/\(verb)", body, token: token)
      #expect(reply.status == 403, "\(verb): \(reply.text)")
    }
    #expect(try origin.api("GET", "\(Self.online)/rollout", token: token).status == 200)
  }

  @Test(arguments: [
    #"{"share":10001}"#, #"{"share":-1}"#, "{}", #"{"groups":["Q"]}"#, #"{"app":"4.2"}"#, #"{"share":"5"}"#,
  ])
  func invalidAudienceIsRefused(text: String) throws {
    let body = try JSONValue.parse(Array(text.utf8))
    let origin = try opened()
    #expect(try origin.api("POST", "\(Self.online)/rollout/set", body).status == 400, "\(body)")
    var release = try origin.release(["a.js": "x"]).object ?? JSONObject()
    release["rollout"] = body
    #expect(try origin.api("POST", "\(Self.online)/releases", .object(release)).status == 400, "\(body)")
  }

  @Test func requestForAnotherCandidateChangesNothing() throws {
    let origin = try opened()
    let set = try origin.api("POST", "\(Self.online)/rollout/set", ["candidate": "2", "share": 1])
    #expect(set.status == 409 && set.json["code"]?.string == "other-rollout")
    let halt = try origin.api("POST", "\(Self.online)/rollout/halt", ["candidate": "2", "message": "x"])
    #expect(halt.status == 409 && halt.json["candidate"]?.string == "3")
    var release = try origin.release(["a.js": "x"]).object ?? JSONObject()
    release["ifNoRollout"] = true
    let reply = try origin.api("POST", "\(Self.online)/releases", .object(release))
    #expect(reply.status == 409 && reply.json["code"]?.string == "rollout-open")
  }

  /// There are deltas and packs to both versions.
  @Test func bothVersionsGetPacks() throws {
    let origin = try TestOrigin()
    func script(_ number: Int) -> String {
      let lines = (0..<2000).map { "let a\($0) = '\(SHA256.of(Array("a\($0)".utf8)).hex.prefix(9))';" }
      return lines.joined(separator: "\n") + "let version = \(number);"
    }
    try origin.publish(["a.js": script(1)])
    try origin.publish(["a.js": script(2)])
    #expect(try origin.candidate(["a.js": script(3)]).status == 201)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    for (poll, version) in [
      ("version=1", "2"), ("version=1&candidate=1", "3"), ("version=2&candidate=1", "3"),
    ] {
      #expect(
        try PackServingTests.becomesTrue {
          let answer = try data(origin, "\(poll)&patch=1&pack=1")
          return answer["pack"] != nil && answer["version"]?.string == version
        }, "\(poll)")
    }
    // gc keeps both.
    _ = try origin.api("POST", "gc", ["keepDays": 0, "keepVersions": 1])
    #expect(try data(origin, "version=2&patch=1&pack=1&candidate=1")["pack"] != nil)
    #expect(try version(origin, "version=2") == "2")
  }
}

extension TestOrigin {
  /// Releases a candidate for 5 % of the devices.
  func candidate(_ files: [String: String], bundle: String = "main", share: Int = 500) throws -> Reply {
    var body = try release(files, bundle: bundle).object ?? JSONObject()
    body["rollout"] = ["share": .integer(share)]
    return try api("POST", "apps/shop/channels/online/releases", .object(body))
  }
}
