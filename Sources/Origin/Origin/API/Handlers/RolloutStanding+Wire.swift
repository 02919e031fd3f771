import Manifests
import OriginAPI
import Store
import System
import Values

extension EvidenceInfo {
  /// How many points are shown.
  private static let maxPoints = 200

  init(_ standing: RolloutStanding) {
    let (evidence, plan) = (standing.evidence, standing.plan)
    var value = EValue()
    var points: [Point] = []
    for block in EvidenceHour.blocks(evidence.hours) {
      value.add(block)
      points.append(
        Point(at: Moment(milliseconds: block.hour * 3_600_000), e: RolloutStanding.number(value.log)))
    }
    self.init(
      candidate: Arm(evidence.sums(.candidate)), control: Arm(evidence.sums(.control)),
      e: RolloutStanding.number(value.log), highest: RolloutStanding.number(max(plan.highest, value.log)),
      networks: Int64(evidence.failingNetworks), pausesItself: plan.pausesItself,
      haltsItself: plan.haltsItself, alarmedAt: plan.alarmedAt.map { Moment(milliseconds: $0) },
      points: Array(points.suffix(Self.maxPoints)))
    if plan.firstHour > 0 {
      resumed = Point(
        at: Moment(milliseconds: plan.firstHour * 3_600_000),
        e: RolloutStanding.number(EValue(standing.recent.hours).log))
    }
    networkCap = plan.cap.share
    let openings = evidence.openings
    if openings.areMostlyLeftOut {
      let counted = min(Int64(openings.counted.rounded()), openings.reported)
      leftOut = LeftOut(
        opened: openings.reported - counted, of: openings.reported, networks: Int64(openings.networks))
    }
  }
}

extension EvidenceInfo.Arm {
  init(_ sums: CountedSums) {
    self.init(opened: Int64(sums.opened.rounded()), failed: Int64(sums.failed.rounded()))
    guard let interval = FailureRate(sums) else { return }
    (rate, low, high) = (
      Self.millionths(interval.rate), Self.millionths(interval.low), Self.millionths(interval.high)
    )
  }

  private static func millionths(_ part: Double) -> Int64 { Int64((part * 1e6).rounded()) }
}

extension RampTerms {
  init(_ ramp: RolloutRamp) {
    self.init(
      steps: ramp.ramp.steps, each: ramp.ramp.each, atLeast: ramp.ramp.atLeast / 1_000,
      completes: ramp.completes)
  }
}

extension RolloutStanding {
  /// What the rollout waits for, in words; none if it is about to go on, or to be stopped.
  /// - Parameter refusal: what kept it from going on when that was last tried.
  func waits(now: Int64, _ refusal: RolloutRefusal?) -> [RolloutWait] {
    var refused: [RolloutWait] = []
    if let refusal, refusal.candidate == rollout.candidate {
      refused = [
        RolloutWait(kind: "refused", text: "a person: it can't go on by itself: \(refusal.words.onOneLine)")
      ]
    }
    return switch decision(now: now) {
    case .wait(let waits): waits.map(wait) + halting + (waits.contains(where: \.isOfARamp) ? frozen : [])
    case .pause, .halt: refused
    case .advance, .complete: frozen.isEmpty ? refused : frozen
    }
  }

  /// A frozen channel lets a ramp wait, whatever else it waits for.
  private var frozen: [RolloutWait] {
    guard let freeze else { return [] }
    let end = freeze.calendar?.to.map { ", \(Timestamp.words($0.milliseconds))" } ?? ""
    return [
      RolloutWait(kind: "freeze", text: "the end of the channel's freeze\(end): \(freeze.reason.onOneLine)")
    ]
  }

  /// It is beyond doubt that the candidate fails too often, but perhaps somebody with a few addresses says so.
  private var halting: [RolloutWait] {
    let least = RampDecision.haltNetworks
    guard plan.haltsItself, recent.failingNetworks < least,
      EValue(recent.hours).reaches(RampDecision.halts)
    else { return [] }
    return [
      RolloutWait(
        kind: "networks",
        text: "failures in \(least) networks, to be halted by itself: so far in \(recent.failingNetworks)")
    ]
  }

  /// Whether an alarm would pause the rollout, or would have if it could.
  private var failsTooOften: Bool { EValue(recent.hours).reaches(RampDecision.pauses) }

  private func wait(_ wait: RampWait) -> RolloutWait {
    switch wait {
    case .person where failsTooOften:
      RolloutWait(
        kind: "person",
        text:
          "a person: it was resumed after an alarm, and fails too often since then; alarms don't pause it any more"
      )
    case .person where plan.ramp != nil && rollout.audience.share == 0:
      RolloutWait(kind: "person", text: "a person: no device is let in")
    case .person: RolloutWait(kind: "person", text: "a person, who takes each step")
    case .resuming where plan.isAlarmed:
      RolloutWait(kind: "resuming", text: "a person: an alarm has paused it")
    case .resuming where plan.pausesItself && failsTooOften:
      RolloutWait(
        kind: "resuming",
        text:
          "a person: it is paused, and if it is resumed, an alarm pauses it again, since it fails too often")
    case .resuming: RolloutWait(kind: "resuming", text: "a person: it is paused")
    case .completing: RolloutWait(kind: "completing", text: "a person, who completes it")
    case .openings(let arm, let opened, let wanted):
      RolloutWait(
        kind: "openings",
        text:
          "devices \(arm == .candidate ? "with the candidate" : "to compare with") that open a page in this step: "
          + "so far \(Count.grouped(Int64(opened))) of \(Count.grouped(wanted))")
    case .time(let end):
      RolloutWait(kind: "time", text: "the end of the step, not before \(Timestamp.words(end))")
    }
  }
}

extension RampWait {
  /// Whether the rollout would go on by itself.
  fileprivate var isOfARamp: Bool {
    switch self {
    case .openings, .time: true
    case .person, .resuming, .completing: false
    }
  }
}
