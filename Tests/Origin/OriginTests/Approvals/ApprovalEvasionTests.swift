import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// Ways around approvals: acts that wait for nobody, used for what nobody approved.
@Suite struct ApprovalEvasionTests {
  private static let online = ProtectedOrigin.online

  private func config(_ page: String) -> JSONValue {
    [["interfaces": [], "url": .string("https://m.example.com/\(page)")]]
  }

  /// Carries out a release for a part of the devices, with an approval.
  private func candidate(_ site: ProtectedOrigin, _ text: String, _ terms: JSONValue) throws {
    var release = try site.origin.release(["a.js": text]).object ?? JSONObject()
    release["rollout"] = terms
    let id = try site.ask("releases", .object(release))
    try site.approve(id, site.signIn("ana"))
    site.run()
    #expect(try site.state(id) == "done")
  }

  private func post(_ site: ProtectedOrigin, _ route: String, _ body: JSONValue) throws -> TestOrigin.Reply {
    try site.origin.api("POST", "\(Self.online)/\(route)", body, token: site.author)
  }

  /// A rollback to what only the devices of a rollout had gives all devices what was approved for these alone.
  @Test func rollbackToACandidateWaits() throws {
    let site = try ProtectedOrigin()
    try candidate(site, "bad", ["share": 100])
    #expect(try post(site, "rollout/halt", ["message": "broken"]).status == 201)
    let bodies: [JSONValue] = [
      ["allBundles": true, "to": "2"], ["bundle": "main", "to": "2"],
      ["bundle": "main", "rollout": ["share": 10_000], "to": "2"],
    ]
    for body in bodies { try site.ask("rollback", body) }
    site.run()
    #expect(try site.version == "3")
    let id = try site.ask("rollback", bodies[0])
    #expect(try site.show(id)["act"]?.string == "rollback")
    try site.approve(id, site.signIn("ana"))
    site.run()
    #expect(try site.version == "4" && site.state(id) == "done")
    // The way back is open, also beside what waits.
    #expect(try post(site, "rollback", ["allBundles": true, "to": "1"]).status == 201)
  }

  /// One that is planned for later, too; and one bundle's content that all devices had comes back from any version.
  @Test func plannedRollbackToACandidateWaits() throws {
    let site = try ProtectedOrigin(approvals: 0)
    #expect(try site.origin.publish(["h.js": "one"], bundle: "help").status == 201)
    #expect(try site.origin.publish(["h.js": "two"], bundle: "help").status == 201)
    try site.protect(1)
    try candidate(site, "bad", ["share": 100])
    #expect(try post(site, "rollout/halt", ["message": "broken"]).status == 201)
    let later = Timestamp.text(site.now.withLock { $0 } + ProtectedOrigin.hour)
    let id = try site.ask("rollback", ["bundle": "main", "schedule": .string(later), "to": "4"])
    site.pass(ProtectedOrigin.hour)
    site.run()
    #expect(try site.state(id) == "waiting")
    #expect(try post(site, "rollback", ["bundle": "help", "to": "2"]).status == 201)
    #expect(try post(site, "rollback", ["bundle": "help", "to": "4"]).status == 201, "main's candidate")
  }

  /// A candidate that was completed is what all devices had.
  @Test func rollbackToACompletedCandidateDoesNotWait() throws {
    let site = try ProtectedOrigin()
    try candidate(site, "two", ["share": 100])
    let complete = try site.ask("rollout/complete", [:])
    let ana = try site.signIn("ana")
    try site.approve(complete, ana)
    site.run()
    try site.approve(site.publish("three"), ana)
    site.run()
    #expect(try post(site, "rollback", ["allBundles": true, "to": "2"]).status == 201)
  }

