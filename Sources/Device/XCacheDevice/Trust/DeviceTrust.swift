import Manifests
import System
import Trust

/// The trust of a device whose app was built with a root: the check of what the device is given, and what is stored of it
/// (docs/protocol.md §14).
///
/// Whatever a check comes to is written before anybody can see it.
final class DeviceTrust: Sendable {
  /// Writes the notes to the disk.
  typealias Store = ([UInt8]) throws(DeviceError) -> Void

  /// The milliseconds between two requests for a head because of its age, and between two reports of a stale one: a day.
  static let dailyWait: Int64 = 86_400_000

  private let place: TrustPlace
  private let notes: Locked<TrustNotes>
  /// What the disk has; nil if that isn't known. The lock is held from a check until what it came to is written.
  private let saved: Locked<TrustNotes?>

  /// - Parameters:
  ///   - root: the root that the app was built with.
  ///   - channel: the device's channel.
  ///   - stored: what an earlier process stored. If it can't be read, the device begins anew with the root of the app.
  ///   - held: the manifest in force.
  init(
    _ root: Signed<TrustRoot>, channel: ChannelName, stored: [UInt8]?, holding held: HeldManifest
  ) {
    place = TrustPlace(app: root.document.app, environment: root.document.environment, channel: channel)
    let known = stored.flatMap { TrustNotes(stored: $0) }
    var notes = known ?? TrustNotes(builtIn: root)
    notes.start(builtIn: root)
    notes.hold(held)
    self.notes = Locked(notes)
    saved = Locked(known)
  }

  /// The root in force.
  var root: TrustRoot { notes.withLock { $0.state.root } }

  /// Whether the manifest in force passed the check, so that an answer may build on it; also if there is nothing to check.
  func isChecked(_ held: HeldManifest) -> Bool {
    if held.version == .none { return true }
    return notes.withLock { notes in
      notes.hold(held)
      return notes.isHeldChecked || notes.state.root.isOff
    }
  }

  /// Whether a manifest is none of those that the stored head names.
  func needsHead(for manifest: TrustOffer.Manifest) -> Bool {
    notes.withLock { notes in
      guard !notes.state.root.isOff else { return false }
      guard let head = notes.state.head?.head else { return true }
      let isFull = (head.version, head.digest) == (manifest.version, manifest.digest)
      let isCandidate = head.candidate.map {
        ($0.rule.version, $0.digest) == (manifest.version, manifest.digest)
      }
      return !isFull && isCandidate != true
    }
  }

  /// Checks an offer, and stores what comes of it.
  /// - Throws: what `store` throws; then nothing came of it.
  func check(
    _ offer: TrustOffer, holding held: HeldManifest, at now: TrustTime, _ store: Store
  ) throws(DeviceError) -> TrustVerdict {
    try change(holding: held, store) { notes throws(DeviceError) in
      let verdict = check(offer, notes.state, at: now)
      notes.take(verdict.state)
      return verdict
    }
  }

  /// Checks an offer of which more has to be known before anything is stored.
  func preview(_ offer: TrustOffer, holding held: HeldManifest, at now: TrustTime) -> TrustVerdict {
    let state = notes.withLock { notes in
      notes.hold(held)
      return notes.state
    }
    return check(offer, state, at: now)
  }

  private func check(_ offer: TrustOffer, _ state: TrustState, at now: TrustTime) -> TrustVerdict {
    TrustCheck(place: place, verifier: SystemVerifier()).check(offer, state: state, now: now)
  }

  /// Stores the statements of a manifest to which the device is about to switch. What became of root and floors since it was
  /// checked counts, too: a page may have proved the version before.
  /// - Returns: why it may not switch any more; nil if it may.
  func prepare(
    _ next: TrustOffer.Manifest, _ ruling: TrustRuling, holding held: HeldManifest,
    keeping previous: HeldManifest? = nil, at now: TrustTime, _ store: Store
  ) throws(DeviceError) -> TrustFailure? {
    try change(holding: held, store) { notes throws(DeviceError) in
      var releases = ruling.releases
      if notes.state != ruling.state {
        let verdict = check(
          TrustOffer(releases: ruling.statements, manifest: next), notes.state, at: now)
        guard let checked = verdict.releases else { return verdict.failure }
        releases = checked
      }
      notes.prepare(HeldManifest(next.version, next.digest), releases, keeping: previous)
      return nil
    }
  }

