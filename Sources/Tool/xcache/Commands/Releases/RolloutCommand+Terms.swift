import Manifests
import OriginAPI
import Values

/// Whom a release goes to first, and what its rollout does by itself.
extension RolloutCommand {
  // MARK: - Options

  static let appVersion = Option.value(
    "app-version", "RANGE", "only these app versions: '>=4.2 <5'; any: all")
  static let group = Option.value(
    "group", "NAME", "also devices that the app gave this group; repeatable; none: no group")

  static let ramp = Option.value(
    "ramp", "STEPS",
    "go on by itself: 1%,5%,25%,100%,complete; none: a person takes each step")
  static let each = Option.value(
    "each", "N", "the devices that open a page in each step of --ramp (default: 2000)")
  static let atLeast = Option.value(
    "at-least", "TIME", "how long each step of --ramp lasts at least (default: 1h)")
  static let autoHalt = Option.flag(
    "auto-halt", "halt it by itself if it fails too often, at odds of 10,000 to 1")
  static let networkCap = Option.value(
    "network-cap", "PERCENT", "how much of the evidence one network makes up, at most (default: 5%)")

  /// The options of commands that make a release.
  static let releaseOptions: [Option] = [
    .value("rollout", "PERCENT", "let the release go to a part of the devices first: 5%"), ramp, each,
    atLeast, autoHalt, networkCap, appVersion, group, ifNoRollout,
  ]

  static let ifNoRollout = Option.flag("if-no-rollout", "refuse if a rollout is open")

  /// Returns whom a release goes to first; nil: to all.
  static func terms(_ arguments: Arguments) throws -> RolloutTerms? {
    let text = try arguments.value("rollout")
    let ramp = try rampTerms(arguments)
    if text == nil, ramp?.steps.isEmpty != false {
      for name in ["app-version", "group", "auto-halt", "network-cap", "ramp"] where arguments.isGiven(name) {
        let (option, also) =
          name == "ramp"
          ? ("ramp none", "")
          : (name, " or --ramp STEPS\(name == "group" ? "; for groups alone, --rollout 0%" : "")")
        throw UsageError("--\(option) can only be used with --rollout PERCENT\(also)")
      }
      return nil
    }
    var terms = RolloutTerms(share: try text.map { try share($0, in: "--rollout") })
    terms.ramp = ramp?.steps.isEmpty == false ? ramp : nil
    if let ramp = terms.ramp, let share = terms.share, ramp.completes != true, let last = ramp.steps.last,
      last <= share
    {
      throw UsageError(
        "--ramp would never go on: its last step, \(ShareText.option(last)), isn't above --rollout \(ShareText.option(share))"
      )
    }
    terms.autoHalt = arguments.has("auto-halt") ? true : nil
    terms.networkCap = try cap(arguments)
    terms.groups = try groups(arguments).flatMap { $0.isEmpty ? nil : $0 }
    terms.app = try range(arguments).flatMap(\.self)
    return terms
  }

  /// Returns the steps of `--ramp`; nil if it isn't given, no steps for `none`.
  static func rampTerms(_ arguments: Arguments) throws -> RampTerms? {
    guard let text = try arguments.value("ramp") else {
      for name in ["each", "at-least"] where arguments.isGiven(name) {
        throw UsageError("--\(name) can only be used with --ramp STEPS")
      }
      return nil
    }
    if text == "none" {
      for name in ["each", "at-least"] where arguments.isGiven(name) {
        throw UsageError("--ramp none ends the ramp; --\(name) can't be used with it")
      }
      return RampTerms(steps: [])
    }
    var words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    let completes = words.last == "complete"
    if completes { words.removeLast() }
    if words.contains("complete") {
      throw UsageError("--ramp \(text): complete can only be the last step, such as 1%,5%,25%,100%,complete")
    }
    var terms = RampTerms(steps: try words.map { try share($0, in: "--ramp") }, completes: completes)
    guard let first = terms.steps.first, first != 0 else {
      throw UsageError("--ramp \(text): the first step must be a percentage above 0, such as 1%,5%,25%,100%")
    }
    guard zip(terms.steps, terms.steps.dropFirst()).allSatisfy(<) else {
      throw UsageError("--ramp \(text): each step must be above the one before, such as 1%,5%,25%,100%")
    }
    guard terms.steps.count <= Ramp.stepLimit else {
      throw UsageError("--ramp \(text): more than \(Ramp.stepLimit) steps")
    }
    terms.each = try each(arguments)
    terms.atLeast = try atLeast(arguments)
    return terms
  }

