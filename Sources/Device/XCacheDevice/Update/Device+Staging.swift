import Manifests
import System

/// What an update and a preset have in common: the plan, the files that the device holds already, the bases, and the room.
extension Device {
  /// Returns how the files of `next` get staged.
  func plan(from held: DeviceIndex, to next: DeviceIndex) throws(DeviceError) -> UpdatePlan {
    let present = cache.withLock { $0.present }
    return UpdatePlan(
      from: held, to: next, present: present, aside: Set(try folder.digests(in: folder.aside)),
      staged: Set(try folder.digests(in: folder.staging)))
  }

  /// Stages the files that the device already holds, and returns their number; damaged ones are added to those to
  /// fetch.
  /// - Parameters:
  ///   - plan: the plan, whose `fetch` grows by the damaged files.
  ///   - verified: staged files that this update has made and hashed.
  func stageCopies(_ plan: inout UpdatePlan, verified: Set<SHA256> = []) throws(DeviceError) -> Int {
    var copied = 0
    for copy in plan.copy {
      let isVerified = copy.source == .staged && verified.contains(copy.entry.sha256)
      let isStaged = isVerified ? true : try stageCopy(copy)
      if isStaged { copied += 1 } else { plan.fetch.append(copy.entry) }
    }
    return copied
  }

  private func stageCopy(_ copy: UpdatePlan.Copy) throws(DeviceError) -> Bool {
    let target = folder.staged(copy.entry.sha256)
    switch copy.source {
    case .staged: return folder.digest(target) == copy.entry.bytes
    case .file(let name): return try copyFile(folder.file(name), of: copy.entry, to: target)
    case .aside: return try copyFile(folder.aside(copy.entry.sha256), of: copy.entry, to: target)
    }
  }

  /// Copies a file that should have the entry's bytes; false if it doesn't, or is gone.
  func copyFile(
    _ source: String, of entry: HeldEntry, to target: String
  ) throws(DeviceError) -> Bool {
    guard folder.status(source) != nil else { return false }
    let part = folder.incoming()
    do {
      guard try folder.copy(source, to: part) == entry.bytes else {
        try folder.remove(part)
        return false
      }
      try folder.move(part, to: target)
      return true
    } catch {
      try folder.remove(part)
      // It is fetched instead.
      if error.isUnreadableFile { return false }
      throw error
    }
  }

  /// Returns the offered deltas with every file that can be their base: those of the held manifest, and set-aside
  /// files.
  func deltaTable(_ offers: [DeltaOffer], from held: DeviceIndex) throws(DeviceError) -> DeltaTable {
    guard !offers.isEmpty else { return DeltaTable([], bases: [:]) }
    return DeltaTable(offers, bases: try bases(holding: held))
  }

  /// Returns the path of every file that can be a base.
  func bases(holding held: DeviceIndex) throws(DeviceError) -> [SHA256: String] {
    var bases: [SHA256: String] = [:]
    for sha256 in try folder.digests(in: folder.aside) { bases[sha256] = folder.aside(sha256) }
    let present = cache.withLock { $0.present }
    for entry in held.entries where present.contains(entry.name) {
      bases[entry.sha256] = folder.file(entry.name)
    }
    return bases
  }

  /// Removes from a plan what exceeds the disk limit, and drops what updates to other versions left unfinished, then set-aside
  /// files, to make room for the rest.
  func makeRoom(for plan: inout UpdatePlan, of next: DeviceIndex) throws(DeviceError) {
    guard let limit = settings.diskLimit else { return }
    plan.leaveOut(beyond: cache.withLock { $0.room(for: next) })
    let bytes = plan.fetch.clampedSum(\.blocks).addingClamped(plan.copy.clampedSum(\.entry.blocks))
    try cache.withLock { cache throws(DeviceError) in
      let room = limit - cache.bytes.addingClamped(bytes)
      let wanted = Set(next.entries.map(\.sha256)).union(cache.backlog.files.keys)
      try folder.dropUnfinished(except: wanted, downTo: max(0, room - cache.asideBytes))
      if cache.asideBytes > room { try cache.dropAside(downTo: room) }
    }
  }

  /// Whether this many bytes may be fetched now.
  func allows(_ bytes: Int64) -> Bool {
    gate.conditions.allowsLargeUpdates || bytes <= settings.meteredLimit
  }
}
