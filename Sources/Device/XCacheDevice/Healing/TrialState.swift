import Manifests
import System
import Values

/// Why a device went back to the version before.
public enum ReturnCause: String, Hashable, Sendable {
  /// Two of its first pages in a row failed.
  case page
  /// The process ended twice while a page of it started.
  case start
  /// The app said so.
  case rejected
}

/// What a device knows of versions that haven't proved themselves on it: docs/protocol.md §11, "A device heals itself".
///
/// It does no I/O, and reads no clock.
struct TrialState: Equatable, Sendable {
  /// The number of failures in a row, and of crashes, after which a device goes back.
  static let limit = 2

  /// The version in force, while it hasn't proved itself.
  struct Trial: Equatable, Sendable {
    let id: HeldManifest
    /// What was in force before the switch to it.
    let before: HeldManifest
    /// The last version that proved itself: where the device goes back to.
    let previous: HeldManifest
    var failures = 0
    var crashes = 0
    /// Whether a page of it came up.
    var isUp = false
  }

  /// A version that the device went back from.
  struct Skip: Equatable, Sendable {
    let id: HeldManifest
    /// Where it went.
    let target: HeldManifest
    let cause: ReturnCause
    /// The page that was the reason, without its query; empty if there is none.
    let url: String
    /// Whether the first page since then is awaited.
    var isAwaited = true
    var isTold = false
  }

  /// A page of a version that was about to be answered: if the process ends, that is a crash.
  struct Mark: Equatable, Sendable {
    let version: ManifestVersion
    /// Without its query.
    let url: String
  }

  private(set) var trial: Trial?
  private(set) var skip: Skip?
  private(set) var mark: Mark?
  /// A version that isn't left again before a page has come up: the one before it failed, too.
  private(set) var spared: ManifestVersion?
  /// What was skipped until a page failed in this process.
  private var lifted: Skip?

  init() {}

  /// Whether there is nothing to know.
  var isEmpty: Bool { self == TrialState() }

  // MARK: Switches

  /// Begins a trial, before the switch to its version.
  mutating func begin(_ id: HeldManifest, after held: HeldManifest, previous: HeldManifest) {
    trial = Trial(id: id, before: held, previous: previous)
    mark = nil
  }

  /// Forgets what the manifest in force makes useless.
  /// - Parameters:
  ///   - held: the manifest in force.
  ///   - previous: the manifest that is kept for going back; nil if there is none.
  mutating func hold(_ held: HeldManifest, previous: HeldManifest?) {
    if let trial, trial.id != held {
      // Nothing came of that switch. What was in force may have been on trial itself; then the counts begin anew.
      let goesOn = trial.before == held && trial.previous != held
      self.trial = goesOn ? Trial(id: held, before: held, previous: trial.previous) : nil
    }
    if let skip, skip.id.version <= held.version, !isReturning(from: held) || skip.target != previous {
      self.skip = nil
    }
    if let spared, spared < held.version { (self.spared, lifted) = (nil, nil) }
    if let mark, !needsMark(mark.version, holding: held) { self.mark = nil }
  }

  /// Records that the device goes back, before the switch.
  mutating func goBack(
    from id: HeldManifest, to target: HeldManifest, _ cause: ReturnCause, _ url: String
  ) {
    skip = Skip(id: id, target: target, cause: cause, url: url)
    (trial, mark, lifted) = (nil, nil, nil)
  }

  /// Whether a return from this manifest was recorded, and the switch hasn't happened yet.
  func isReturning(from held: HeldManifest) -> Bool { skip?.id == held }

  /// The version that isn't taken.
  func skipped(holding held: HeldManifest) -> ManifestVersion? {
    skip.flatMap { held.version < $0.id.version ? $0.id.version : nil }
  }

  // MARK: Pages

  private func isOnTrial(_ held: HeldManifest) -> Bool { trial?.id == held }

  /// Whether the device went back to this manifest, and no page of it has come up or failed since.
  func isAwaited(_ held: HeldManifest) -> Bool {
    skip.map { $0.isAwaited && $0.target == held } ?? false
  }

  /// Whether it matters what becomes of a page that was answered from a version.
  func awaitsVerdict(of version: ManifestVersion, holding held: HeldManifest) -> Bool {
    held.version == version && (isOnTrial(held) || isAwaited(held) || spared != nil)
  }

  /// Whether a page that is answered from a version is marked first.
  func needsMark(_ version: ManifestVersion, holding held: HeldManifest) -> Bool {
    held.version == version && spared != version && (isOnTrial(held) || isAwaited(held))
  }

  /// Whether the manifest in force isn't left before a page has come up.
  func isSpared(_ held: HeldManifest) -> Bool { spared == held.version }

  /// Why the device has to go back; nil if it doesn't.
  func failure(of held: HeldManifest) -> ReturnCause? {
    guard let trial, trial.id == held, !isSpared(held) else { return nil }
    if trial.crashes >= Self.limit { return .start }
    if trial.isUp { return nil }
    if trial.failures >= Self.limit { return .page }
    // A user who waits once and ends the app once has seen two pages that didn't come up.
    return trial.failures + trial.crashes >= Self.limit ? .start : nil
  }

  mutating func addMark(_ version: ManifestVersion, _ url: String) {
    if mark == nil { mark = Mark(version: version, url: url) }
  }

  mutating func removeMark() { mark = nil }

