import Manifests
import System

/// What `xcache-fleet` is asked for.
struct FleetOptions: Sendable {
  // The fleet
  var devices = 1_000_000
  var seed: UInt64 = 1
  /// The part of the devices that have no network for two days or longer, at any time.
  var offline = 0.02
  /// /24 networks of homes and companies, beside 40 of carriers.
  var networks = 20_000
  // The release
  /// How many of a million devices fail with the candidate within a day, and with the version before.
  var fails = 0.002
  var base = 0.002
  var steps = [100, 500, 2_500, 10_000]
  /// Whether the rollout is completed after the last one.
  var completes = true
  var each: Int64 = 2_000
  var atLeast: Int64 = 3_600_000
  var haltsItself = false
  // Somebody whose reports aren't true
  var attackers = 0
  var aim = FleetAttack.Aim.pausing
  var attackFrom: Int64 = 0
  // The run, in virtual time
  var days = 14
  var settle: Int64 = 86_400_000
  var every: Int64 = 3_600_000
  var isJSON = false
  // A real origin
  var origin: String?
  var token: String?
  var app = "shop"
  var channel = "online"
  var hosts = ["m.example.com"]
  var sample = 1_000
  /// How many real milliseconds a virtual hour takes.
  var hour: Int64 = 3_000

  static let usage = """
    xcache-fleet simulates a fleet of devices that takes a release by a ramp, on the code by which devices and origins decide.

    usage: xcache-fleet [OPTIONS]                    a fleet and an origin in this process, in virtual time
           xcache-fleet --origin URL [OPTIONS]       a sample of the fleet as real devices of a real origin, in compressed time
           xcache-fleet ramps [RAMPS [SEED [WHICH [SIZE…]]]]  many small ramps: docs/evidence.md, "In numbers"
           xcache-fleet counts [DEVICES [PERCENT [DAYS [SEED]]]]   adoption and gc of a fleet (1000000) behind a shared cache, by a
                                                     part of its batches (1), over days (40); fails if they are wrong

    The fleet
      --devices N         how many devices (1000000)
      --seed N            all that is left to chance; the same seed gives the same run (1)
      --offline SHARE     devices that have no network for days, at any time (2%)
      --networks N        /24 networks of homes and companies, with 60 % of the traffic; 40 of carriers have the rest (20000)

    The release
      --fails SHARE       devices that fail with the candidate within a day (0.2%)
      --base SHARE        devices that fail with the version before (0.2%)
      --ramp SHARE,…      the steps, as publish takes them (1%,5%,25%,100%,complete)
      --each N            devices of the candidate that have to open a page in each step (2000)
      --at-least TIME     how long each step lasts at least (1h)
      --auto-halt         an alarm may halt the rollout

    Somebody whose reports aren't true
      --attackers N       networks that they come from (0)
      --attack AIM        pause, a release that is good; or hide, one that is bad (pause)
      --attack-from TIME  when they begin, after the rollout (0h)

    The run
      --days N            the most days (14)
      --settle TIME       how long it goes on after it was paused, halted or completed (1d)
      --every TIME        how often a line is printed (1h)
      --json              one JSON document instead of a table

    A real origin
      --origin URL        where its channel has an open rollout, and it trusts X-Forwarded-For of this host (serve --trust-proxy)
      --token TOKEN       one that may read the channel; otherwise $XCACHE_TOKEN
      --app NAME          the app (shop)
      --channel NAME      the channel (online)
      --hosts NAME,…      the hosts of its pages (m.example.com)
      --sample 1/N        which part of the fleet (1/1000)
      --hour TIME         how long a virtual hour takes (3s)
      --devices, --days, --fails, --attackers and so on as above; ramp and --auto-halt are the origin's

    TIME is a number with s, m, h or d; SHARE a number with %.

    """
}

/// Words that can't be understood.
struct UsageError: Error {
  let text: String
}

