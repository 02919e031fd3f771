import System
import Testing
import TestSupport
import Values

@testable import Origin
@testable import Store

@Suite struct LookingBackTests {
  private static let channel = "apps/shop/channels/online"

  /// A random act on the channel, after which devices may get something else.
  private func act(_ origin: TestOrigin, _ random: inout SplitMix, _ step: Int) throws {
    let names = (0..<6).map { "f\($0).js" }.shuffled(using: &random)
    let files = Dictionary(names.prefix(3).map { ($0, "content \(Int.random(in: 0..<3, using: &random))") }) {
      $1
    }
    let bundle = ["one", "two"].randomElement(using: &random) ?? "one"
    switch step < 4 ? 9 : Int.random(in: 0..<12, using: &random) {
    case 0...2:
      let body: JSONValue = [
        "allBundles": true, "steps": .integer(Int.random(in: 1...2, using: &random)),
        "withPrefetch": .bool(Bool.random(using: &random)),
      ]
      _ = try origin.api("POST", "\(Self.channel)/rollback", body)
    case 3:
      let gone: JSONValue = ["bundles": [["bundle": .string(bundle), "unpublish": true]]]
      _ = try origin.api("POST", "\(Self.channel)/releases", gone)
    case 4:
      try origin.publish(files, bundle: bundle, channel: "test")
      let body: JSONValue = ["from": "test", "withPrefetch": .bool(Bool.random(using: &random))]
      _ = try origin.api("POST", "\(Self.channel)/promote", body)
    case 5, 6:
      let call: JSONValue = ["api": .string("https://m.example.com/\(step)"), "method": "GET"]
      let config: JSONValue = [["interfaces": [call], "url": "https://m.example.com/p"]]
      #expect(try origin.api("POST", "\(Self.channel)/prefetch", ["document": config]).status == 201)
    default: try origin.publish(files, bundle: bundle, remove: Array(names.suffix(1)))
    }
  }

