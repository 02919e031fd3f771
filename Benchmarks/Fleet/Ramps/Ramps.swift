// Simulated ramps against the code that decides about rollouts (docs/evidence.md): `xcache-fleet ramps`, or ramps.sh, which builds these
// files alone.
import Manifests

/// A fleet and a release.
struct Scenario {
  var name: String
  var candidate: Double
  var control: Double
  /// Openings of control for one of the candidate.
  var controlOpens = 1.0
  /// Openings of the candidate in the whole ramp.
  var opens = 10_000
  /// Openings of the candidate in an hour, on average; it follows the time of day.
  var perHour = 400.0
  /// How much the rates of both arms rise and fall with the time of day: 0 … 1.
  var rhythm = 0.0
}

/// When a ramp was first paused and halted, in openings of the candidate.
struct Outcome {
  var paused: Int?
  var halted: Int?
}

/// One ramp, looked at after each single report.
///
/// The e-value can only rise with a failure of the candidate or an opening of control; both are looked at, the latter after each fiftieth.
func ramp(_ scenario: Scenario, _ chance: inout Chance) -> Outcome {
  var outcome = Outcome()
  var ended = EValue()
  var sums = (candidate: (opened: 0.0, failed: 0.0), control: (opened: 0.0, failed: 0.0))
  var inHour = 0
  var hour = 0
  var opened = 0
  var sinceLook = 0
  let part = 1 / (1 + scenario.controlOpens)
  func block() -> EvidenceHour {
    EvidenceHour(
      hour: Int64(hour),
      candidate: CountedSums(opened: sums.candidate.opened, failed: sums.candidate.failed) ?? .none,
      control: CountedSums(opened: sums.control.opened, failed: sums.control.failed) ?? .none)
  }
  // A rough day: half of the hours have a third of the openings of the others.
  func size(_ hour: Int) -> Int { Int(scenario.perHour * (hour % 24 < 12 ? 1.5 : 0.5) / part) }
  while opened < scenario.opens {
    if inHour >= size(hour) {
      if min(sums.candidate.opened, sums.control.opened) >= EvidenceHour.blockLeast {
        ended.add(block())
        sums = ((0, 0), (0, 0))
      }
      inHour = 0
      hour += 1
    }
    inHour += 1
    let factor = 1 + scenario.rhythm * (hour % 24 < 12 ? 1 : -1)
    var look = false
    if chance.happens(part) {
      opened += 1
      sums.candidate.opened += 1
      if chance.happens(scenario.candidate * factor) {
        sums.candidate.failed += 1
        look = true
      }
    } else {
      sums.control.opened += 1
      if chance.happens(scenario.control * factor) { sums.control.failed += 1 }
      sinceLook += 1
      if sinceLook % 50 == 0, sums.candidate.failed > 0 { look = true }
    }
    if look {
      var now = ended
      now.add(block())
      if outcome.paused == nil, now.reaches(RampDecision.pauses) { outcome.paused = opened }
      if now.reaches(RampDecision.halts) {
        outcome.halted = opened
        return outcome
      }
    }
  }
  return outcome
}

func percent(_ part: Int, _ all: Int) -> String {
  "\((Double(part) / Double(all) * 100_000).rounded() / 1000) %"
}

func report(_ scenario: Scenario, ramps: Int, seed: UInt64) {
  var chance = Chance(seed: seed)
  let outcomes = (0..<ramps).map { _ in ramp(scenario, &chance) }
  let paused = outcomes.compactMap(\.paused).sorted()
  let halted = outcomes.compactMap(\.halted).sorted()
  func quantile(_ values: [Int], _ part: Double) -> String {
    let index = Int((Double(ramps) * part).rounded(.up)) - 1
    return index < values.count ? "\(values[index])" : "–"
  }
  print(
    "\(scenario.name): paused \(percent(paused.count, ramps)), halted \(percent(halted.count, ramps)) of \(ramps);"
      + " paused after 50 % \(quantile(paused, 0.5)), 99 % \(quantile(paused, 0.99)) openings;"
      + " halted after 50 % \(quantile(halted, 0.5)), 99 % \(quantile(halted, 0.99))")
}

enum Ramps {
  /// - Parameter words: how many ramps of each scenario, the seed, how a scenario begins or `networks`, and sizes of fleets.
  static func run(_ words: [String]) {
    let ramps = words.first.flatMap { Int($0) } ?? 1_000
    let seed = words.dropFirst().first.flatMap { UInt64($0) } ?? 1
    let chosen = words.dropFirst(2).first ?? ""
    for scenario in scenarios where scenario.name.hasPrefix(chosen) {
      report(scenario, ramps: ramps, seed: seed)
    }
    let sizes = words.dropFirst(3).compactMap { Int($0) }
    if chosen.isEmpty || chosen == "networks" {
      Networks.report(
        fleets: max(10, ramps / 10), sizes: sizes.isEmpty ? [480, 2_400, 24_000] : sizes, seed: seed)
    }
  }

  static let scenarios = [
    Scenario(name: "good, 0.2 %", candidate: 0.002, control: 0.002),
    Scenario(
      name: "good, 1.2 times the openings in control", candidate: 0.002, control: 0.002, controlOpens: 1.2),
    Scenario(
      name: "good, 1.2 times the openings in the candidate", candidate: 0.002, control: 0.002,
      controlOpens: 1 / 1.2),
    Scenario(name: "good, 0.25 % and 0.2 %", candidate: 0.0025, control: 0.002),
    Scenario(name: "good, 5 % in both", candidate: 0.05, control: 0.05),
    Scenario(name: "at the limit, 0.3 % and 0.2 %", candidate: 0.003, control: 0.002),
    Scenario(name: "at the limit, with a daily rhythm", candidate: 0.003, control: 0.002, rhythm: 0.8),
    Scenario(name: "at the limit, 7.5 % and 5 %", candidate: 0.075, control: 0.05, opens: 2_000),
    Scenario(
      name: "at the limit, 25 openings an hour", candidate: 0.03, control: 0.02, opens: 4_000, perHour: 25),
    Scenario(
      name: "at the limit, one opening an hour", candidate: 0.3, control: 0.2, opens: 1_000, perHour: 1),
    Scenario(name: "bad, 5 % and 0.2 %", candidate: 0.05, control: 0.002, opens: 10_000),
    Scenario(name: "bad, 5 % and 0.2 %, 33 openings an hour", candidate: 0.05, control: 0.002, perHour: 33),
    Scenario(name: "bad, 1 % and 0.2 %", candidate: 0.01, control: 0.002, opens: 20_000),
    Scenario(
      name: "bad, 1 % and 0.2 %, 33 openings an hour", candidate: 0.01, control: 0.002, opens: 20_000,
      perHour: 33),
    Scenario(name: "bad, all", candidate: 1, control: 0.002, opens: 1_000),
    Scenario(name: "bad, 0.5 % and 0.2 %", candidate: 0.005, control: 0.002, opens: 100_000),
  ]
}
