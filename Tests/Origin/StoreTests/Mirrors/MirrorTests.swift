import Manifests
import System
import Testing
import TestSupport

@testable import Store

@Suite struct MirrorTests {
  @Test func leaseExpiresUnlessRenewed() throws {
    let scratch = Scratch()
    let now = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    let lease = try store.acquireLease(holder: "mirror", seconds: 60)
    now.withLock { $0 += 59_000 }
    #expect(try store.leases().map(\.id) == [lease.id])
    try store.renewLease(lease.id, seconds: 60)
    now.withLock { $0 += 59_000 }
    #expect(try store.leases().count == 1)
    now.withLock { $0 += 1_000 }
    #expect(try store.leases().isEmpty)
    #expect(throws: StoreError.self) { try store.renewLease(lease.id, seconds: 60) }
  }

  /// A lease taken while the clock was this many minutes ahead, and whether it blocks gc now that the clock is right.
  @Test(arguments: [(0, true), (59, true), (61, false), (60 * 24 * 365, false)])
  func leaseFromAFutureTimeExpires(minutes: Int64, holds: Bool) throws {
    let (store, now, scratch) = try aged()
    defer { withExtendedLifetime(scratch) {} }
    var policy = RetentionPolicy()
    policy.versions = 1
    now.withLock { $0 += minutes * 60_000 }
    _ = try store.acquireLease(holder: "mirror", seconds: 60)
    now.withLock { $0 -= minutes * 60_000 }
    if holds {
      #expect(throws: StoreError.self) { try store.collect(policy) }
      #expect(try store.keptVersions(of: store.shop()).count == 3)
    } else {
      #expect(try store.collect(policy).channels[0].dropped.map(\.number) == [1, 2])
    }
  }

  @Test func readerBesideTheServerTakesALeaseDuringReleases() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("one")])
    var options = Store.Options()
    options.isSecondary = true
    let secondary = try scratch.open(options)
    let lease = try secondary.acquireLease(holder: "mirror", seconds: 60)
    #expect(try store.leases() == [lease])
    try store.publish(base: 1, set: ["a.js": Sample("two")])
    #expect(try secondary.shop().version == ManifestVersion(2))
    try secondary.endLease(lease.id)
    #expect(try store.leases().isEmpty)
  }

  @Test func readerNeedsAnExistingFolder() {
    let scratch = Scratch()
    var options = Store.Options()
    options.isSecondary = true
    #expect(throws: StoreError.self) { try scratch.open(options) }
  }

  @Test func lastRunReplacesTheMirrorsVersions() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    for version in 0..<3 { try store.publish(base: Int64(version), set: ["a.js": Sample("\(version)")]) }
    func versions(_ numbers: Int64...) throws -> [ChannelVersion] {
      try numbers.map {
        ChannelVersion(app: try AppName("shop"), channel: .online, version: ManifestVersion($0))
      }
    }
    try store.register(mirror: "/srv/www", versions(1, 2))
    try store.register(mirror: "/srv/www", versions(2, 3))
    try store.register(mirror: "s3://bucket", versions(3))
    #expect(try store.mirrors().map(\.name) == ["/srv/www", "s3://bucket"])
    #expect(try store.mirrors()[0].versions == versions(2, 3))
    // Unknown versions are ignored, and don't make the rest invalid.
    try store.register(mirror: "/srv/www", versions(3, 4, 19_999))
    #expect(try store.mirrors()[0].versions == versions(3))
  }

  /// A channel of three versions, for which gc runs with a limit.
  private func aged() throws -> (store: Store, now: Locked<Int64>, scratch: Scratch) {
    let scratch = Scratch()
    let now = Locked<Int64>(1_760_000_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 0..<3 { try store.publish(base: Int64(version), set: ["a.js": Sample("\(version)")]) }
    return (store, now, scratch)
  }

  private func dropped(_ store: Store) throws -> [Int64] {
    var policy = RetentionPolicy()
    policy.versions = 1
    return try store.collect(policy, dryRun: true).channels[0].dropped.map(\.number)
  }

  private static let day: Int64 = 86_400_000

  private func first() throws -> [ChannelVersion] {
    [ChannelVersion(app: try AppName("shop"), channel: .online, version: ManifestVersion(1))]
  }

  @Test func inactiveMirrorKeepsItsVersionsForNinetyDays() throws {
    let (store, now, scratch) = try aged()
    defer { withExtendedLifetime(scratch) {} }
    try store.register(mirror: "cdn", first())
    now.withLock { $0 += 90 * Self.day - 1 }
    #expect(try dropped(store) == [2])
    #expect(try store.mirrors()[0].isBinding)
    now.withLock { $0 += 1 }
    #expect(try dropped(store) == [1, 2])
    #expect(try !store.mirrors()[0].isBinding)
    try store.register(mirror: "cdn", first())
    #expect(try dropped(store) == [2])
  }

  /// After a token was revoked or expired, its mirror keeps versions for a limited time.
  @Test(arguments: [true, false]) func mirrorOfAnEndedTokenKeepsItsVersionsForAWeek(revoked: Bool)
    throws
  {
    let (store, now, scratch) = try aged()
    defer { withExtendedLifetime(scratch) {} }
    let end = now.withLock { $0 } + Self.day
    let token = try store.createToken(
      name: "ci", scope: .read, app: try AppName("shop"), expiresAt: revoked ? nil : end
    ).token
    try store.register(mirror: "cdn", first(), by: .token(token, address: ""))
    now.withLock { $0 = end }
    if revoked { _ = try store.revokeToken("ci") }
    now.withLock { $0 += 7 * Self.day - 1 }
    #expect(try dropped(store) == [2])
    now.withLock { $0 += 1 }
    #expect(try dropped(store) == [1, 2])
    // A job with a new token keeps it.
    let next = try store.createToken(name: "ci-2", scope: .read, app: try AppName("shop")).token
    try store.register(mirror: "cdn", first(), by: .token(next, address: ""))
    now.withLock { $0 += 30 * Self.day }
    #expect(try dropped(store) == [2])
  }

  @Test func removedMirrorKeepsNothing() throws {
    let (store, _, scratch) = try aged()
    defer { withExtendedLifetime(scratch) {} }
    try store.register(mirror: "cdn", first())
    try store.forget(mirror: "cdn")
    #expect(try dropped(store) == [1, 2])
    #expect(try store.mirrors().isEmpty)
    #expect(throws: StoreError.self) { try store.forget(mirror: "cdn") }
  }

  @Test func resourcesAreThoseOfTheRequestedVersions() throws {
    let scratch = Scratch()
    let store = try scratch.open()
    try store.publish(base: 0, set: ["a.js": Sample("one"), "b.js": Sample("b")])
    try store.publish(base: 1, set: ["a.js": Sample("two")])
    try store.publish(base: 2, set: ["a.js": Sample("three")], remove: ["b.js"])
    let shop = try store.shop()
    func bytes(_ first: Int64, _ last: Int64) throws -> Set<SHA256> {
      Set(
        try store.mirroredResources(
          of: shop, from: ManifestVersion(first), through: ManifestVersion(last)
        ).map(\.sha256))
    }
    func of(_ texts: String...) -> Set<SHA256> { Set(texts.map { .of(Array($0.utf8)) }) }
    #expect(try bytes(1, 3) == of("one", "two", "three", "b"))
    #expect(try bytes(2, 3) == of("two", "three", "b"))
    #expect(try bytes(3, 3) == of("three"))
    #expect(try bytes(1, 2) == of("one", "two", "b"))
    #expect(try store.keptVersions(of: shop, keep: 1).map(\.number) == [2, 3])
  }
}