  /// Notes that a version has proved itself, unless the manifest in force is another one by now, or did so before. It only makes the
  /// device take less, and so counts before it is saved.
  /// - Returns: whether that is new.
  func recordProof(of version: ManifestVersion, holding held: HeldManifest) -> Bool {
    notes.withLock { notes in
      notes.hold(held)
      guard notes.awaitsProof(of: version) else { return false }
      notes.recordProof(in: place.channel)
      return true
    }
  }

  /// Saves what was noted.
  func save(holding held: HeldManifest, _ store: Store) throws(DeviceError) {
    try change(holding: held, store) { _ throws(DeviceError) in }
  }

  /// Whether a device that goes back by itself may go to a manifest.
  func allowsReturn(to manifest: HeldManifest) -> Bool { notes.withLock { $0.allowsReturn(to: manifest) } }

  /// Has everything written again by the next check: the folder was deleted.
  func forgetSaved() { saved.withLock { $0 = nil } }

  private func change<Value: Sendable>(
    holding held: HeldManifest, _ store: Store, _ body: (inout TrustNotes) throws(DeviceError) -> Value
  ) throws(DeviceError) -> Value {
    try saved.withLock { saved throws(DeviceError) in
      // A page may prove the version in force meanwhile.
      while true {
        let now = notes.withLock { notes in
          notes.hold(held)
          return notes
        }
        var next = now
        let value = try body(&next)
        if saved != next {
          try store(next.stored)
          saved = next
        }
        let isDone = notes.withLock { [next] notes in
          guard notes == now else { return false }
          notes = next
          return true
        }
        if isDone { return value }
      }
    }
  }
}

// MARK: - The head's age

extension DeviceTrust {
  /// Whether the head is to be requested for its age alone, which then counts as done.
  /// - Parameters:
  ///   - time: the time by rule D-101.
  ///   - now: the device's own.
  func takeHeadRequest(
    holding held: HeldManifest, at time: TrustTime, now: Int64, _ store: Store
  ) throws(DeviceError) -> Bool {
    let isOld = notes.withLock { notes in
      guard !notes.state.root.isOff, let head = notes.state.head?.head else { return false }
      return head.at.milliseconds < time.milliseconds - Self.dailyWait
        && Self.isDaySince(notes.headRequest, now)
    }
    guard isOld else { return false }
    try change(holding: held, store) { notes throws(DeviceError) in notes.headRequest = now }
    return true
  }

  /// Whether a stale head is to be reported, which then counts as done.
  func takeStaleReport(
    holding held: HeldManifest, at time: TrustTime, now: Int64, _ store: Store
  ) throws(DeviceError) -> Bool {
    let isStale = notes.withLock { notes in
      guard !notes.state.root.isOff, let head = notes.state.head?.head else { return false }
      return head.until < time && Self.isDaySince(notes.staleReport, now)
    }
    guard isStale else { return false }
    try change(holding: held, store) { notes throws(DeviceError) in notes.staleReport = now }
    return true
  }

  /// A time that lies ahead was written by a clock that was set back since.
  private static func isDaySince(_ last: Int64?, _ now: Int64) -> Bool {
    last.map { now - $0 >= dailyWait || $0 > now } ?? true
  }
}

/// What a check made of a manifest that may be taken.
struct TrustRuling: Sendable {
  /// The statement of each of its bundles.
  let releases: [BundleName: TrustState.Release]
  /// The statements that came with it, for another check.
  let statements: [Received<ReleaseStatement>]
  /// The trust state after the check.
  let state: TrustState
}
