import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Purges, and a CDN's store that may be slow or down.
@Suite struct PurgeServiceTests {
  private static let secret = "the secret"
  private static var sha256: SHA256 { SHA256.of(Array(secret.utf8)) }

  /// The store: its URLs, whether it can be reached, and callbacks during a push and a search.
  private final class CDNStore: Sendable {
    let urls = Locked<Set<String>>([])
    let isDown = Locked(false)
    let duringPush = Locked<(@Sendable () -> Void)?>(nil)
    let duringFind = Locked<(@Sendable () -> Void)?>(nil)

    func check() throws(StoreError) {
      if isDown.withLock({ $0 }) { throw .pushFailed(place: "/srv/www", reason: "it is away") }
    }

    var push: ReleasePush {
      ReleasePush { release in
        Set(release.changes.compactMap(\.entry?.download))
      } push: { (release) throws(StoreError) in
        try self.check()
        self.duringPush.withLock { $0.take() }?()
        self.urls.withLock { $0.formUnion(release.changes.compactMap(\.entry?.download)) }
      } find: { (purged, _) throws(StoreError) in
        try self.check()
        self.duringFind.withLock { $0.take() }?()
        let uuids = Set(purged.map { ResourceUUID($0) })
        let paths = self.urls.withLock { $0 }.compactMap { DownloadPlace($0)?.path }
        return paths.filter { uuids.contains($0.uuid) }.map(\.filePath)
      } remove: { (paths) throws(StoreError) in
        try self.check()
        self.urls.withLock { $0 = $0.filter { !paths.contains(DownloadPlace($0)?.path.filePath ?? "") } }
      }
    }
  }

  private static func purge(_ origin: TestOrigin, key: String? = nil) throws -> TestOrigin.Reply {
    let body: JSONValue = ["content": .string(sha256.hex), "reason": "a key was published"]
    let lines = ["Authorization: Bearer \(origin.token)"] + (key.map { ["Idempotency-Key: \($0)"] } ?? [])
    return try origin.ask("POST", "/api/v1/purge", lines, body: body.canonical)
  }

  private static func holdsSecret(_ origin: TestOrigin) throws -> Bool {
    try Kernel.status(origin.store.folder.blob(sha256)) != nil
  }

  @Test func purgeWithoutTheCDNRemovesTheOriginsBytesAndTheRestLater() throws {
    let cdn = CDNStore()
    let origin = try TestOrigin { $0.push = cdn.push }
    #expect(try origin.publish(["a.js": Self.secret]).status == 201)
    #expect(try origin.publish(["a.js": "other"]).status == 201)
    let before = cdn.urls.withLock { $0.count }
    cdn.isDown.withLock { $0 = true }
    let key = String(repeating: "k", count: 32)
    let failed = try Self.purge(origin, key: key)
    #expect(failed.status == 503 && failed.json["code"]?.string == "not-withdrawn", "\(failed.text)")
    #expect(failed.text.contains("removed from the origin, but not yet from /srv/www: it is away"))
    #expect(try !Self.holdsSecret(origin))
    #expect(try origin.store.unfinishedPurges() == [Self.sha256])

    origin.origin.api.releases.purges.finish()
    #expect(try origin.store.unfinishedPurges() == [Self.sha256])
    cdn.isDown.withLock { $0 = false }
    // A retry does the rest; further ones get the same answer.
    let done = try Self.purge(origin, key: key)
    #expect(done.status == 200 && done.json["receipt"] != nil, "\(done.text)")
    #expect(try Self.purge(origin, key: key).text == done.text)
    #expect(try origin.store.unfinishedPurges().isEmpty)
    #expect(cdn.urls.withLock { $0.count } == before - 1)
  }

  @Test func leftoversOfAnEndedProcessAreRemoved() throws {
    let cdn = CDNStore()
    let origin = try TestOrigin { $0.push = cdn.push }
    #expect(try origin.publish(["a.js": Self.secret]).status == 201)
    #expect(try origin.publish(["a.js": "other"]).status == 201)
    let store = origin.store
    try store.forbid(Self.sha256, reason: "a key", by: Actor(name: "lead", address: ""))
    let plan = try store.purgePlan(Self.sha256)
    try store.connections.transaction { (db) throws(StoreError) in try db.erase(plan) }
    #expect(try Self.holdsSecret(origin))
    // As the maintenance service does it.
    origin.origin.api.releases.purges.finishIfDue()
    let end = Clock.monotonicNanoseconds() + 20_000_000_000
    while try !store.unfinishedPurges().isEmpty, Clock.monotonicNanoseconds() < end {
      Clock.sleep(for: .milliseconds(5))
    }
    #expect(try !Self.holdsSecret(origin))
    #expect(try store.unfinishedPurges().isEmpty)
    #expect(cdn.urls.withLock { $0.count } == 1)
  }

