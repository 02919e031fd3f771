import Manifests

/// Fleets whose devices are in networks, some of which somebody uses to send reports that aren't true.
///
/// Of the true ones 40 % come from 40 networks of carriers and companies, 60 % from 20,000 others.
struct Networks {
  /// What somebody wants.
  enum Aim: String {
    case nothing = "no attack"
    /// Failures of the candidate, and openings of control.
    case pausing = "to stop a release"
    /// Failures of control, and openings of the candidate.
    case hiding = "to hide failures"
  }

  var aim: Aim
  /// In how many networks the attacker has addresses.
  var attackers: Int
  /// True openings in each arm and day.
  var perDay: Int
  var candidate = 0.002
  var control = 0.002
  var days = 2
  var cap = NetworkCap.standard

  /// After how many true openings the fleet was paused and halted; it is looked at eight times a day.
  func outcome(_ chance: inout Chance) -> Outcome {
    var outcome = Outcome()
    var ended: [EvidenceHour] = []
    for day in 0..<days {
      var rows: [Key: (opened: Int64, failed: Int64)] = [:]
      var hours: [EvidenceHour] = []
      for hour in 0..<24 {
        for (arm, rate) in [(RolloutArm.candidate, candidate), (.control, control)] {
          for _ in 0..<(perDay / 24) {
            let network = chance.happens(0.4) ? chance.below(40) : 40 + chance.below(20_000)
            let key = Key(hour: hour, arm: arm, network: UInt64(network))
            rows[key, default: (0, 0)].opened += 1
            if chance.happens(rate) { rows[key, default: (0, 0)].failed += 1 }
          }
        }
        if aim != .nothing, hour == 0 {
          for attacker in 0..<attackers {
            let network = UInt64(1_000_000 + attacker)
            let (failing, opening): (RolloutArm, RolloutArm) =
              aim == .pausing ? (.candidate, .control) : (.control, .candidate)
            rows[Key(hour: hour, arm: failing, network: network)] = (1, 1_000_000)
            rows[Key(hour: hour, arm: opening, network: network)] = (1_000_000, 0)
          }
        }
        guard hour % 3 == 2 else { continue }
        let stored = rows.compactMap { key, sums in
          EvidenceRow(
            hour: Int64(day * 24 + key.hour), arm: key.arm, network: key.network, opened: sums.opened,
            failed: sums.failed)
        }
        hours = cap.hours(stored)
        let state = RampState(
          share: 500, since: 0, evidence: EValue(ended + hours),
          failingNetworks: Set(stored.filter { $0.arm == .candidate && $0.failed > 0 }.map(\.network)).count)
        let opened = (day * 24 + hour + 1) * (perDay / 24)
        let decision = RampDecision.of(state, ramp: nil, haltsItself: true, now: 0)
        if outcome.paused == nil, decision == .pause || decision == .halt { outcome.paused = opened }
        if decision == .halt {
          outcome.halted = opened
          return outcome
        }
      }
      ended += hours
    }
    return outcome
  }

  private struct Key: Hashable {
    let hour: Int
    let arm: RolloutArm
    let network: UInt64
  }

  static func report(fleets: Int, sizes: [Int], seed: UInt64) {
    for perDay in sizes {
      let few = perDay > 10_000 ? max(5, fleets / 10) : fleets
      Networks(aim: .nothing, attackers: 0, perDay: perDay).report(few, seed)
      Networks(aim: .nothing, attackers: 0, perDay: perDay, candidate: 0.05).report(few, seed)
      for attackers in [1, 2, 5, 10, 100] {
        Networks(aim: .pausing, attackers: attackers, perDay: perDay).report(few, seed)
      }
      for attackers in [1, 10, 100] {
        Networks(aim: .hiding, attackers: attackers, perDay: perDay, candidate: 0.05).report(few, seed)
      }
    }
  }

  private func report(_ fleets: Int, _ seed: UInt64) {
    var chance = Chance(seed: seed)
    let outcomes = (0..<fleets).map { _ in outcome(&chance) }
    let paused = outcomes.compactMap(\.paused).sorted()
    let halted = outcomes.compactMap(\.halted).count
    func quantile(_ part: Double) -> String {
      let index = Int((Double(fleets) * part).rounded(.up)) - 1
      return index < paused.count ? "\(paused[index])" : "–"
    }
    print(
      "\(perDay) openings a day, candidate fails \(candidate * 100) %, \(aim.rawValue) from \(attackers) networks: "
        + "paused \(percent(paused.count, fleets)) (50 % after \(quantile(0.5)), 99 % after \(quantile(0.99))), halted \(percent(halted, fleets)) of \(fleets)"
    )
  }
}