  /// Records what devices get after each act of a random history; each recorded state can be read again, byte for byte.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func anyTimeByteForByte(seed: UInt64) throws {
    let time = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { time.withLock { $0 } })
    var random = SplitMix(seed: seed)
    var records: [(moment: Int64, version: String, map: [UInt8], config: JSONValue?)] = []
    for step in 0..<40 {
      time.withLock { $0 += Int64.random(in: 1...90_000, using: &random) }
      try act(origin, &random, step)
      let answer = try origin.ask("GET", "/configure.json")
      guard answer.status == 200, let data = answer.json["data"], let map = data["resourcemap"] else {
        continue
      }
      let config = try origin.ask("GET", "/prefetchConfig.json").json["data"]?["config"]
      records.append((time.withLock { $0 }, data["version"]?.string ?? "", map.canonical, config))
    }
    #expect(records.count > 25 && Set(records.map(\.version)).count > 10)
    #expect(Set(records.compactMap { $0.config?.canonical }).count > 2)
    for (moment, version, map, config) in records {
      let at = VersionText.escaped(Timestamp.text(moment))
      let then = try origin.api("GET", "\(Self.channel)/manifest?version=\(at)")
      #expect(then.body == map && then.field("X-Xcache-Version") == version)
      let release = try origin.api("GET", "\(Self.channel)/releases/\(at)").json
      #expect(release["version"]?.string == version)
      #expect(release["digest"]?.string == SHA256.of(map).hex)
      let log = try origin.api("GET", "\(Self.channel)/log?at=\(at)").json["releases"]?.array
      #expect(log?.first?["version"]?.string == version)
      #expect(try origin.api("GET", "\(Self.channel)/prefetch?version=\(at)").json["config"] == config)
    }
  }

  /// Wherever a version is accepted, its time is, too.
  @Test func timeStandsForItsVersion() throws {
    let time = Locked<Int64>(1_763_500_000_000)
    let origin = try TestOrigin(clock: { time.withLock { $0 } })
    let first = Timestamp.text(1_763_500_000_500)
    for text in ["one", "two", "three"] {
      try origin.publish(["a.js": text])
      let call: JSONValue = ["api": .string("https://m.example.com/\(text)"), "method": "GET"]
      let config: JSONValue = [["interfaces": [call], "url": "https://m.example.com/p"]]
      #expect(try origin.api("POST", "\(Self.channel)/prefetch", ["document": config]).status == 201)
      time.withLock { $0 += 60_000 }
    }
    let at = VersionText.escaped(first)
    let pin = try origin.api("POST", "\(Self.channel)/pins", ["reason": "why", "version": .string(first)])
    #expect(pin.status == 201 && pin.json["version"]?.string == "1")
    #expect(try origin.api("DELETE", "\(Self.channel)/pins/\(at)").json["version"]?.string == "1")
    let diff = try origin.api("GET", "\(Self.channel)/diff?from=\(at)&to=3").json
    #expect(diff["from"]?.string == "1" && diff["changed"]?.array?.count == 1)
    for (path, body) in [
      ("rollback", ["bundle": "main", "steps": 1]), ("prefetch/rollback", ["to": "1"]),
      ("prefetch", ["document": []]), ("policy", ["act": "kill"]),
      ("releases", ["bundles": [["bundle": "main", "unpublish": true]]]),
    ] as [(String, JSONValue)] {
      var body = body.object ?? JSONObject()
      body["ifVersion"] = .string(first)
      let refused = try origin.api("POST", "\(Self.channel)/\(path)", .object(body))
      // There was no policy before, so nothing changed after that time.
      #expect(refused.status == (path == "policy" ? 201 : 409), "\(path): \(refused.text)")
      body["ifVersion"] = "yesterday"
      #expect(try origin.api("POST", "\(Self.channel)/\(path)", .object(body)).status == 400)
    }
    let back = try origin.api("POST", "\(Self.channel)/prefetch/rollback", ["to": .string(first)])
    #expect(back.status == 201 && back.json["source"]?.string == "1", "\(back.text)")
    let before = try origin.api("GET", "\(Self.channel)/policy?version=\(at)").json
    #expect(before["version"]?.string == "0" && before["policy"]?["intercept"]?.bool == true)
  }

  @Test func dryRunHasThePatchAndItsCost() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a", "b.js": "bb"])
    try origin.publish(["a.js": "aaa"], remove: ["b.js"])
    let first = try origin.api("GET", "\(Self.channel)/manifest?version=1").json
    let body: JSONValue = ["bundle": "main", "dryRun": true, "steps": 1]
    let dry = try origin.api("POST", "\(Self.channel)/rollback", body)
    #expect(dry.status == 200 && dry.json["version"]?.string == "3", "\(dry.text)")
    #expect(dry.json["cost"]?["fileBytes"]?.integer == 3 && dry.json["cost"]?["files"]?.integer == 2)
    let patch = try #require(dry.json["patch"])
    #expect(dry.json["cost"]?["patchBytes"]?.integer == Int64(patch.canonical.count))
    #expect(try origin.ask("GET", "/configure.json").json["data"]?["version"]?.string == "2")

    let done = try origin.api("POST", "\(Self.channel)/rollback", ["bundle": "main", "to": "1"])
    #expect(done.status == 201 && done.json["receipt"]?.string?.hasPrefix("4:") == true)
    #expect(done.json["takesBack"]?.array?.first?["releases"]?.array?.first?["author"]?.string == "admin")
    let polled = try origin.ask("GET", "/configure.json?version=2&patch=1").json["data"]
    #expect(polled?["patch"] == patch || polled?["resourcemap"] == first)
    #expect(try origin.api("GET", "\(Self.channel)/manifest").json == first)
    let release = try origin.api("GET", "\(Self.channel)/releases/3").json
    #expect(release["kind"]?.string == "rollback" && release["source"]?["version"]?.string == "1")
    #expect(release["source"]?["bundle"]?.string == "main")
  }

  /// Bodies of invalid rollbacks.
  @Test(arguments: [
    ("{}", 400, "bad-request"), (#"{"bundle":"main"}"#, 400, "bad-request"),
    (#"{"steps":1}"#, 400, "bad-request"),
    (#"{"bundle":"main","allBundles":true,"steps":1}"#, 400, "bad-request"),
    (#"{"bundle":"main","steps":0}"#, 400, "bad-request"),
    (#"{"bundle":"main","steps":1,"to":"1"}"#, 400, "bad-request"),
    (#"{"bundle":"main","to":"2026-11-19T14:05"}"#, 400, "bad-request"),
    (#"{"bundle":"main","to":"1970-01-01T00:00Z"}"#, 404, "unknown-version"),
    (#"{"bundle":"main","to":"7"}"#, 404, "unknown-version"),
    (#"{"bundle":"main","to":"2999-01-01T00:00Z"}"#, 400, "bad-request"),
    (#"{"bundle":"main","ifVersion":"2999-01-01T00:00Z","to":"1"}"#, 400, "bad-request"),
    (#"{"bundle":"main","steps":9}"#, 409, "too-many-steps"),
    (#"{"bundle":"none","steps":1}"#, 404, "unknown-bundle"),
  ])
  func invalidRollbacks(body: String, status: Int, code: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    try origin.publish(["a.js": "b"])
    let reply = try origin.ask(
      "POST", "/api/v1/\(Self.channel)/rollback", ["Authorization: Bearer \(origin.token)"],
      body: Array(body.utf8))
    #expect(reply.status == status && reply.json["code"]?.string == code, "\(reply.text)")
  }

  /// Further back than states are kept: the message has their number, or a remedy if there are none.
  @Test(arguments: [
    (1, 1, "1 step back is too far: no earlier state of it is kept; `xcache log` lists"),
    (1, 9, "9 steps back is too far: no earlier state of it is kept; `xcache log` lists"),
    (2, 2, "2 steps back is too far: only 1 earlier state is kept; `xcache log` shows them;"),
    (3, 9, "9 steps back is too far: only 2 earlier states are kept; `xcache log` shows them;"),
  ])
  func tooManySteps(releases: Int, steps: Int, words: String) throws {
    let origin = try TestOrigin()
    for release in 1...releases { try origin.publish(["a.js": "\(release)"]) }
    for bundles in [#""bundle":"main""#, #""allBundles":true"#] {
      let reply = try origin.ask(
        "POST", "/api/v1/\(Self.channel)/rollback", ["Authorization: Bearer \(origin.token)"],
        body: Array(#"{\#(bundles),"steps":\#(steps)}"#.utf8))
      let detail = reply.json["detail"]?.string ?? ""
      #expect(reply.status == 409 && detail.hasPrefix(words), "\(reply.text)")
      #expect(reply.json["kept"]?.integer == Int64(releases - 1))
    }
  }
}

/// A query's value; everything except letters and digits is escaped.
enum VersionText {
  static func escaped(_ text: String) -> String {
    text.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
