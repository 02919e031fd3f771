import Manifests
import System
import Trust

extension Device {
  /// Installs a manifest and its files from a zip: the origin's `bundle/553.zip`; or, if the device holds version 552,
  /// `bundle/552-553.zip`; or `bundle/552-553.delta.zip`, if it holds all files of that version. A zip that doesn't lead to
  /// a newer version is ignored. Of a manifest above the disk limit, only what fits is unpacked.
  ///
  /// - Parameters:
  ///   - path: the path of the zip.
  ///   - progress: called with the progress of unpacking, from several threads.
  /// - Throws: `DeviceError`, `preset` for a zip that can't be used; the device then holds what it held before.
  public func install(
    preset path: String, progress: (@Sendable (Progress) -> Void)? = nil
  ) throws(DeviceError) -> PresetReport {
    try job { () throws(DeviceError) in try runInstall(path, progress) }
  }

  /// The job of an installation.
  /// - Parameters:
  ///   - isReturn: whether the preset is older than what is held, and the device goes back to it; else only a newer one is taken.
  ///   - willSwitch: called before the switch.
  func runInstall(
    _ path: String, _ progress: (@Sendable (Progress) -> Void)? = nil,
    isReturn: Bool = false, willSwitch: (DeviceIndex) throws(DeviceError) -> Void = { _ in }
  ) throws(DeviceError) -> PresetReport {
    let preset = try Preset(path, manifestLimit: settings.manifestLimit)
    let held = try repair()
    let (version, index) = try preset.index(over: held, isOlder: isReturn)
    guard let next = index,
      isReturn ? mayGoBack(to: next, from: held) : !isSkipped(next, holding: held)
    else {
      return PresetReport(isTaken: false, version: version.text, from: held.version.text)
    }
    let ruling = try checkPreset(preset, next)
    var plan = try plan(from: held, to: next)
    let copied = try stageCopies(&plan)
    plan.takeLazy(where: preset.hasFile(of:))
    try makeRoom(for: &plan, of: next)
    try unpack(plan.fetch, from: preset, try deltaTable(preset.offers, from: held), progress)
    try storeStatements(of: next, ruling, from: path)
    try willSwitch(next)
    try commit(next, skipping: Backlog(plan.later, preset.offers))
    var report = PresetReport(isTaken: true, version: version.text, from: held.version.text)
    report.files = plan.fetch.count
    report.bytes = plan.fetch.clampedSum(\.size)
    report.held = copied + plan.shared + plan.kept
    return report
  }

  /// Checks the manifest of a preset like that of an answer (T-13). The way to newer roots, and to a newer head, is the network's.
  private func checkPreset(_ preset: Preset, _ next: DeviceIndex) throws(DeviceError) -> TrustRuling? {
    guard let trust else { return nil }
    let statements = try preset.statements()
    let offer = TrustOffer(
      rootNumber: preset.root.flatMap { RootNumber($0) }, head: statements.head,
      releases: statements.releases,
      manifest: TrustOffer.Manifest(version: next.version, digest: next.digest, items: next.manifest.items))
    let verdict = try check(offer, by: trust)
    if let failure = verdict.failure {
      report(failure, of: next.version)
      switch failure {
      case .rootMissing, .headKey, .releaseKey, .releaseScope:
        throw preset.refused(
          "it isn't signed by keys of root \(verdict.state.root.number), which this device has (\(failure.rawValue)); an app with a "
            + "preset is built with the newest root, root-N.json, and with a zip that was fetched after that root was pushed"
        )
      default: break
      }
      throw preset.refused("it isn't what the app's publisher signed (\(failure.rawValue))")
    }
    guard !verdict.isCandidate else {
      throw preset.refused("it is the candidate of a rollout, of which only a poll decides")
    }
    return TrustRuling(
      releases: verdict.releases ?? [:], statements: statements.releases, state: verdict.state)
  }

  private func unpack(
    _ entries: [HeldEntry], from preset: Preset, _ deltas: DeltaTable,
    _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) {
    let total = entries.clampedSum(\.size)
    let state = Locked(Progress(filesTotal: entries.count, bytesTotal: total))
    let folder = folder
    try Parallel.forEach(entries.count, threads: settings.connections) { index throws(DeviceError) in
      let entry = entries[index]
      try preset.extract(entry, to: folder.staged(entry.sha256), in: folder, deltas)
      let now = state.withLock { now in
        now.files += 1
        now.bytes = now.bytes.addingClamped(entry.size)
        return now
      }
      progress?(now)
    }
  }
}