  /// The bytes are purged while a release with them is pushed: the release is refused, and its files are removed from the CDN.
  @Test func filesPushedByARefusedReleaseAreRemoved() throws {
    let cdn = CDNStore()
    let origin = try TestOrigin { $0.push = cdn.push }
    #expect(try origin.publish(["a.js": Self.secret]).status == 201)
    #expect(try origin.publish(["a.js": "other"]).status == 201)
    let live = cdn.urls.withLock { $0 }.count - 1
    nonisolated(unsafe) let shared = try origin.onAnotherLoop()
    let purged = Locked(0)
    cdn.duringPush.withLock { $0 = { purged.withLock { $0 = (try? Self.purge(shared).status) ?? 0 } } }
    let refused = try origin.publish(["a.js": Self.secret, "b.js": Self.secret], channel: "test")
    #expect(purged.withLock { $0 } == 200)
    #expect(refused.json["code"]?.string == "purged", "\(refused.text)")
    let pushed = cdn.urls.withLock { $0 }
    #expect(pushed.count == live + 2)
    #expect(try origin.store.unfinishedPurges() == [Self.sha256])
    origin.origin.api.releases.purges.finish()
    let left = cdn.urls.withLock { $0 }
    #expect(left.count == live)
    let known = try origin.store.purgePlan(Self.sha256).earlier
    #expect(pushed.subtracting(left).isSubset(of: known), "\(known)")
  }

  /// Without the CDN, what an ended process left is removed from the data folder before any request is answered.
  @Test func dataFolderDoesNotWaitForTheCDN() throws {
    let cdn = CDNStore()
    let origin = try TestOrigin { $0.push = cdn.push }
    #expect(try origin.publish(["a.js": Self.secret]).status == 201)
    #expect(try origin.publish(["a.js": "other"]).status == 201)
    let store = origin.store
    try store.forbid(Self.sha256, reason: "a key", by: Actor(name: "lead", address: ""))
    let plan = try store.purgePlan(Self.sha256)
    try store.connections.transaction { (db) throws(StoreError) in try db.erase(plan) }
    cdn.isDown.withLock { $0 = true }
    origin.origin.api.releases.purges.finish()
    #expect(try !Self.holdsSecret(origin))
    #expect(try store.unfinishedPurges() == [Self.sha256])
  }

  /// If a purge is lifted and the bytes are published again during the search for its rest, they are kept.
  @Test func filesPublishedAfterALiftedPurgeAreKept() throws {
    let cdn = CDNStore()
    let origin = try TestOrigin { $0.push = cdn.push }
    #expect(try origin.publish(["a.js": Self.secret]).status == 201)
    #expect(try origin.publish(["a.js": "other"]).status == 201)
    #expect(try Self.purge(origin).status == 200)
    let (store, actor) = (origin.store, Actor(name: "lead", address: ""))
    try store.reopen([Self.sha256])
    nonisolated(unsafe) let shared = try origin.onAnotherLoop()
    let status = Locked(0)
    // The first search is of everything, the second one for this purge.
    cdn.duringFind.withLock { first in
      first = {
        cdn.duringFind.withLock { second in
          second = {
            _ = try? store.liftPurge(Self.sha256, by: actor)
            status.withLock { $0 = (try? shared.publish(["a.js": Self.secret]).status) ?? 0 }
          }
        }
      }
    }
    origin.origin.api.releases.purges.finish()
    #expect(status.withLock { $0 } == 201)
    #expect(try Self.holdsSecret(origin))
    #expect(try store.unfinishedPurges().isEmpty)
    #expect(cdn.urls.withLock { $0.contains { $0.hasSuffix("a.js") } })
    #expect(try store.checkup(deep: true).findings.isEmpty)
  }
}
