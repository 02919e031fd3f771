import Manifests
import System
import Testing
import Values

@testable import Origin

/// Which acts have edges drop a channel's answers.
@Suite struct EdgeChangesTests {
  private let origin: TestOrigin
  /// What the changes since the last look lead to: `shop online`, with a `!` if it is urgent.
  private let found = Locked<[String]>([])

  init() throws {
    origin = try TestOrigin()
    try origin.publish(["a.js": "1"])
    try origin.publish(["a.js": "1"], channel: "test")
    try origin.publish(["a.js": "1"], app: "other")
    origin.origin.catalog.observe { [found] before, after in
      let changes = after.edgeChanges(since: before)
      found.withLock { $0 += changes.map { "\($0.purge.app) \($0.purge.channel)\($0.isUrgent ? "!" : "")" } }
    }
  }

  private func changes() -> [String] {
    found.withLock { found in
      defer { found = [] }
      return found.sorted()
    }
  }

  private func post(_ path: String, _ body: JSONValue) throws {
    let reply = try origin.api("POST", path, body)
    #expect((200..<300).contains(reply.status), "\(path): \(reply.text)")
  }

  @Test func releasesAndRollbacks() throws {
    try origin.publish(["a.js": "2"])
    #expect(changes() == ["shop online"])
    try origin.publish(["a.js": "2"])
    #expect(changes() == [], "nothing changed")
    try post("apps/shop/channels/online/rollback", ["allBundles": true, "steps": 1])
    #expect(changes() == ["shop online"])
    try post("apps/shop/channels/online/freeze", ["reason": "sale"])
    #expect(changes() == [], "polls see nothing of it")
  }

  @Test func policiesAreUrgent() throws {
    try post("apps/shop/channels/test/policy", ["act": "kill", "message": "it burns"])
    #expect(changes() == ["shop test!"])
    try post("apps/shop/channels/test/policy", ["act": "resume"])
    #expect(changes() == ["shop test!"])
  }

  @Test func settingsAndNewChannels() throws {
    try post("apps/shop/channels/online/settings", ["interval": 60])
    #expect(changes() == ["shop online"])
    try origin.publish(["a.js": "1"], app: "third")
    #expect(changes() == [], "no cache keeps that there is no channel")
    try post("apps/other/channels/empty/create", [:])
    #expect(changes() == [])
    try post("apps/other/channels/empty/remove", [:])
    #expect(changes() == ["other empty"])
  }

  /// Polls that name no app have the tag of the one that answered them.
  @Test func anotherDefaultApp() throws {
    try post("default-app", ["app": "other"])
    #expect(changes() == ["other online", "shop online", "shop test"])
    try post("default-app", ["app": "other"])
    #expect(changes() == [])
  }

  /// Offers that come later make no answer wrong.
  @Test func renewedAnswers() throws {
    origin.origin.catalog.update { _ in }
    #expect(changes() == [])
    let id = try #require(origin.origin.catalog.current.channels.first?.channel.id)
    origin.origin.builder.renewWhole(of: id)
    #expect(changes() == [])
  }
}
