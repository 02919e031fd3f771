import Testing

@testable import Origin

@Suite struct CheckTurnsTests {
  private struct Check {
    let name: String
    var isAwaited = false
    var hasWork = true
  }

  private func order(_ checks: [Check], steps: Int) -> String {
    var turns = CheckTurns<Check>()
    for check in checks { turns.add(check) }
    return (0..<steps).compactMap { _ in turns.next(isAwaited: \.isAwaited, hasWork: \.hasWork)?.name }
      .joined()
  }

  /// A request waits for 500 blocks of a: a block of another file isn't delayed by them.
  @Test func awaitedChecksTakeTurns() {
    #expect(
      order([Check(name: "a", isAwaited: true), Check(name: "b", isAwaited: true)], steps: 4) == "abab")
  }

  @Test func awaitedChecksComeBeforeOthers() {
    #expect(order([Check(name: "a"), Check(name: "b", isAwaited: true)], steps: 3) == "bbb")
  }

  @Test func othersTakeTurns() {
    let checks = [Check(name: "a"), Check(name: "b", hasWork: false), Check(name: "c")]
    #expect(order(checks, steps: 4) == "acac")
    #expect(order([Check(name: "b", hasWork: false)], steps: 1) == "")
  }
}
