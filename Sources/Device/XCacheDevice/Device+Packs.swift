import Manifests
import System

/// What a pack has brought, before the switch.
struct StagedPack {
  /// Nil if the pack couldn't be used.
  var index: DeviceIndex?
  /// The files that were made from the pack: staged, and verified.
  let made: Set<SHA256>
  /// How many of these were deltas over a file that the device holds.
  let deltas: Int
  var report: PackReport
}

extension Device {
  /// Fetches a pack and stages its files; files that were made stay, however it ends.
  /// - Throws: `file`, if the disk fails.
  func stagePack(
    _ answer: PackAnswer, over held: DeviceIndex, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(DeviceError) -> StagedPack {
    let limits = (changes: settings.manifestLimit, files: settings.diskLimit ?? .max)
    let installer = PackInstaller(answer, over: held, try packSources(held), in: folder, limits: limits)
    var download = PackDownload(
      answer.pack, by: transport(for: .files), pauses: settings.retryPauses, progress: progress)
    download.shouldContinue = { self.allows(answer.pack.size) }
    download.pause = { self.gate.pause($0) }
    var report = PackReport()
    if let saved = folder.savedPack(answer.pack, limit: settings.manifestLimit) {
      if installer.resume(saved) { report.resumed = 1 }
    }
    // A partly written file is useless.
    defer { installer.rewind() }
    var index: DeviceIndex?
    do throws(PackFailure) {
      try fetchPack(&download, into: installer)
      index = try installer.index()
    } catch {
      if case .device(let error) = error { throw error }
      if case .unusable(let reason) = error { report.failure = reason }
      // The whole pack arrived and was wrong, so there is nothing to resume.
      if installer.isAtEnd { try folder.forgetPack() }
    }
    report.bytes = download.received
    report.files = installer.counts.files
    report.ready = installer.counts.ready
    report.resumed += download.resumed
    return StagedPack(
      index: index, made: installer.made, deltas: installer.counts.deltas, report: report)
  }

  /// Fetches a pack into its installer. If the disk is full, drops the set-aside files and continues; if that isn't enough, the
  /// patch will tell how much is needed.
  private func fetchPack(
    _ download: inout PackDownload, into installer: PackInstaller
  ) throws(PackFailure) {
    do {
      return try download.run(into: installer)
    } catch {
      guard case .device(let fault) = error, fault.isDiskFull else { throw error }
    }
    do throws(DeviceError) {
      try cache.withLock { cache throws(DeviceError) in try cache.dropAside() }
    } catch {
      throw .device(error)
    }
    installer.rewind()
    do {
      try download.run(into: installer)
    } catch {
      if case .device(let fault) = error, fault.isDiskFull { throw .unusable("the disk is full") }
      throw error
    }
  }

  private func packSources(_ held: DeviceIndex) throws(DeviceError) -> PackSources {
    var ready: [SHA256: String] = [:]
    for sha256 in try folder.digests(in: folder.aside) { ready[sha256] = folder.aside(sha256) }
    for sha256 in try folder.digests(in: folder.staging) { ready[sha256] = folder.staged(sha256) }
    return PackSources(bases: try bases(holding: held), ready: ready)
  }
}
