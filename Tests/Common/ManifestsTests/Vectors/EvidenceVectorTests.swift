import Testing

@testable import Manifests
@testable import Values

/// Runs docs/vectors/evidence.json, which a program in Python has written from docs/evidence.md.
@Suite struct EvidenceVectorTests {
  @Test func arms() throws {
    for sample in try Self.cases("arms") {
      let arm = RolloutArm(
        bucket: Int(Self.number(sample["bucket"])), share: Int(Self.number(sample["share"])))
      #expect(arm?.rawValue == sample["arm"]?.string, "\(sample)")
    }
  }

  @Test func evidence() throws {
    for sample in try Self.cases("evidence") {
      let hours = try (sample["hours"]?.array ?? []).map { try Self.hour($0.array ?? []) }
      let log = EValue(hours, ratio: Self.number(sample["ratio"])).log
      #expect(Self.isClose(log, Self.number(sample["log"])), "\(log): \(sample)")
    }
  }

  @Test func intervals() throws {
    for sample in try Self.cases("intervals") {
      let sums = try #require(
        CountedSums(opened: Self.number(sample["opened"]), failed: Self.number(sample["failed"])))
      let rate = try #require(FailureRate(sums))
      for (a, b) in zip([rate.low, rate.rate, rate.high], try #require(sample["interval"]?.array)) {
        // Rates are far below 1.
        #expect(Self.isClose(a * 1e3, Self.number(b) * 1e3), "\(rate): \(sample)")
      }
    }
  }

  @Test func caps() throws {
    for sample in try Self.cases("caps") {
      let cap = try #require(NetworkCap(share: Int(Self.number(sample["share"]))))
      let limit = cap.limit((sample["counts"]?.array ?? []).map { Int64(Self.number($0)) })
      #expect(Self.isClose(limit, Self.number(sample["limit"])), "\(limit): \(sample)")
    }
  }

  @Test func rows() throws {
    for sample in try Self.cases("rows") {
      let cap = try #require(NetworkCap(share: Int(Self.number(sample["share"]))))
      let rows = try (sample["rows"]?.array ?? []).map { row in
        let values = row.array ?? []
        try #require(values.count == 5)
        let arm = try #require(values[1].string.flatMap { RolloutArm(rawValue: $0) })
        return try #require(
          EvidenceRow(
            hour: Int64(Self.number(values[0])), arm: arm, network: UInt64(Self.number(values[2])),
            opened: Int64(Self.number(values[3])), failed: Int64(Self.number(values[4]))))
      }
      let wanted = try (sample["hours"]?.array ?? []).map { try Self.hour($0.array ?? []) }
      let (hours, openings) = (cap.counted(rows).hours, cap.counted(rows).openings)
      let numbers = [Double(openings.reported), openings.counted, Double(openings.networks)]
      for (a, b) in zip(numbers, try #require(sample["openings"]?.array)) {
        #expect(Self.isClose(a, Self.number(b)), "\(openings): \(sample)")
      }
      #expect(hours.map(\.hour) == wanted.map(\.hour))
      for (a, b) in zip(hours, wanted) {
        #expect(Self.isClose(a.candidate.opened, b.candidate.opened))
        #expect(Self.isClose(a.candidate.failed, b.candidate.failed))
        #expect(Self.isClose(a.control.opened, b.control.opened))
        #expect(Self.isClose(a.control.failed, b.control.failed))
      }
    }
  }

  private static func cases(_ name: String) throws -> [JSONValue] {
    let cases = try Vectors.json("evidence.json")[name]?.array ?? []
    try #require(!cases.isEmpty)
    return cases
  }

  /// However it is written; not a number where it is none.
  private static func number(_ value: JSONValue?) -> Double {
    guard case .number(let text)? = value else { return .nan }
    return Double(text) ?? .nan
  }

  private static func isClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-9 * max(1, abs(b)) }

  private static func hour(_ values: [JSONValue]) throws -> EvidenceHour {
    try #require(values.count == 5)
    let candidate = try #require(CountedSums(opened: number(values[1]), failed: number(values[2])))
    let control = try #require(CountedSums(opened: number(values[3]), failed: number(values[4])))
    return EvidenceHour(hour: Int64(number(values[0])), candidate: candidate, control: control)
  }
}