extension FleetOptions {
  /// Reads the words of a command.
  /// - Throws: what is wrong, for the one who wrote them.
  init(_ words: [String], environment: [String: String]) throws(UsageError) {
    token = environment["XCACHE_TOKEN"]
    var rest = words[...]
    while let word = rest.popFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let name = parts[0]
      if name == "--json" || name == "--auto-halt" {
        guard parts.count == 1 else { throw UsageError(text: "\(name) takes no value") }
        if name == "--json" { isJSON = true } else { haltsItself = true }
        continue
      }
      guard Self.names.contains(name) else {
        throw UsageError(text: "\(Self.quoted(word)) isn't known; see xcache-fleet --help")
      }
      guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
        throw UsageError(text: "\(name) needs a value; see xcache-fleet --help")
      }
      try set(name, value)
    }
    if origin == nil, words.contains(where: { $0.hasPrefix("--sample") || $0.hasPrefix("--hour") }) {
      throw UsageError(text: "--sample and --hour are for a real origin: give --origin as well")
    }
    if origin != nil, token?.isEmpty ?? true {
      throw UsageError(text: "--origin needs a token that may read the channel: --token, or XCACHE_TOKEN")
    }
    if Ramp(steps: steps, each: each, atLeast: atLeast) == nil {
      throw UsageError(text: "--ramp needs 1 to \(Ramp.stepLimit) shares above 0, each above the one before")
    }
  }

  private static let names: Set<String> = [
    "--devices", "--seed", "--offline", "--networks", "--fails", "--base", "--ramp", "--each", "--at-least",
    "--attackers", "--attack", "--attack-from", "--days", "--settle", "--every", "--origin", "--token",
    "--app", "--channel",
    "--hosts", "--sample", "--hour",
  ]

  private mutating func set(_ name: String, _ value: String) throws(UsageError) {
    switch name {
    case "--devices": devices = try Self.number(name, value, 1...10_000_000)
    case "--seed":
      guard let number = UInt64(value) else { throw Self.wrong(name, value, "a whole number") }
      seed = number
    case "--offline": offline = try Self.share(name, value, to: 90)
    case "--networks": networks = try Self.number(name, value, 1...1_000_000)
    case "--fails": fails = try Self.share(name, value)
    case "--base": base = try Self.share(name, value)
    case "--ramp":
      var parts = value.split(separator: ",", omittingEmptySubsequences: false)
      (steps, completes) = ([], parts.last == "complete")
      if completes { parts.removeLast() }
      for part in parts {
        steps.append(Int((try Self.share(name, String(part)) * 10_000).rounded()))
      }
    case "--each": each = Int64(try Self.number(name, value, 1...1_000_000_000))
    case "--at-least": atLeast = try Self.time(name, value)
    case "--attackers": attackers = try Self.number(name, value, 0...60_000)
    case "--attack":
      guard let aim = FleetAttack.Aim(rawValue: value) else { throw Self.wrong(name, value, "pause or hide") }
      self.aim = aim
    case "--attack-from": attackFrom = try Self.time(name, value)
    case "--days": days = try Self.number(name, value, 1...90)
    case "--settle": settle = try Self.time(name, value)
    case "--every": every = max(60_000, try Self.time(name, value))
    case "--origin": origin = value
    case "--token": token = value
    case "--app": app = value
    case "--channel": channel = value
    case "--hosts": hosts = value.split(separator: ",").map(String.init)
    case "--sample":
      guard value.hasPrefix("1/"), let part = Int(value.dropFirst(2)), (1...10_000_000).contains(part) else {
        throw Self.wrong(name, value, "1/N, such as 1/1000")
      }
      sample = part
    default: hour = max(1, try Self.time(name, value))
    }
  }

  private static func number(_ name: String, _ text: String, _ range: ClosedRange<Int>) throws(UsageError)
    -> Int
  {
    guard let number = Int(text), range.contains(number) else {
      throw wrong(name, text, "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  private static func share(_ name: String, _ text: String, to most: Double = 100) throws(UsageError)
    -> Double
  {
    guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...most).contains(number) else {
      throw wrong(name, text, "a share from 0% to \(Int(most))%, such as 0.2%")
    }
    return number / 100
  }

  private static func time(_ name: String, _ text: String) throws(UsageError) -> Int64 {
    let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
    guard let unit = text.last.flatMap({ units[$0] }), let number = Double(text.dropLast()),
      (0...8_760).contains(number)
    else { throw wrong(name, text, "a time such as 30s, 90m, 1h or 2d") }
    return Int64(number * Double(unit))
  }

  private static func wrong(_ name: String, _ value: String, _ wanted: String) -> UsageError {
    UsageError(text: "\(name) needs \(wanted), not \(quoted(value))")
  }

  private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
