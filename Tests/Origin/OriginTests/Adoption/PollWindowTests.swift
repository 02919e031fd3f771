import Testing

@testable import Origin

@Suite struct PollWindowTests {
  private static let minute: UInt64 = 60_000_000_000
  private let one = PollWindow.Key(channel: 1, version: 5)
  private let other = PollWindow.Key(channel: 1, version: 4)

  @Test("A poll counts for an hour, whatever the wall clock says")
  func countsPollsOfTheLastHour() {
    var window = PollWindow()
    let start: UInt64 = 7_777 * Self.minute
    window.add([one: .init(polls: 3), other: .init(polls: 1)], now: start)
    window.add([one: .init(polls: 2)], now: start + Self.minute / 2)
    window.add([one: .init(polls: 10)], now: start + 30 * Self.minute)
    #expect(window.sums(now: start + 59 * Self.minute) == [one: .init(polls: 15), other: .init(polls: 1)])
    #expect(window.sums(now: start + 61 * Self.minute) == [one: .init(polls: 10)])
    #expect(window.sums(now: start + 91 * Self.minute) == [:])
  }

  @Test("Unknown channels and versions take bounded memory")
  func isBounded() {
    var window = PollWindow()
    for round in 0..<10 {
      let polls = (0..<1_000).map {
        (PollWindow.Key(channel: Int64(round), version: Int64($0)), PollWindow.Count(polls: 1))
      }
      window.add(Dictionary(uniqueKeysWithValues: polls), now: Self.minute)
    }
    #expect(window.sums(now: Self.minute).count == 4_096)
  }
}