  @Test func rollbackToACandidatesConfigWaits() throws {
    let site = try ProtectedOrigin()
    let push = try site.ask("prefetch", ["document": config("a"), "rollout": ["share": 100]])
    // Who approves it is told whom it is for.
    #expect(try site.show(push)["summary"]?.string == "push of a prefetch config to 1 % of the devices")
    let ana = try site.signIn("ana")
    try site.approve(push, ana)
    site.run()
    // Beside the open rollout, along with a rollback of the files.
    let both: JSONValue = ["allBundles": true, "to": "2", "withPrefetch": true]
    try site.ask("rollback", both)
    #expect(try post(site, "rollout/halt", ["message": "broken"]).status == 201)
    let id = try site.ask("prefetch/rollback", ["to": "1"])
    site.run()
    #expect(try site.origin.api("GET", "\(Self.online)/prefetch").json["version"]?.string == "0")
    try site.approve(id, ana)
    site.run()
    #expect(try site.state(id) == "done")
    #expect(try site.origin.api("GET", "\(Self.online)/prefetch").json["version"]?.string == "2")
    #expect(try post(site, "prefetch/rollback", ["to": "0"]).status == 201)
  }

  /// A config that is pushed to the source after a promotion was approved isn't what was approved.
  @Test func promotionIsOfTheConfigThatWasSeen() throws {
    let site = try ProtectedOrigin()
    #expect(try site.origin.publish(["a.js": "two"], channel: "test").status == 201)
    func push(_ page: String) throws {
      let body: JSONValue = ["document": config(page)]
      #expect(try site.origin.api("POST", "apps/shop/channels/test/prefetch", body).status == 201)
    }
    try push("seen")
    let body: JSONValue = ["bundle": "main", "from": "test", "withPrefetch": true]
    let id = try site.ask("promote", body)
    // A role for the bundle doesn't cover the config.
    let some = try site.store.createToken(name: "main", scope: .release, bundles: BundleGlob("main")).text
    #expect(try site.approve(id, some).status == 403)
    let ana = try site.signIn("ana")
    try push("unseen")
    try site.approve(id, ana)
    site.run()
    let show = try site.show(id)
    #expect(show["state"]?.string == "failed" && show["code"]?.string == "prefetch-changed", "\(show)")
    #expect(try site.version == "1")
    let again = try site.ask("promote", body)
    try site.approve(again, ana)
    site.run()
    #expect(try site.state(again) == "done")
    let shown = try site.origin.api("GET", "\(Self.online)/prefetch").json["config"]
    #expect(shown == config("unseen"))
  }

  /// A ramp was approved with what keeps it from going on; what is below the share otherwise waits for nobody.
  @Test func rampGoesOnWithTheCareThatWasApproved() throws {
    let site = try ProtectedOrigin(share: 500)
    let ramp: JSONValue = ["completes": true, "each": 10, "steps": [100, 5000]]
    try candidate(site, "two", ["autoHalt": true, "ramp": ramp, "share": 100])
    #expect(try post(site, "rollout/set", ["autoHalt": false]).status == 202)
    #expect(try post(site, "rollout/set", ["networkCap": 10_000]).status == 202)
    #expect(try post(site, "rollout/set", ["share": 50]).status == 200)
    #expect(try post(site, "rollout/pause", [:]).status == 200)
    #expect(try post(site, "rollout/resume", [:]).status == 202, "it goes on to all")
    #expect(try post(site, "rollout/set", ["ramp": ["steps": []]]).status == 200)
    #expect(try post(site, "rollout/resume", [:]).status == 200)
    #expect(try post(site, "rollout/set", ["autoHalt": false]).status == 200, "nothing goes on by itself")
    let groups = try site.ask("rollout/set", ["app": ">=2", "groups": ["staff", "vip"], "share": 600])
    #expect(
      try site.show(groups)["summary"]?.string
        == "rollout set of version 2 to 6 %, to groups staff, vip, with app version >=2")
  }

  /// Lists don't look up the bundles of releases, but say of the channel's other acts that a role for some bundles doesn't cover them.
  @Test func listsSayWhatARoleForBundlesCovers() throws {
    let site = try ProtectedOrigin()
    let some = try site.store.createToken(name: "main", scope: .release, bundles: BundleGlob("main")).text
    _ = try site.publish("two")
    try site.ask("prefetch", ["document": config("a")])
    let acts = try site.origin.api("GET", "waiting", token: some).json["acts"]?.array ?? []
    #expect(acts.map { $0["approvals"]?["mayApprove"]?.bool } == [true, false])
  }
}
