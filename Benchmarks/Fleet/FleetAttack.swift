import Manifests

/// Somebody whose reports aren't true.
struct FleetAttack: Sendable {
  /// What somebody wants.
  enum Aim: String, Sendable {
    /// To stop a release: failures of the candidate, and openings of control.
    case pausing = "pause"
    /// To hide that a release is bad: failures of control, and openings of the candidate.
    case hiding = "hide"
  }

  let aim: Aim
  /// In how many networks the attacker has addresses.
  let networks: Int
  /// How many reports of each kind come from each of them in an hour: more than count.
  static let perHour: Int64 = 100_000

  /// The arms of which failures and openings are made up.
  var arms: (failing: RolloutArm, opening: RolloutArm) {
    aim == .pausing ? (.candidate, .control) : (.control, .candidate)
  }

  /// Sends an hour's reports.
  func report(to origin: FleetOrigin, _ mix: FleetMix, hour: Int64) {
    let (failing, opening) = arms
    for attacker in 0..<networks {
      let network = mix.network(ofAttacker: attacker)
      origin.count(failing, opened: 0, failed: Self.perHour, network, hour: hour)
      origin.count(opening, opened: Self.perHour, failed: 0, network, hour: hour)
    }
  }
}
