import Manifests
import Store
import System
import Testing

@testable import Origin

/// Preparations run two at a time, in order, and only while a client waits for them.
@Suite struct PreparationQueueTests {
  /// Runs preparations until they are ended or abandoned, and records which ones began.
  private final class Runs: Sendable {
    let begun = Monitor<[String]>([])
    private let mayEnd = Monitor<Set<String>>([])

    func run(_ preparation: Preparation) {
      begun.broadcasting { $0.append(preparation.id) }
      while preparation.checkIsWanted(), mayEnd.withLock({ !$0.contains(preparation.id) }) {
        Clock.sleep(for: .milliseconds(1))
      }
      preparation.giveUp()
    }

    func end(_ id: String) { mayEnd.broadcasting { _ = $0.insert(id) } }

    /// Whether exactly these begin, in this order.
    func are(_ ids: [String]) -> Bool {
      _ = begun.waiting(for: .seconds(5)) { $0.count >= ids.count ? true : nil }
      Clock.sleep(for: .milliseconds(20))
      // Two begin at the same time, so either may be first.
      return begun.withLock { $0.sorted() == ids.sorted() }
    }
  }

  private static func preparation(
    _ id: String, _ owner: String? = nil, bundle: String = "main", patience: UInt64 = Preparation.patience
  ) throws -> Preparation {
    let subject = try owner.map {
      try Preparation.Subject(
        owner: $0, app: AppName("shop"), channel: .online, bundles: [BundleName(bundle)])
    }
    return Preparation(id: id, ReleasePreview(channel: nil, new: [], gone: []), subject, patience: patience)
  }

  /// Whether a preparation is abandoned within five seconds.
  private static func isAbandoned(_ preparation: Preparation) -> Bool {
    for _ in 0..<5_000 {
      if preparation.status.isAbandoned { return true }
      Clock.sleep(for: .milliseconds(1))
    }
    return false
  }

  private static func queue() -> (PreparationQueue, Runs) {
    let runs = Runs()
    return (PreparationQueue { runs.run($0) }, runs)
  }

  @Test func twoRunAtATimeInOrder() throws {
    let (queue, runs) = Self.queue()
    for id in ["1", "2", "3", "4"] { _ = queue.add(try Self.preparation(id), isUrgent: false) }
    #expect(runs.are(["1", "2"]))
    runs.end("2")
    #expect(runs.are(["1", "2", "3"]))
    for id in ["1", "3", "4"] { runs.end(id) }
    #expect(runs.are(["1", "2", "3", "4"]) && queue.awaitIdle())
  }

  @Test func rollbackDoesNotWait() throws {
    let (queue, runs) = Self.queue()
    for id in ["1", "2", "3"] { _ = queue.add(try Self.preparation(id), isUrgent: false) }
    #expect(runs.are(["1", "2"]))
    _ = queue.add(try Self.preparation("back"), isUrgent: true)
    #expect(runs.are(["1", "2", "back"]))
    // One that is already waiting is found again.
    _ = queue.add(try Self.preparation("back 2"), isUrgent: false)
    _ = queue.add(try Self.preparation("back 2"), isUrgent: true)
    runs.end("back")
    #expect(runs.are(["1", "2", "back", "back 2"]))
    queue.stop()
    #expect(queue.awaitIdle() == false)
  }

  @Test func tokensTakeTurns() throws {
    let (queue, runs) = Self.queue()
    for id in ["1", "2", "3"] { _ = queue.add(try Self.preparation(id, "a", bundle: id), isUrgent: false) }
    #expect(runs.are(["1", "2"]))
    _ = queue.add(try Self.preparation("other", "b"), isUrgent: false)
    runs.end("1")
    #expect(runs.are(["1", "2", "other"]))
    queue.stop()
  }

  @Test func unpolledPreparationIsAbandoned() throws {
    let (queue, runs) = Self.queue()
    let left = try Self.preparation("left", patience: 100_000_000)
    let waitedFor = try Self.preparation("waited for", patience: 100_000_000)
    _ = queue.add(left, isUrgent: false)
    let waiter = try OSThread(name: "waiter") { _ = waitedFor.awaitReady(within: 20) }
    Clock.sleep(for: .milliseconds(10))
    _ = queue.add(waitedFor, isUrgent: false)
    #expect(Self.isAbandoned(left))
    // An abandoned preparation is begun again by a later request.
    let again = try Self.preparation("left")
    #expect(queue.add(again, isUrgent: false) === again)
    #expect(runs.are(["left", "waited for", "left"]))
    #expect(!waitedFor.status.isAbandoned)
    queue.stop()
    waiter.join()
    #expect(!left.status.isReady && !again.status.isReady)
  }

  @Test func replacedPreparationEndsSoon() throws {
    let (queue, runs) = Self.queue()
    let first = try Self.preparation("1", "a")
    _ = queue.add(first, isUrgent: false)
    _ = queue.add(try Self.preparation("2", "a", bundle: "other"), isUrgent: false)
    #expect(runs.are(["1", "2"]))
    _ = queue.add(try Self.preparation("3", "a"), isUrgent: false)
    #expect(Self.isAbandoned(first))
    #expect(runs.are(["1", "2", "3"]) && queue.known.map(\.id) == ["2", "3"])
    queue.stop()
  }

  @Test func oldestOfTheTokenWithMostIsEvicted() throws {
    let (queue, _) = Self.queue()
    let rare = try Self.preparation("rare", "b")
    _ = queue.add(rare, isUrgent: false)
    let many = try (0..<40).map { try Self.preparation("\($0)", "a", bundle: "b\($0)") }
    for preparation in many { _ = queue.add(preparation, isUrgent: false) }
    #expect(!rare.status.isAbandoned && queue.known.count == 32)
    #expect(many.prefix(9).allSatisfy { $0.status.isAbandoned } && !many[9].status.isAbandoned)
    queue.stop()
  }
}
