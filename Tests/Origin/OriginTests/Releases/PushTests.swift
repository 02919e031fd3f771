import Synchronization
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// The number of concurrent pushes to the CDN.
@Suite struct PushTests {
  private static func unpublish(_ channel: String, _ origin: TestOrigin) throws -> TestOrigin.Reply {
    let body: JSONValue = ["bundles": [["bundle": "main", "unpublish": true]], "now": true]
    return try origin.api("POST", "apps/shop/channels/\(channel)/releases", body)
  }

  /// A push may take minutes and occupies a worker: the third release gets Retry-After, and succeeds later.
  @Test func thirdConcurrentPushIsRefusedAndRetried() throws {
    let gate = Monitor((entered: 0, isOpen: false))
    let origin = try TestOrigin { options in
      options.push = ReleasePush(names: { $0.version.number < 2 ? [] : ["file"] }) { _ in
        gate.broadcasting { $0.entered += 1 }
        gate.waiting { $0.isOpen ? () : nil }
      }
    }
    let channels = ["a", "b", "c"]
    for channel in channels {
      #expect(try origin.publish(["\(channel).js": "1"], channel: channel).status == 201)
    }
    let statuses = Locked<[Int]>([])
    let threads = try channels.prefix(2).map { channel in
      nonisolated(unsafe) let shared = try origin.onAnotherLoop()
      return try OSThread(name: "push-\(channel)") {
        let status = (try? Self.unpublish(channel, shared).status) ?? 0
        statuses.withLock { $0.append(status) }
      }
    }
    gate.waiting { $0.entered == 2 ? () : nil }
    let busy = try Self.unpublish("c", origin)
    #expect(busy.status == 503 && busy.json["code"]?.string == "busy", "\(busy.text)")
    gate.broadcasting { $0.isOpen = true }
    for thread in threads { thread.join() }
    #expect(statuses.withLock { $0 } == [201, 201])
    #expect(try Self.unpublish("c", origin).status == 201)
    #expect(gate.broadcasting { $0.entered } == 3)
  }

  /// An origin whose CDN can't be reached while `isDown`; what was pushed is recorded as usual.
  private static func pushing(_ isDown: Locked<Bool>, pushes: Locked<[String]> = Locked([])) throws
    -> TestOrigin
  {
    let store = Locked<Store?>(nil)
    let origin = try TestOrigin { options in
      options.push = ReleasePush { (release) throws(StoreError) in
        let left = try store.withLock { $0 }?.unpushed(release) ?? []
        return Set(left.compactMap(\.entry?.download))
      } push: { (release) throws(StoreError) in
        if isDown.withLock({ $0 }) { throw .pushFailed(place: "s3://bucket", reason: "it is down") }
        let left = try store.withLock { $0 }?.unpushed(release) ?? []
        pushes.withLock { $0 += left.map(\.url.text) }
      } deltas: { _ throws(StoreError) in
        if isDown.withLock({ $0 }) { throw .pushFailed(place: "s3://bucket", reason: "it is down") }
      }
    }
    try origin.store.beginPushing(to: PushPlace(name: "s3://bucket", endpoint: ""))
    store.withLock { $0 = origin.store }
    return origin
  }

