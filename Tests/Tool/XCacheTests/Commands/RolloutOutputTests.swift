import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import xcache

/// What `rollout show` prints of the evidence.
@Suite struct RolloutOutputTests {
  private static let hour: Int64 = 3_600_000

  private func list(
    _ values: [Int64] = [], networks: Int64 = 0, halts: Bool = false, pauses: Bool = true,
    _ change: (inout EvidenceInfo) -> Void = { _ in }
  ) -> RolloutList {
    var evidence = EvidenceInfo(
      candidate: .init(opened: 800, failed: 40, rate: 50_000, low: 26_860, high: 82_908),
      control: .init(opened: 0, failed: 0), e: values.last ?? 1, highest: 133, networks: networks,
      pausesItself: pauses, haltsItself: halts, alarmedAt: nil,
      points: values.enumerated().map {
        .init(at: Moment(milliseconds: 1_763_553_600_000 + Int64($0.offset) * Self.hour), e: $0.element)
      })
    evidence.networkCap = 500
    change(&evidence)
    var list = RolloutList(full: ManifestVersion(2), open: nil, rollouts: [])
    list.evidence = evidence
    return list
  }

  @Test func olderOriginSaysNothing() {
    #expect(RolloutEvidenceLines.all(RolloutList(full: ManifestVersion(2), open: nil, rollouts: [])).isEmpty)
  }

