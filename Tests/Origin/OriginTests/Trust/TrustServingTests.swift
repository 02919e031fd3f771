import Manifests
import Store
import System
import Testing
import Trust
import Values

@testable import Origin

/// What devices of an app with a root are answered: docs/protocol.md §14.
@Suite struct TrustServingTests {
  private static let online = "apps/shop/channels/online"

  private func data(_ origin: TestOrigin, _ query: String = "") throws -> JSONValue {
    try origin.ask("GET", "/configure.json?app=shop&\(query)").json["data"] ?? .null
  }

  private func head(_ origin: TestOrigin) throws -> TrustHead {
    try Signed<TrustHead>(parsing: origin.ask("GET", "/xcache/shop/head.json").body).document
  }

  @Test func appWithoutARootHasNothingOfIt() throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "one"])
    for path in [
      "/xcache/shop/head.json", "/head.json?app=shop", "/xcache/shop/root/1.json", "/xcache/shop/root/0.json",
      "/xcache/shop/root/x.json", "/xcache/shop/root/1", "/head.json?app=other",
    ] {
      #expect(try origin.ask("GET", path).status == 404, "\(path)")
    }
    for query in ["", "version=1", "version=1&patch=1", "version=9"] {
      let data = try data(origin, query)
      #expect(data["root"] == nil && data["trust"] == nil, "\(query)")
      #expect(data["resourcemap"]?["https://m.example.com/a.js"]?["bundle"] == nil, "\(query)")
    }
    #expect(try origin.ask("GET", "/prefetchConfig.json?app=shop").json["data"]?["trust"] == nil)
    let channel = try #require(origin.origin.catalog.current.channels.first)
    #expect(channel.trustEdition == 0)
    #expect(try !origin.ask("GET", "/metrics").text.contains("xcache_head_age"))
  }

  @Test func firstRootNamesBundlesAndStatements() throws {
    let (origin, _, root) = try TestOrigin.trusted()
    for origin in [origin, try origin.restarted()] {
      var device = TestDevice(root)
      #expect(try device.poll(origin) == nil)
      #expect(device.held?.manifest.items.count == 3 && device.held?.isPatch == false)
      #expect(device.held?.manifest.items.allSatisfy { $0.entry.bundle != nil } == true)
      #expect(device.state.releases.count == 2)
      // What is new is nothing any more.
      #expect(try device.poll(origin) == nil)
      let nothing = try data(origin, "version=3")
      #expect(nothing["update"]?.bool == false && nothing["root"]?.string == "1" && nothing["trust"] == nil)
    }
    // No patch leads there from a version whose entries don't name their bundle.
    for query in ["version=2&patch=1", "version=1&patch=1&pack=1"] {
      let answer = try data(origin, query)
      #expect(answer["resourcemap"] != nil && answer["base"] == nil, "\(query)")
      #expect(answer["trust"]?["releases"]?.array?.count == 2, "\(query)")
    }
    #expect(try origin.ask("GET", "/xcache/shop/bundle/2-3.zip").status == 404)
  }

  @Test func headAndRootsAreDocuments() throws {
    let (origin, _, root) = try TestOrigin.trusted()
    let reply = try origin.ask("GET", "/xcache/shop/root/1.json")
    #expect(reply.status == 200 && reply.body == root.envelope.bytes)
    #expect(reply.field("Cache-Control") == "public, max-age=31536000, immutable")
    #expect(reply.field("Content-Type") == "application/json")
    let next = try origin.ask("GET", "/xcache/shop/root/2.json")
    #expect(next.status == 404 && next.field("Cache-Control") == "no-store")
    let head = try origin.ask("GET", "/xcache/shop/head.json")
    #expect(head.status == 200 && head.field("Cache-Control") == "no-cache")
    #expect(try origin.ask("GET", "/head.json?app=shop").body == head.body)
    let tag = try #require(head.field("ETag"))
    #expect(try origin.ask("GET", "/xcache/shop/head.json", ["If-None-Match: \(tag)"]).status == 304)
    #expect(try origin.ask("POST", "/xcache/shop/head.json", body: []).status == 405)
    #expect(try self.head(origin).version.text == "3")
  }

  @Test func releaseIsOnePatchWithItsStatement() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    var device = TestDevice(root)
    #expect(try device.poll(origin) == nil)
    let refused = try origin.publish(["a.js": "two", "b.js": "b"])
    #expect(refused.status == 409 && refused.json["code"]?.string == "unsigned", "\(refused.text)")
    #expect(refused.json["bundles"]?.array?.first?["bundle"]?.string == "main")
    #expect(try device.poll(origin) == nil && device.held?.manifest.version.text == "3")

    let files = ["a.js": "two", "b.js": "b"]
    let made = try origin.publish(files, signedBy: publisher, serial: 2000)
    #expect(made.status == 201, "\(made.text)")
    #expect(try device.poll(origin) == nil)
    #expect(device.held?.isPatch == true && device.held?.manifest.version.text == "4")
    let main = try BundleName("main")
    #expect(device.state.releases[main]?.statement.serial.number == 2000)
    let patch = try data(origin, "version=3&patch=1")
    #expect(patch["trust"]?["releases"]?.array?.count == 1 && patch["trust"]?["head"] != nil)
    #expect(try data(origin)["trust"]?["releases"]?.array?.count == 2)
  }

  /// Whoever begins anew and whoever goes on take what there is after each act, and no answer of before is left.
  @Test func headFollowsEveryAct() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    var device = TestDevice(root)
    #expect(try device.poll(origin) == nil)
    var at = try head(origin).at
    func isNewer(_ what: String) throws {
      let now = try head(origin)
      #expect(now.at > at, "\(what)")
      at = now.at
      var fresh = TestDevice(root)
      #expect(try fresh.poll(origin) == nil, "\(what)")
      #expect(try device.head(origin) == nil && device.poll(origin) == nil, "\(what)")
      #expect(device.held?.manifest.version == fresh.held?.manifest.version, "\(what)")
    }
    #expect(try origin.api("POST", "\(Self.online)/policy", ["act": "kill", "message": "x"]).status == 201)
    try isNewer("kill")
    #expect(try head(origin).policy == 1)
    #expect(try origin.api("POST", "\(Self.online)/policy", ["act": "resume", "message": "x"]).status == 201)
    try isNewer("resume")
    let made = try origin.publish(["a.js": "2", "b.js": "b"], signedBy: publisher, serial: 2000)
    #expect(made.status == 201, "\(made.text)")
    try isNewer("release")
    let back = try origin.api("POST", "\(Self.online)/rollback", ["allBundles": true, "steps": 1])
    #expect(back.status == 201, "\(back.text)")
    try isNewer("rollback")
    #expect(device.held?.manifest.version.text == "5")
    // A setting that the head doesn't say.
    let before = try head(origin)
    #expect(try origin.api("POST", "\(Self.online)/settings", ["interval": 60]).status == 200)
    #expect(try head(origin) == before)
    #expect(try data(origin)["interval"]?.integer == 60 && data(origin)["trust"]?["head"] != nil)
  }

  @Test func rolloutIsInTheHead() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    let files = ["a.js": "two", "b.js": "b"]
    var body = try origin.release(files).object ?? JSONObject()
    body["rollout"] = ["share": 500]
    body["statements"] = [try publisher.statement("main", try origin.content(files), serial: 2000)]
    let opened = try origin.api("POST", "\(Self.online)/releases", .object(body))
    #expect(opened.status == 201, "\(opened.text)")
    #expect(try head(origin).candidate?.rule.share == 500 && head(origin).version.text == "3")
    #expect(try data(origin, "candidate=1")["trust"]?["releases"]?.array?.count == 2)
    #expect(try origin.api("POST", "\(Self.online)/rollout/set", ["share": 2500]).status == 200)
    #expect(try head(origin).candidate?.rule.share == 2500)
    let answer = try data(origin, "version=3&patch=1&candidate=1")
    let signed = try Signed<TrustHead>(json: try #require(answer["trust"]?["head"]))
    #expect(signed.document.candidate?.rule.share == 2500)
    #expect(try origin.api("POST", "\(Self.online)/rollout/complete", [:]).status == 200)
    #expect(try head(origin).candidate == nil && head(origin).version.text == "4")
    var device = TestDevice(root)
    #expect(try device.poll(origin) == nil && device.held?.manifest.version.text == "4")
  }

  /// Answers with statements of before would be refused for good by devices that know the floor of a newer one.
  @Test func keptStatementsReplaceThoseInAnswers() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    var old = TestDevice(root)
    #expect(try old.poll(origin) == nil)
    let tag = try origin.ask("GET", "/configure.json?app=shop").field("ETag")
    let content = try #require(try origin.contents()["main"])
    let statement = try publisher.statement("main", content, serial: 5000, floor: 5000)
    let body: JSONValue = ["releases": [statement]]
    var trial = body.object ?? JSONObject()
    trial["dryRun"] = true
    #expect(try origin.api("POST", "\(TestOrigin.trust)/statements", .object(trial)).status == 200)
    #expect(try origin.ask("GET", "/configure.json?app=shop").field("ETag") == tag)
    let kept = try origin.api("POST", "\(TestOrigin.trust)/statements", body)
    #expect(kept.status == 201 && kept.json["kept"]?.integer == 1, "\(kept.text)")
    #expect(try origin.ask("GET", "/configure.json?app=shop").field("ETag") != tag)
    let again = try origin.api("POST", "\(TestOrigin.trust)/statements", body)
    #expect(again.status == 200 && again.json["kept"]?.integer == 0, "\(again.text)")
    var device = TestDevice(root)
    #expect(try device.poll(origin) == nil)
    let main = try BundleName("main")
    #expect(device.state.floor(of: main).number == 5000)
    // It comes with the next version to whoever has the content already.
    _ = try origin.publish(["n.js": "more"], bundle: "news", signedBy: publisher, serial: 6000)
    #expect(try old.poll(origin) == nil && old.state.floor(of: main).number == 5000)
  }

  @Test func rootsFollowEachOther() throws {
    let (origin, publisher, root) = try TestOrigin.trusted()
    var device = TestDevice(root)
    #expect(try device.poll(origin) == nil)
    let old = try data(origin)
    // Another release key, which has signed everything anew.
    var next = publisher
    next.releaseKey = P256PrivateKey()
    let second = try next.root(2, head: origin.headKey())
    let tried = try origin.push(second, by: next, serial: 3000, dryRun: true)
    #expect(tried.status == 200 && tried.json["changed"]?.bool == true, "\(tried.text)")
    #expect(try data(origin)["root"]?.string == "1")
    let pushed = try origin.push(second, by: next, serial: 3000)
    #expect(pushed.status == 201 && pushed.json["number"]?.integer == 2, "\(pushed.text)")
    #expect(pushed.json["channels"]?.array?.first?["rebased"]?.bool == false)
    for query in ["", "version=3", "version=2&patch=1", "version=1&patch=1"] {
      #expect(try data(origin, query)["root"]?.string == "2", "\(query)")
    }
    #expect(try data(origin)["trust"] != old["trust"])
    var fresh = TestDevice(second)
    #expect(try fresh.poll(origin) == nil)
    #expect(try device.poll(origin) == nil && device.state.root.number.number == 2)
    let third = try origin.publish(["a.js": "3", "b.js": "b"], signedBy: next, serial: 4000)
    #expect(third.status == 201, "\(third.text)")
    // The other bundle's statement came after what the device has.
    #expect(try device.poll(origin) == nil && device.held?.manifest.version.text == "4")
    let repeated = try origin.push(second, by: next, serial: 3000)
    #expect(repeated.status == 200 && repeated.json["changed"]?.bool == false, "\(repeated.text)")
    let off = try next.root(3, head: origin.headKey(), isOff: true)
    #expect(try origin.push(off, by: next, serial: 5000).json["off"]?.bool == true)
    #expect(try data(origin)["root"]?.string == "3" && data(origin)["trust"] == nil)
    #expect(try origin.publish(["a.js": "unsigned", "b.js": "b"]).status == 201)
    #expect(try device.poll(origin) == nil && device.held?.manifest.version.text == "5")
  }

  /// A head that can't be signed is no reason to leave a kill switch undone.
  @Test func killSwitchNeedsNoHead() throws {
    let lines = Locked<[String]>([])
    let origin = try TestOrigin { $0.log = { line in lines.withLock { $0.append(line) } } }
    let publisher = TestPublisher()
    try origin.publish(["a.js": "one"])
    let root = try publisher.root(1, head: origin.headKey())
    #expect(try origin.push(root, by: publisher, serial: 1000).status == 201)
    for name in try Folder.textNames("\(origin.folder)/keys") {
      try Kernel.remove("\(origin.folder)/keys/\(name)")
    }
    let restarted = try origin.restarted()
    for origin in [origin, restarted] {
      let killed = try origin.api("POST", "\(Self.online)/policy", ["act": "kill", "message": "x"])
      #expect(killed.status < 300, "\(killed.text)")
      #expect(try origin.ask("GET", "/policy.json?app=shop").json["data"]?["intercept"]?.bool == false)
      _ = try origin.api("POST", "\(Self.online)/policy", ["act": "resume", "message": "x"])
    }
    #expect(lines.withLock { $0.count { $0.contains("can't be signed") } } <= 1)
  }

  /// The small whole manifest and the patch from the version before are there once the release is acknowledged.
  @Test func answersAreReadyWithTheRelease() throws {
    let (origin, publisher, _) = try TestOrigin.trusted()
    let made = try origin.publish(["a.js": "2", "b.js": "b"], signedBy: publisher, serial: 2000)
    #expect(made.status == 201, "\(made.text)")
    for query in ["", "version=4", "version=3&patch=1"] {
      let answer = try origin.answer("GET", "/configure.json?app=shop&\(query)", [], length: 0)
      if case .now = answer {} else { Issue.record("a poll waits: \(query)") }
    }
  }
}
