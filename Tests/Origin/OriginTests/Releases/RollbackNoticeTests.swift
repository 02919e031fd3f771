import Store
import Testing
import Values

@testable import Origin

/// `"rollback"` in answers: the newest version made by a rollback.
@Suite struct RollbackNoticeTests {
  private static let online = "apps/shop/channels/online"
  private static let back: JSONValue = ["allBundles": true, "steps": 1]
  private static let polls = ["version=3", "version=2&patch=1", "version=2&patch=1&pack=1", "version=1", ""]

  private func rollbacks(_ origin: TestOrigin) throws -> [String?] {
    try Self.polls.map {
      try origin.ask("GET", "/configure.json?app=shop&\($0)").json["data"]?["rollback"]?.string
    }
  }

  @Test func everyAnswerHasTheNewestRollback() throws {
    let origin = try TestOrigin()
    for text in ["one", "two"] { try origin.publish(["a.js": text]) }
    let before = try origin.ask("GET", "/configure.json?app=shop&version=2").text
    #expect(before == #"{"code":200,"data":{"update":false,"version":"2"}}"#)
    #expect(try rollbacks(origin).allSatisfy { $0 == nil })

    #expect(try origin.api("POST", "\(Self.online)/rollback", Self.back).status == 201)
    #expect(try rollbacks(origin).allSatisfy { $0 == "3" })
    let nothing = try origin.ask("GET", "/configure.json?app=shop&version=3").text
    #expect(nothing == #"{"code":200,"data":{"rollback":"3","update":false,"version":"3"}}"#)
    #expect(try origin.api("GET", Self.online).json["rollback"]?.string == "3")

    // It stays with every later release and change of settings.
    try origin.publish(["a.js": "four"])
    #expect(try rollbacks(origin).allSatisfy { $0 == "3" })
    _ = try origin.api("POST", "\(Self.online)/settings", ["interval": 60])
    #expect(try rollbacks(origin).allSatisfy { $0 == "3" })
    #expect(try rollbacks(try origin.restarted()).allSatisfy { $0 == "3" })

    #expect(try origin.api("POST", "\(Self.online)/rollback", Self.back).status == 201)
    #expect(try rollbacks(origin).allSatisfy { $0 == "5" })
  }

  @Test func unchangedRollbacksAndPromotionsAreNoRollbacks() throws {
    let origin = try TestOrigin()
    for text in ["one", "two"] { try origin.publish(["a.js": text]) }
    let here: JSONValue = ["allBundles": true, "to": "2"]
    #expect(try origin.api("POST", "\(Self.online)/rollback", here).json["changed"]?.bool == false)
    let dry: JSONValue = ["allBundles": true, "dryRun": true, "steps": 1]
    #expect(try origin.api("POST", "\(Self.online)/rollback", dry).status == 200)
    #expect(try rollbacks(origin).allSatisfy { $0 == nil })
    try origin.publish(["a.js": "one"], channel: "test")
    try origin.publish(["a.js": "two"], channel: "test")
    _ = try origin.api("POST", "apps/shop/channels/test/rollback", Self.back)
    #expect(try origin.api("POST", "\(Self.online)/promote", ["from": "test"]).status == 201)
    #expect(try rollbacks(origin).allSatisfy { $0 == nil })
  }

  @Test func gcKeepsTheRollbackNumber() throws {
    let origin = try TestOrigin()
    for text in ["one", "two"] { try origin.publish(["a.js": text]) }
    _ = try origin.api("POST", "\(Self.online)/rollback", Self.back)
    for text in ["four", "five"] { try origin.publish(["a.js": text]) }
    var policy = RetentionPolicy()
    policy.versions = 1
    _ = try origin.store.collect(policy)
    #expect(try origin.api("GET", "\(Self.online)/releases/3").status == 404)
    #expect(try rollbacks(try origin.restarted()).allSatisfy { $0 == "3" })
  }
}
