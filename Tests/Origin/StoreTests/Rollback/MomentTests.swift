import Manifests
import System
import Testing
import TestSupport

@testable import Store

/// The version that a time refers to.
@Suite struct MomentTests {
  let scratch = Scratch()

  /// gc removes versions between a pinned one and the newest: which one was live then is unknown, and not guessed.
  @Test func timeOfARemovedVersionIsUnknown() throws {
    let time = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { time.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 1...6 as ClosedRange<Int64> {
      time.withLock { $0 = version * 1_000_000 }
      try store.publish(base: version - 1, set: ["a.js": Sample("\(version)")])
    }
    let channel = try store.shop()
    let anna = Actor(name: "anna", address: "10.0.0.7")
    _ = try store.pin(ManifestVersion(2), of: channel, reason: "audit", by: anna)
    var policy = RetentionPolicy()
    (policy.versions, policy.days) = (1, 0)
    _ = try store.collect(policy)
    func version(at time: Int64) throws -> Int64 { try store.version(.moment(time), of: channel).number }
    #expect(try version(at: 6_000_000) == 6 && version(at: 9_000_000) == 6)
    for gap in [2_000_000, 3_500_000, 4_000_000, 5_999_999] as [Int64] {
      #expect(throws: StoreError.self) { try version(at: gap) }
    }
    #expect(throws: StoreError.self) { try version(at: 1_500_000) }
  }

  /// Between a backup's last version and the first one after its restore, the former was live.
  @Test func numbersSkippedByARestoreAreNoGap() throws {
    let time = Locked<Int64>(1_000_000)
    var options = Store.Options()
    options.clock = { time.withLock { $0 } }
    let store = try scratch.open(options)
    for version in 1...2 as ClosedRange<Int64> {
      time.withLock { $0 = version * 1_000_000 }
      try store.publish(base: version - 1, set: ["a.js": Sample("\(version)")])
    }
    try store.connections.writing { (db) throws(StoreError) in
      try ChannelRow.leaveGaps(RestoreGap.size, in: db)
    }
    time.withLock { $0 = 9_000_000 }
    try store.publish(base: 2, set: ["a.js": Sample("new")])
    let channel = try store.shop()
    #expect(channel.version.number == 1002)
    #expect(try store.version(.moment(5_000_000), of: channel).number == 2)
    #expect(try store.version(.moment(9_500_000), of: channel).number == 1002)
  }
}