  /// Records that an earlier process ended while a page started.
  mutating func recordCrash(holding held: HeldManifest) {
    guard let mark, needsMark(mark.version, holding: held) else { return mark = nil }
    self.mark = nil
    if isOnTrial(held) { trial?.crashes += 1 } else { lift() }
  }

  /// Records that a page didn't come up.
  mutating func recordFailure(of version: ManifestVersion, holding held: HeldManifest) {
    guard awaitsVerdict(of: version, holding: held) else { return }
    if isOnTrial(held) { trial?.failures += 1 } else if isAwaited(held) { lift() }
  }

  /// Records that a page which had failed came up late.
  mutating func takeBackFailure(of version: ManifestVersion, holding held: HeldManifest) {
    guard held.version == version else { return }
    if isOnTrial(held) { trial?.failures = 0 }
    guard let lifted, lifted.target == held else { return }
    (skip, spared) = (lifted, nil)
    self.lifted = nil
  }

  /// Records that a page came up.
  mutating func recordSuccess(of version: ManifestVersion, holding held: HeldManifest) {
    guard awaitsVerdict(of: version, holding: held) else { return }
    (spared, lifted) = (nil, nil)
    if isOnTrial(held) { trial?.isUp = true }
    if isAwaited(held) {
      skip?.isAwaited = false
      mark = nil
    }
  }

  /// Ends the trial of the version in force: it has proved itself.
  mutating func prove(holding held: HeldManifest) {
    guard isOnTrial(held) else { return }
    (trial, mark, spared, lifted) = (nil, nil, nil, nil)
  }

  /// What is to be reported: that the device went back, and a page came up since.
  var report: Skip? { skip.flatMap { $0.isAwaited || $0.isTold ? nil : $0 } }

  mutating func recordReport() { skip?.isTold = true }

  /// It wasn't the version: the one before fails as well.
  private mutating func lift() {
    (spared, lifted) = (skip?.id.version, skip)
    (skip, mark) = (nil, nil)
  }
}

// MARK: - On the disk

extension TrialState {
  /// The contents of `trial.json`, with a digest: what is damaged must not make a device skip a version.
  var saved: [UInt8] {
    let state = JSONValue.object(json)
    let document: JSONValue = ["digest": .string(SHA256.of(state.canonical).hex), "state": state]
    return document.canonical
  }

  private var json: JSONObject {
    var object = JSONObject()
    object["mark"] = mark.map { ["url": .string($0.url), "version": .string($0.version.text)] }
    object["skip"] = skip.map { skip in
      [
        "awaited": .bool(skip.isAwaited), "cause": .string(skip.cause.rawValue), "id": skip.id.json,
        "target": skip.target.json, "told": .bool(skip.isTold), "url": .string(skip.url),
      ]
    }
    object["spared"] = spared.map { .string($0.text) }
    object["trial"] = trial.map { trial in
      [
        "before": trial.before.json, "crashes": .integer(trial.crashes), "failures": .integer(trial.failures),
        "id": trial.id.json, "previous": trial.previous.json, "up": .bool(trial.isUp),
      ]
    }
    return object
  }

  /// Reads what was saved; nil if anything in it isn't as this version writes it.
  init?(saved bytes: [UInt8]) {
    guard let document = try? JSONValue.parse(bytes), let state = document["state"] else { return nil }
    if let value = state["mark"] {
      guard let version = value["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
        let url = value["url"]?.string
      else { return nil }
      mark = Mark(version: version, url: url)
    }
    if let value = state["skip"] {
      guard let skip = Skip(json: value) else { return nil }
      self.skip = skip
    }
    spared = state["spared"]?.string.flatMap { ManifestVersion(text: $0) }
    if let value = state["trial"] {
      guard let trial = Trial(json: value) else { return nil }
      self.trial = trial
    }
    guard saved == bytes else { return nil }
  }
}

extension TrialState.Trial {
  fileprivate init?(json: JSONValue) {
    guard let id = json["id"].flatMap({ HeldManifest(json: $0) }),
      let before = json["before"].flatMap({ HeldManifest(json: $0) }),
      let previous = json["previous"].flatMap({ HeldManifest(json: $0) }),
      let failures = json["failures"]?.integer, let crashes = json["crashes"]?.integer,
      (0...1_000_000).contains(failures), (0...1_000_000).contains(crashes), let isUp = json["up"]?.bool
    else { return nil }
    self.init(
      id: id, before: before, previous: previous, failures: Int(failures), crashes: Int(crashes), isUp: isUp)
  }
}

extension TrialState.Skip {
  fileprivate init?(json: JSONValue) {
    guard let id = json["id"].flatMap({ HeldManifest(json: $0) }),
      let target = json["target"].flatMap({ HeldManifest(json: $0) }),
      let cause = json["cause"]?.string.flatMap(ReturnCause.init(rawValue:)), let url = json["url"]?.string,
      let isAwaited = json["awaited"]?.bool, let isTold = json["told"]?.bool
    else { return nil }
    self.init(id: id, target: target, cause: cause, url: url, isAwaited: isAwaited, isTold: isTold)
  }
}

extension HeldManifest {
  fileprivate var json: JSONValue { ["digest": .string(digest.hex), "version": .string(version.text)] }

  fileprivate init?(json: JSONValue) {
    guard let version = json["version"]?.string.flatMap({ ManifestVersion(text: $0) }),
      let digest = json["digest"]?.string.flatMap({ SHA256(hex: $0) })
    else { return nil }
    self.init(version, digest)
  }
}