  @Test func ratesHaveIntervals() {
    let lines = RolloutEvidenceLines.all(list([133], networks: 30))
    #expect(
      lines == [
        "failures: 40 of 800 devices with version  (5 %; 95 % confidence: 2.69 % to 8.29 %), in 30 networks",
        "          0 of 0 devices that they are compared with",
        "evidence against it: e = 133, at most 133 so far; from 100 on it is paused by itself",
      ])
  }

  @Test func courseOfE() {
    let lines = RolloutEvidenceLines.all(list([1, 0, 4, 10, 32, 99, 100, 317, 1_000, 3_163, 1 << 53]))
    #expect(
      lines.last
        == "e over time: ▁▁▂▃▄▄▅▆▇██  from 2025-11-19 12:00:00 UTC to 2025-11-19 22:00:00 UTC; ▅ is 100 or more"
    )
  }

  /// Of several that share a bar, the highest counts.
  @Test func longCourseIsDrawnInFewBars() throws {
    let most = RolloutEvidenceLines.maxBars
    for (count, bars) in [(most, most), (most + 1, 25), (200, 40)] {
      var values = Array(repeating: Int64(1), count: count)
      values[count - 2] = 10_000
      let line = try #require(RolloutEvidenceLines.all(list(values)).last)
      #expect(line.count { "▁█".contains($0) } == bars)
      #expect(line.count { $0 == "█" } == 1)
    }
  }

  @Test func haltingTakesNetworks() {
    #expect(
      RolloutEvidenceLines.all(list(networks: 4, halts: true))[2]
        == "evidence against it: e = 1, at most 133 so far; from 100 on it is paused by itself, and halted from 10,000 on, "
        + "if it has failed in 5 networks or more")
  }

  /// What decides comes first, and that it may still be halted by itself.
  @Test func resumedAfterAnAlarm() {
    func lines(halts: Bool) -> [String] {
      RolloutEvidenceLines.all(
        list([5_009], halts: halts, pauses: false) {
          $0.resumed = .init(at: Moment(milliseconds: 1_763_557_200_000), e: 7)
        })
    }
    #expect(
      lines(halts: false).dropFirst(2) == [
        "evidence against it since a person resumed it: e = 7, of what is opened from 2025-11-19 13:00:00 UTC on",
        "  an alarm doesn't pause it any more",
        "evidence against it from the beginning: e = 5,009, at most 133 so far",
      ])
    #expect(
      lines(halts: true)[3]
        == "  an alarm doesn't pause it any more, but it is halted from 10,000 on, if it has failed in 5 networks or more"
    )
  }

  @Test func statusOfARamp() {
    var list = list([5_009])
    list.ramp = RampTerms(steps: [500, 10_000], each: 2_000, atLeast: 3_600)
    list.waits = [
      RolloutWait(kind: "person", text: "a person"), RolloutWait(kind: "freeze", text: "the end"),
    ]
    #expect(
      RolloutEvidenceLines.short(list) == [
        "failures: 40 of 800 devices (5 %; 95 % confidence: 2.69 % to 8.29 %); of the others 0 of 0 devices; evidence against it: e = 5,009",
        "the next step is 5%; it waits for a person; the end",
      ])
    #expect(
      RolloutEvidenceLines.all(list).dropFirst(3).first
        == "steps 5%, 100%, each after 2,000 devices and 1 h; the next one is 5%")
  }

  /// What makes completing ask: an alarm that holds, or evidence since a resume that says the same again.
  @Test(
    arguments: [(133, nil, true), (99, nil, false), (5_009, 7, false), (5_009, 101, true)]
      as [(Int64, Int64?, Bool)])
  func alarm(_ e: Int64, _ resumed: Int64?, _ isAlarm: Bool) {
    var list = list([e]) { evidence in
      evidence.resumed = resumed.map { .init(at: Moment(milliseconds: 1_763_557_200_000), e: $0) }
    }
    #expect(list.alarm == nil)
    list.open = RolloutInfo(
      version: ManifestVersion(3), full: ManifestVersion(2), state: "open", share: 500, groups: [], app: nil,
      paused: false, seed: "s", author: "anna", at: Moment(milliseconds: 0), changedBy: "anna",
      changedAt: Moment(milliseconds: 0), reason: nil)
    #expect((list.alarm != nil) == isAlarm)
    if let alarm = list.alarm {
      #expect(
        alarm.hasPrefix("version 3 fails too often: 40 of 800 devices with it failed (5 %; "), "\(alarm)")
    }
  }

  private func open(share: Int = 500, isPaused: Bool = false) -> RolloutInfo {
    RolloutInfo(
      version: ManifestVersion(3), full: ManifestVersion(2), state: "open", share: share, groups: [],
      app: nil, paused: isPaused, seed: "s", author: "anna", at: Moment(milliseconds: 0), changedBy: "anna",
      changedAt: Moment(milliseconds: 0), reason: nil)
  }

  /// A person is told what there is to do; after a resume, the alarm is history.
  @Test(arguments: [(true, true, true), (false, true, false), (true, false, false)])
  func alarms(isPaused: Bool, pausesItself: Bool, holds: Bool) {
    var list = list([133], pauses: pausesItself) { $0.alarmedAt = Moment(milliseconds: 1_763_557_200_000) }
    list.open = open(isPaused: isPaused)
    let time = "2025-11-19 13:00:00 UTC"
    let held =
      "paused by an alarm, \(time): `xcache rollout halt -m TEXT` takes it back, "
      + "`xcache rollout resume` goes on in spite of it"
    let lines = RolloutEvidenceLines.all(list)
    #expect(lines.contains(held) == holds, "\(lines)")
    #expect(lines.contains("an alarm has paused it before, \(time)") == !holds, "\(lines)")
  }

  @Test(arguments: [(0, true), (1, false), (9_999, false), (10_000, true)])
  func nothingToCompare(share: Int, isSaid: Bool) {
    var list = list()
    list.open = open(share: share)
    let lines = RolloutEvidenceLines.all(list)
    #expect(
      lines.contains { $0.hasSuffix("no devices are compared: what they open now is no evidence") } == isSaid)
  }

  /// What `rollout set` has set of what the rollout does by itself.
  @Test func courseThatWasSet() {
    func text(_ change: (inout RolloutRequest) -> Void) -> String? {
      var request = RolloutRequest()
      change(&request)
      return RolloutCommand.course(of: request, at: open())
    }
    #expect(text { $0.share = 500 } == nil)
    #expect(text { $0.autoHalt = true } == "is halted by itself if it fails too often")
    #expect(text { $0.ramp = RampTerms(steps: []) } == "a person takes each step")
    #expect(
      text {
        $0.ramp = RampTerms(steps: [100, 2_500, 10_000], completes: true)
        ($0.autoHalt, $0.networkCap) = (false, 10_000)
      }
        == "goes on by itself to 25%, 100%, and is completed; only a person halts it; one network counts for 100 % at most"
    )
  }

  @Test func openingsThatAreNotCounted() {
    let lines = RolloutEvidenceLines.all(
      list { $0.leftOut = .init(opened: 9_812, of: 10_000, networks: 3) })
    #expect(
      lines.suffix(3).first
        == "9,812 of 10,000 openings of the last two days aren't counted: they came from 3 networks, and one counts for 5 % at most"
    )
    #expect(
      RolloutEvidenceLines.all(list { $0.networkCap = 2_500 }).last == "one network counts for 25 % at most")
  }
}
