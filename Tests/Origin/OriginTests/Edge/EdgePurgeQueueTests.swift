import Manifests
import Testing

@testable import Origin

/// What an edge is sent, and when: tables of what happens and what follows.
@Suite struct EdgePurgeQueueTests {
  enum Step {
    /// From here on, it is so many milliseconds since the beginning.
    case time(Int64)
    case change(String, urgent: Bool = false)
    /// The end of the attempt.
    case done
    case fails(after: Int64? = nil)
    case end
    // What is expected.
    case sends(String)
    case waits(Int64)
    case isIdle
    case has(pending: Int)
    case isLate(Int64?)
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    var batch = 1
    let steps: [Step]

    var testDescription: String { name }
  }

  private static func purges(_ names: String) throws -> [EdgePurge] {
    try names.split(separator: " ").map { EdgePurge(try AppName("shop"), try ChannelName(String($0))) }
  }

  static let cases: [Case] = [
    Case(
      name: "a change is collected for 50 ms, sent, and sent again after 2 s",
      steps: [
        .isIdle, .change("a"), .waits(50), .has(pending: 1), .time(50), .sends("a"), .has(pending: 1),
        .time(60), .done, .has(pending: 0), .waits(2000), .time(2060), .sends("a"), .has(pending: 0), .done,
        .isIdle,
      ]),
    Case(
      name: "a policy isn't collected, and goes before what waits longer",
      steps: [
        .change("a"), .change("b"), .time(60), .change("c", urgent: true), .sends("c"), .done, .sends("a"),
        .done,
        .sends("b"), .done, .waits(2000),
      ]),
    Case(
      name: "a channel whose policy changed keeps its place if it changes again",
      steps: [.change("b", urgent: true), .change("b"), .change("a"), .time(50), .sends("b")]),
    Case(
      name: "changes of a channel are one purge",
      steps: [.change("a"), .time(20), .change("a"), .waits(30), .time(50), .sends("a"), .done, .waits(2000)]),
    Case(
      name: "a change during the attempt is sent after it",
      steps: [
        .change("a"), .time(50), .sends("a"), .change("a"), .has(pending: 1), .done, .waits(50), .time(100),
        .sends("a"),
        .done, .waits(2000),
      ]),
    Case(
      name: "a change takes the place of the repetition, and has one of its own",
      steps: [
        .change("a"), .time(50), .sends("a"), .done, .time(1000), .change("a"), .time(1050), .sends("a"),
        .done,
        .waits(2000), .time(3050), .sends("a"), .done, .isIdle,
      ]),
    Case(
      name: "batches", batch: 2,
      steps: [
        .change("c"), .change("b"), .change("a"), .time(50), .sends("a b"), .done, .sends("c"), .done,
        .waits(2000),
        .time(2050), .sends("a b"), .done, .sends("c"), .done, .isIdle,
      ]),
    Case(
      name: "retries after 0.5 s, 1 s, 2 s, … and a minute",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(), .waits(500), .time(550), .sends("a"), .fails(),
        .waits(1000),
        .time(1550), .sends("a"), .fails(), .waits(2000), .time(3550), .sends("a"), .fails(), .waits(4000),
        .time(7550),
        .sends("a"), .fails(), .waits(8000), .time(15_550), .sends("a"), .fails(), .waits(16_000),
        .time(31_550),
        .sends("a"), .fails(), .waits(32_000), .time(63_550), .sends("a"), .fails(), .waits(60_000),
        .time(123_550),
        .sends("a"), .fails(), .waits(60_000), .time(183_550), .sends("a"), .done, .waits(2000),
      ]),
    Case(
      name: "while an edge fails, others wait with what failed, but a new change is tried soon",
      steps: [
        .change("a"), .change("b"), .time(50), .sends("a"), .fails(), .waits(500), .time(550), .sends("b"),
        .fails(),
        .waits(1000), .time(600), .change("c", urgent: true), .waits(450), .time(1050), .sends("c"), .done,
        .sends("a"),
        .done, .sends("b"), .done, .waits(2000),
      ]),
    Case(
      name: "one purge that is refused doesn't hold up others, and keeps its pauses",
      steps: [
        .change("a"), .change("b"), .time(50), .sends("a"), .fails(), .time(550), .sends("b"), .done,
        .sends("a"),
        .fails(), .waits(1000), .time(1000), .change("c"), .waits(50), .time(1050), .sends("c"), .done,
        .waits(500),
        .time(1550), .sends("a"), .fails(), .waits(1000),
      ]),
    Case(
      name: "an edge that asks for time gets it, also for what is new",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(after: 30_000), .waits(30_000),
        .change("b"), .waits(30_000), .time(30_050), .sends("b"), .done, .sends("a"), .done, .waits(2000),
      ]),
    Case(
      name: "a policy waits for 5 s at most if an edge asks for time, and has pauses of its own after that",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(after: 600_000), .waits(600_000), .time(1000),
        .change("b"), .change("c", urgent: true), .waits(5000), .time(6000), .sends("c"),
        .fails(after: 600_000), .waits(1000), .time(7000), .sends("c"), .fails(after: 600_000), .waits(2000),
        .time(9000), .sends("c"), .done, .sends("b"), .done, .sends("a"), .done, .waits(2000),
      ]),
    Case(
      name: "a policy that an edge answers with a long pause is tried again after 5 s",
      steps: [
        .change("a", urgent: true), .sends("a"), .fails(after: 600_000), .waits(5000), .time(5000),
        .sends("a"), .fails(after: 1000), .waits(1000), .time(6000), .sends("a"), .done, .waits(2000),
      ]),
    Case(
      name: "what is added during an attempt that fails doesn't wait for the pause after it",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(), .time(550), .sends("a"), .fails(), .time(1550),
        .sends("a"), .fails(), .time(3550), .sends("a"), .time(4000), .change("b", urgent: true),
        .time(8000), .fails(), .waits(500), .time(8500), .sends("b"), .done, .sends("a"), .done,
      ]),
    Case(
      name: "a policy that is added during the attempt that fails for the same channel doesn't wait either",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(), .time(550), .sends("a"), .fails(), .time(1550),
        .sends("a"), .change("a", urgent: true), .fails(after: 600_000), .waits(3450), .time(5000),
        .sends("a"), .done, .waits(2000),
      ]),
    Case(
      name: "late after 5 s, from the first change on, also during an attempt",
      steps: [
        .change("a"), .time(50), .sends("a"), .time(4999), .isLate(nil), .time(5000), .isLate(5000), .fails(),
        .time(5400), .change("a"), .time(6000), .isLate(6000), .sends("a"), .isLate(6000), .done,
        .isLate(nil),
      ]),
    Case(
      name: "a repetition that fails is late, too",
      steps: [
        .change("a"), .time(0), .waits(50), .time(50), .sends("a"), .done, .time(2050), .sends("a"), .fails(),
        .has(pending: 1), .time(7049), .isLate(nil), .time(7050), .isLate(5000), .sends("a"),
        .has(pending: 1), .done, .has(pending: 0), .isIdle, .isLate(nil),
      ]),
    Case(
      name: "a change after a repetition that failed is late from then on",
      steps: [
        .change("a"), .time(50), .sends("a"), .done, .time(2050), .sends("a"), .fails(), .time(2550),
        .sends("a"), .change("a"), .fails(), .time(6000), .change("a"), .time(7050), .isLate(5000),
      ]),
    Case(
      name: "a repetition that waits for its first attempt is neither late nor pending",
      steps: [
        .change("a"), .time(50), .sends("a"), .done, .time(10_000), .has(pending: 0), .isLate(nil),
        .sends("a"), .has(pending: 0), .isLate(nil), .change("a"), .has(pending: 1), .fails(),
        .has(pending: 1), .isLate(nil), .time(10_500), .sends("a"), .done, .has(pending: 0),
      ]),
    Case(
      name: "at the end, everything is sent once more at once, without a repetition",
      steps: [
        .change("a"), .time(50), .sends("a"), .done, .change("b"), .end, .sends("b"), .done, .sends("a"),
        .done, .isIdle,
      ]),
    Case(
      name: "at the end, nothing is sent to an edge that fails",
      steps: [
        .change("a"), .time(50), .sends("a"), .fails(), .end, .isIdle, .change("b"), .time(600), .sends("b"),
      ]),
  ]

  @Test(arguments: cases) func purges(_ one: Case) throws {
    var queue = EdgePurgeQueue(batch: one.batch)
    var now: Int64 = 0
    for (number, step) in one.steps.enumerated() {
      let place = Comment(rawValue: "step \(number): \(step)")
      switch step {
      case .time(let time): now = time
      case .change(let name, let isUrgent):
        queue.add(try Self.purges(name).map { EdgeChange(purge: $0, isUrgent: isUrgent) }, at: now)
      case .done: queue.ended(.done, at: now)
      case .fails(let after): queue.ended(.failed("no", after: after), at: now)
      case .end: queue.end(at: now)
      case .sends(let names): #expect(queue.next(at: now) == .send(try Self.purges(names)), place)
      case .waits(let time): #expect(queue.next(at: now) == .wait(time), place)
      case .isIdle: #expect(queue.next(at: now) == .idle, place)
      case .has(let pending): #expect(queue.pending == pending, place)
      case .isLate(let time): #expect(queue.lateness(at: now) == time, place)
      }
    }
  }

  /// What holds for one channel, whatever waits for others.
  @Test func oneChannel() throws {
    var queue = EdgePurgeQueue(batch: 1)
    let (a, b) = (try Self.purges("a")[0], try Self.purges("b")[0])
    #expect(!queue.isPending(a))
    queue.add([EdgeChange(purge: a, isUrgent: true)], at: 0)
    #expect(queue.isPending(a) && !queue.isPending(b))
    #expect(queue.next(at: 0) == .send([a]) && queue.isPending(a))
    queue.ended(.failed("no"), at: 10)
    #expect(queue.isPending(a) && queue.lateness(of: a, at: 4999) == nil)
    #expect(queue.lateness(of: a, at: 5000) == 5000 && queue.lateness(of: b, at: 5000) == nil)
    #expect(queue.next(at: 5000) == .send([a]))
    queue.ended(.done, at: 5010)
    #expect(!queue.isPending(a) && queue.lateness(of: a, at: 5010) == nil)
    // The repetition is only missing once it has failed, from when it was due.
    #expect(queue.lateness(of: a, at: 12_010) == nil)
    #expect(queue.next(at: 12_010) == .send([a]))
    queue.ended(.failed("no"), at: 12_011)
    #expect(queue.isPending(a) && queue.lateness(of: a, at: 12_012) == 5002)
  }

  /// 200 releases wait for an edge that is slow; the kill switch isn't the 201st.
  @Test(arguments: [1, 30, 256]) func policiesOvertakeManyReleases(batch: Int) throws {
    var queue = EdgePurgeQueue(batch: batch)
    let releases = try (0..<200).map {
      EdgeChange(purge: EdgePurge(try AppName("shop"), try ChannelName("c\($0)")), isUrgent: false)
    }
    queue.add(releases, at: 0)
    guard case .send(let first) = queue.next(at: 50) else { return #expect(Bool(false), "nothing is sent") }
    let kill = try Self.purges("c7")[0]
    queue.add([EdgeChange(purge: kill, isUrgent: true)], at: 60)
    queue.ended(.done, at: 100)
    guard case .send(let second) = queue.next(at: 100) else { return #expect(Bool(false), "nothing is sent") }
    #expect(second.first == kill)
    queue.ended(.done, at: 100)
    var sent = Set(first + second)
    while case .send(let more) = queue.next(at: 100) {
      sent.formUnion(more)
      queue.ended(.done, at: 100)
    }
    #expect(sent.count == 200 && queue.pending == 0)
  }
}
