import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Store

/// Blobs that a publisher was told exist are reserved for its release; missing ones aren't.
@Suite struct ReservationTests {
  private let scratch = Scratch()

  private static func reserved(_ store: Store) -> Set<SHA256> {
    store.blobs.state.withLock { Set($0.reserved.keys) }
  }

  private static func unknown(_ count: Int) -> [SHA256] { (0..<count).map { .of(Array("none \($0)".utf8)) } }

  /// More than can be reserved at once.
  @Test func missingDigestsAreNotReserved() throws {
    let store = try scratch.open()
    let (stored, sent) = (Sample("stored"), Sample("sent"))
    try store.publish(base: 0, set: ["a.js": stored])
    let unknown = Self.unknown(2500)
    #expect(try store.missing(of: unknown) == unknown)
    #expect(Self.reserved(store).isEmpty)
    try store.send([sent])
    let held = [stored, sent].map(\.claim.sha256)
    #expect(try store.missing(of: [held[0]] + unknown + [held[1]]) == unknown)
    #expect(Self.reserved(store) == Set(held))
  }

  @Test func releaseOfMissingBytesReservesNothing() throws {
    let store = try scratch.open()
    let sent = Sample("sent")
    try store.send([sent])
    var set = ["sent.js": sent]
    for number in 0..<1200 { set["f\(number).js"] = Sample("none \(number)") }
    #expect {
      try store.publish(base: 0, set: set, sends: false)
    } throws: { error in
      if case StoreError.missingBlobs(let missing) = error { missing.count == 1200 } else { false }
    }
    #expect(Self.reserved(store) == [sent.claim.sha256])
    // Nor does a preview.
    _ = try store.preview(store.request([store.change("main", base: 0, set: set)]))
    #expect(Self.reserved(store) == [sent.claim.sha256])
  }

  /// The memory for many uploads is freed once they are released; entries of others are kept.
  @Test func tablesShrink() throws {
    let store = try scratch.open()
    let waiting = Sample("waiting")
    try store.send([waiting])
    _ = try store.missing(of: [waiting.claim.sha256])
    store.blobs.state.withLock { state in
      let known = state.whole[waiting.claim.sha256]
      for number in 0..<20_000 {
        let sha256 = SHA256.of(Array("\(number)".utf8))
        (state.whole[sha256], state.persisted[sha256], state.reserved[sha256]) = (known, known, 1)
      }
      for number in 0..<20_000 {
        let sha256 = SHA256.of(Array("\(number)".utf8))
        (state.whole[sha256], state.persisted[sha256], state.reserved[sha256]) = (nil, nil, nil)
      }
    }
    store.releaseMemory()
    let rooms = store.blobs.state.withLock {
      [$0.whole.capacity, $0.persisted.capacity, $0.reserved.capacity]
    }
    #expect(rooms.allSatisfy { $0 < 100 })
    #expect(Self.reserved(store) == [waiting.claim.sha256])
    try store.publish(base: 0, set: ["w": waiting], sends: false)
  }

  @Test func polledChannelsAreOrderedByTheirPolls() throws {
    let now = Locked<Int64>(1_800_000_000_000)
    var options = Store.Options()
    options.clock = { now.withLock { $0 } }
    let store = try scratch.open(options)
    let channels = try (0..<5).map { number in
      try store.createChannel(
        AppName("app\(number)"), .online, publicURL: BaseURL("https://c.example.com"), by: .local
      ).id
    }
    try store.count([PollCount(channel: channels[4], version: 0, polls: 1000)])
    now.withLock { $0 += 25 * 3_600_000 }
    try store.count([PollCount(channel: channels[0], version: 0, polls: 9)])
    now.withLock { $0 += 2 * 3_600_000 }
    try store.count([
      PollCount(channel: channels[1], version: 0, polls: 1),
      PollCount(channel: channels[2], version: 0, polls: 7),
    ])
    #expect(try store.polledChannels(hours: 24) == [channels[2], channels[1], channels[0]])
    #expect(try store.polledChannels(hours: 1) == [channels[2], channels[1]])
  }

  /// Two clients ask for the same bytes: the first finds them missing, they are uploaded, and the second finds them.
  @Test func renewedReservationIsNotCancelled() throws {
    let store = try scratch.open()
    let digests = Self.unknown(2)
    let first = try store.blobs.reserve(digests)
    let second = try store.blobs.reserve([digests[0]])
    store.blobs.withdraw(digests, first)
    #expect(Self.reserved(store) == [digests[0]])
    store.blobs.withdraw(digests, second)
    #expect(Self.reserved(store).isEmpty)
  }
}
