import Testing

@testable import Manifests

@Suite struct EvidenceHourTests {
  private func hour(_ number: Int64, _ candidate: Double, _ control: Double) throws -> EvidenceHour {
    EvidenceHour(
      hour: number, candidate: try #require(CountedSums(opened: candidate, failed: 1)),
      control: try #require(CountedSums(opened: control, failed: 2)))
  }

  @Test func hoursArePutTogetherUntilBothArmsHaveEnough() throws {
    let blocks = EvidenceHour.blocks([
      try hour(4, 100, 9), try hour(1, 20, 20), try hour(3, 1, 1), try hour(2, 25, 10), try hour(5, 19, 30),
      try hour(6, 0.5, 1),
    ])
    #expect(blocks.map(\.hour) == [1, 2, 5])
    #expect(blocks.map(\.candidate.opened) == [20, 126, 19.5])
    #expect(blocks.map(\.control.opened) == [20, 20, 31])
    #expect(blocks.map(\.candidate.failed) == [1, 3, 2])
    #expect(blocks.map(\.control.failed) == [2, 6, 4])
    #expect(EvidenceHour.blocks([]).isEmpty)
  }

  @Test func sumsEndAtTheLimit() throws {
    let most = Double(EvidenceRow.limit)
    var sums = try #require(CountedSums(opened: most, failed: most))
    sums += sums
    #expect(sums == CountedSums(opened: most, failed: most))
  }

  @Test(arguments: [-1, EvidenceRow.limit + 1]) func rowsHaveRanges(number: Int64) {
    #expect(EvidenceRow(hour: number, arm: .control, network: 0, opened: 0, failed: 0) == nil)
    #expect(EvidenceRow(hour: 0, arm: .control, network: 0, opened: number, failed: 0) == nil)
    #expect(EvidenceRow(hour: 0, arm: .control, network: 0, opened: 0, failed: number) == nil)
  }

  @Test func rowsAreOfADay() {
    let limit = EvidenceRow.limit
    #expect(EvidenceRow(hour: limit, arm: .control, network: .max, opened: limit, failed: limit) != nil)
    #expect(EvidenceRow(hour: 47, arm: .candidate, network: 1, opened: 0, failed: 0)?.day == 1)
    #expect(EvidenceRow(hour: 48, arm: .candidate, network: 1, opened: 0, failed: 0)?.day == 2)
  }
}
