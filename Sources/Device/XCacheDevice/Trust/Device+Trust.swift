import Manifests
import System
import Trust
import Values

extension Device {
  /// Tells the device that a page came up which it had answered from a version: the version has proved itself, and no older
  /// release that its publisher excluded is taken any more. `Runtime` does that by itself; without one, call it for the first
  /// page of each version. It does nothing in an app without a root.
  public func pageCameUp(from version: String) { if recordProof(of: version) { saveProof() } }

  /// Notes that a page of a version came up, without touching the disk.
  /// - Returns: whether that has to be saved.
  package func recordProof(of version: String) -> Bool {
    guard let trust, let number = ManifestVersion(text: version) else { return false }
    return trust.recordProof(of: number, holding: HeldManifest(index))
  }

  /// Saves what `recordProof(of:)` noted. If that fails, the next check does.
  package func saveProof() { try? trust?.save(holding: HeldManifest(index), storeTrust) }

  /// The Ed25519 key that verifies the policy's scripts: the root's, where it has one, in place of the app's.
  var scriptKey: [UInt8]? { trust?.root.scriptKey ?? settings.scriptKey }

  /// The manifest that polls name: none, if the held one never passed the check. The answer is a whole manifest then, which
  /// comes with every statement.
  func known(of held: DeviceIndex) -> DeviceIndex {
    trust?.isChecked(HeldManifest(held)) ?? true ? held : .none(settings.hosts)
  }

  /// Checks an offer, and stores what comes of it, before it is used.
  func check(_ offer: TrustOffer, by trust: DeviceTrust) throws(DeviceError) -> TrustVerdict {
    try trust.check(offer, holding: HeldManifest(index), at: trustTime, storeTrust)
  }

  /// The time by which a head is stale.
  var trustTime: TrustTime { TrustTime(policyTime) ?? .beginning }

  /// Writes what the trust in this device's publisher rests on.
  var storeTrust: DeviceTrust.Store {
    { [self] bytes throws(DeviceError) in
      try cache.withLock { cache throws(DeviceError) in try cache.checkOurs() }
      try writeDocument(bytes, to: folder.trust, duringJob: true)
    }
  }

  /// Reports a failed check, once for each version.
  func report(_ failure: TrustFailure, of version: ManifestVersion) {
    reporter.report(
      FailureReport(version: version.text, url: "", reason: .init(failure.step), occasion: "trust"))
  }

  /// What is wrong with something that `url` offered.
  func untrusted(_ url: String, _ version: ManifestVersion, _ failure: TrustFailure) -> DeviceError {
    .untrusted(url: url, version: version.text, check: failure.rawValue)
  }
}

// MARK: - The switch

extension Device {
  /// Stores the statements under which the device is about to hold a manifest, before the switch to it.
  /// - Throws: `untrusted`, if it may not be taken any more.
  func storeStatements(
    of next: DeviceIndex, _ ruling: TrustRuling?, from url: String
  ) throws(DeviceError) {
    guard let trust else { return }
    guard let ruling else { throw untrusted(url, next.version, .headMissing) }
    let failure = try trust.prepare(
      TrustOffer.Manifest(version: next.version, digest: next.digest, items: next.manifest.items), ruling,
      holding: HeldManifest(index), keeping: cache.withLock { $0.previous?.id }, at: trustTime, storeTrust)
    guard let failure else { return }
    report(failure, of: next.version)
    throw untrusted(url, next.version, failure)
  }
}

// MARK: - After a poll

extension Device {
  /// Reports what failed in a poll, and looks after the age of the head.
  func finishTrust(
    _ offer: Poller.Offer, _ followed: Locked<FollowedDocuments>, from source: PollPolicy.Source,
    holding held: DeviceIndex, isJob: Bool
  ) {
    guard let trust else { return }
    let (rootFailure, hasRoots) = followed.withLock { ($0.rootFailure, $0.mayFollowRoots) }
    if case .check(let failure)? = offer.refusal {
      report(failure, of: offer.version)
    } else if let rootFailure {
      report(rootFailure, of: held.version)
    } else if isJob, hasRoots, offer.kind == .same {
      refreshHead(trust, from: source, holding: held)
    }
    let isStale =
      (try? trust.takeStaleReport(holding: HeldManifest(index), at: trustTime, now: now(), storeTrust))
      ?? false
    guard isStale else { return }
    reporter.report(
      FailureReport(version: held.version.text, url: "", reason: .trustStale, occasion: "stale \(now())"))
  }

  /// Requests the newest head, if the one held is more than a day old and none was requested since (T-8).
  private func refreshHead(
    _ trust: DeviceTrust, from source: PollPolicy.Source, holding held: DeviceIndex
  ) {
    let isDue = try? trust.takeHeadRequest(
      holding: HeldManifest(index), at: trustTime, now: now(), storeTrust)
    guard isDue == true, let head = try? fetchHead(from: source),
      let failure = try? check(TrustOffer(head: head), by: trust).failure
    else { return }
    report(failure, of: held.version)
  }
}

extension TrustTime {
  fileprivate static var beginning: TrustTime {
    guard let time = TrustTime(0) else { preconditionFailure("zero is a time") }
    return time
  }
}

extension CacheFolder {
  var trust: String { "\(root)/trust.json" }
}