  /// Returns what a change has set of what a rollout does by itself: `a person takes each step; is halted by itself if it fails too often`.
  /// Nil if nothing of that.
  static func course(of request: RolloutRequest, at rollout: RolloutInfo) -> String? {
    let parts = [
      request.ramp.map { ramp in
        ShareText.course(
          from: rollout.share, steps: ramp.steps, completes: ramp.completes ?? false, halts: false)
          ?? "a person takes each step"
      },
      request.autoHalt.map { $0 ? "is halted by itself if it fails too often" : "only a person halts it" },
      request.networkCap.map { "one network counts for \(ShareText.percent($0)) at most" },
    ].compactMap(\.self)
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// Returns the steps of the open rollout with other values of `--each` and `--at-least`.
  static func changedRamp(_ ramp: RampTerms?, _ arguments: Arguments) throws -> RampTerms {
    guard var terms = ramp else {
      throw UsageError("--each and --at-least need --ramp STEPS: the rollout has no ramp")
    }
    terms.each = try each(arguments) ?? terms.each
    terms.atLeast = try atLeast(arguments) ?? terms.atLeast
    return terms
  }

  static func each(_ arguments: Arguments) throws -> Int64? {
    try arguments.value("each").map { text in
      guard let count = Int64(text), (1...1_000_000_000).contains(count) else {
        throw UsageError("--each \(text): expected a number of devices, such as 2000")
      }
      return count
    }
  }

  static func atLeast(_ arguments: Arguments) throws -> Int64? {
    try arguments.value("at-least").map { text in
      guard let seconds = text == "0" ? 0 : Arguments.seconds(of: text, in: "smhd", 0...100_000),
        seconds <= 365 * 86_400
      else { throw UsageError("--at-least \(text): expected a time such as 6h, at most 365d, or 0") }
      return seconds
    }
  }

  static func halts(_ arguments: Arguments) throws -> Bool? {
    let (yes, no) = (arguments.has("auto-halt"), arguments.has("no-auto-halt"))
    if yes, no { throw UsageError("--auto-halt and --no-auto-halt can't be used together") }
    return yes ? true : no ? false : nil
  }

  /// Returns how much one network counts, of 10,000; nil if that isn't given.
  static func cap(_ arguments: Arguments) throws -> Int? {
    guard let text = try arguments.value("network-cap") else { return nil }
    let share = try share(text, in: "--network-cap")
    if share == 0 {
      throw UsageError("--network-cap \(text): with 0% no report would count; the least is 0.01%")
    }
    return share
  }

  static func share(_ text: String, in place: String) throws -> Int {
    try Percentage.read(text) {
      UsageError("\(place) \(text): expected a percentage from 0 to 100 with at most two decimals")
    }
  }

  /// Returns the groups; nil if none is given, an empty list for `none`.
  static func groups(_ arguments: Arguments) throws -> [String]? {
    let names = arguments.all("group")
    if names.isEmpty { return nil }
    if names == ["none"] { return [] }
    for name in names where !RolloutRule.isGroup(name) || name == "none" {
      throw UsageError("--group \(name): a name has up to 32 of a-z, 0-9 and -, and begins with a letter")
    }
    return Set(names).sorted()
  }

  /// Returns the range of app versions; nil if it isn't given, `.some(nil)` for `any`.
  static func range(_ arguments: Arguments) throws -> String?? {
    guard let text = try arguments.value("app-version") else { return nil }
    if text == "any" { return .some(nil) }
    do {
      return .some(try AppVersionRange.written(text).text)
    } catch {
      throw UsageError("--app-version \(text): \(error)")
    }
  }
}