  /// A rollback must work while the CDN is down.
  @Test func rollbackToPushedFilesWorksWithoutTheCDN() throws {
    let (isDown, pushes) = (Locked(false), Locked<[String]>([]))
    let origin = try Self.pushing(isDown, pushes: pushes)
    for text in ["one", "two"] { #expect(try origin.publish(["a.js": text]).status == 201) }
    #expect(pushes.withLock { $0.count } == 2)
    isDown.withLock { $0 = true }
    // Other releases that wait for the CDN don't prevent it.
    origin.origin.api.releases.activePushes.add(5, ordering: .relaxed)
    let rollback: JSONValue = ["allBundles": true, "message": "back", "to": "1"]
    let reply = try origin.api("POST", "apps/shop/channels/online/rollback", rollback)
    #expect(reply.status == 201, "\(reply.text)")
    origin.origin.api.releases.activePushes.subtract(5, ordering: .relaxed)
    #expect(try origin.ask("GET", "/configure.json?app=shop").json["data"]?["version"]?.string == "3")
    // New bytes wait for the CDN.
    #expect(try origin.publish(["a.js": "three"]).status == 503)
    #expect(pushes.withLock { $0.count } == 2)
  }

  @Test func stagedReleaseIsListedUntilItIsVisible() throws {
    let isDown = Locked(false)
    let origin = try Self.pushing(isDown)
    #expect(try origin.publish(["a.js": "one"]).status == 201)
    #expect(try origin.publish(["b.js": "one"], channel: "test").status == 201)
    isDown.withLock { $0 = true }
    #expect(try origin.publish(["a.js": "two"]).status == 503)
    let online = "apps/shop/channels/online"
    let staged = try origin.api("GET", online).json["staged"]?.array ?? []
    #expect(staged.count == 1 && staged[0]["author"]?.string == "admin", "\(staged)")
    #expect(staged[0]["bundles"]?.array?.compactMap(\.string) == ["main"])
    #expect(staged[0]["reason"]?.string == "its files could not be pushed to s3://bucket: it is down")
    #expect(try origin.api("GET", "apps/shop/channels/test").json["staged"]?.array?.isEmpty == true)
    let problems = try origin.api("GET", "overview").json["problems"]?.array ?? []
    let problem = problems.first { $0["code"]?.string == "staged" }
    #expect(problem?["channel"]?.string == "online" && problem?["severity"]?.string == "error", "\(problems)")
    #expect(problem?["detail"]?.string?.contains("it is down") == true)
    // It isn't given up when other pushes are running.
    origin.origin.api.releases.activePushes.add(5, ordering: .relaxed)
    #expect(
      try PackServingTests.becomesTrue {
        try origin.api("GET", online).json["staged"]?.array?.first?["attempts"]?.integer ?? 0 > 1
      })
    origin.origin.api.releases.activePushes.subtract(5, ordering: .relaxed)
    isDown.withLock { $0 = false }
    #expect(
      try PackServingTests.becomesTrue {
        try origin.ask("GET", "/configure.json?app=shop").json["data"]?["version"]?.string == "2"
      })
    #expect(try PackServingTests.becomesTrue { try origin.api("GET", online).json["staged"]?.array == [] })
  }

  /// A device would request a missing delta, and then the whole file.
  @Test func onlyPushedDeltasAreOffered() throws {
    let isDown = Locked(false)
    let origin = try Self.pushing(isDown)
    let lines = (0..<2000).map { "let a\($0) = '\(SHA256.of(Array("a\($0)".utf8)).hex.prefix(9))';" }
    for version in 1...2 {
      let script = lines.joined(separator: "\n") + "let version = \(version);"
      #expect(try origin.publish(["a.js": script]).status == 201)
    }
    func offered() throws -> Int? {
      try origin.ask("GET", "/configure.json?app=shop&version=1&patch=1").json["data"]?["deltas"]?.object?
        .members.count
    }
    #expect(try offered() == 1)
    isDown.withLock { $0 = true }
    // The bytes of version 1 were pushed; the delta back to them wasn't.
    let rollback: JSONValue = ["allBundles": true, "to": "1"]
    #expect(try origin.api("POST", "apps/shop/channels/online/rollback", rollback).status == 201)
    func back() throws -> Int? {
      try origin.ask("GET", "/configure.json?app=shop&version=2&patch=1").json["data"]?["deltas"]?.object?
        .members.count
    }
    #expect(try back() == 0)
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    isDown.withLock { $0 = false }
    #expect(try PackServingTests.becomesTrue { try back() == 1 })
  }
}
