import Manifests
import System

/// What a device keeps beyond the manifest, and how long: set-aside files, unfinished updates; and the disk limit.
extension DeviceCache {
  /// Milliseconds after a switch at which what it set aside goes at the latest.
  static let asideAge: Int64 = 24 * 3600 * 1000
  /// As above, of files that something of the backlog may be made over.
  static let baseAge = 7 * asideAge
  /// Milliseconds between two looks for what is too old.
  private static let sweepPause: Int64 = 3600 * 1000

  /// A set-aside file.
  struct Aside {
    let sha256: SHA256
    /// Of the disk.
    let bytes: Int64
    /// When it was set aside, in milliseconds since 1970.
    let since: Int64
  }

  /// Removes what was set aside too long ago or is listed again, and unfinished updates as old as that.
  mutating func sweep(at now: Int64) throws(ClientError) {
    try checkOurs()
    lastSweep = now
    var live: Set<SHA256> = []
    for entry in index.entries where has(entry) { live.insert(entry.sha256) }
    let bases = backlog.bases
    asideBytes = 0
    for file in try asideFiles() {
      let age = bases.contains(file.sha256) ? Self.baseAge : Self.asideAge
      if live.contains(file.sha256) || !Self.isFresh(file.since, at: now, for: age) {
        try folder.remove(folder.aside(file.sha256))
      } else {
        asideBytes = asideBytes.addingClamped(file.bytes)
      }
    }
    for path in try folder.unfinished() {
      if let status = folder.status(path), Self.isOld(status.modified, at: now) { try folder.remove(path) }
    }
    if folder.packChanged().map({ Self.isOld($0, at: now) }) ?? false { try folder.forgetPack() }
  }

  /// As `sweep`, where that wasn't done for a while, or the clock was set.
  mutating func sweepIfDue(at now: Int64) throws(ClientError) {
    if let lastSweep, now >= lastSweep, now - lastSweep < Self.sweepPause { return }
    try sweep(at: now)
  }

  /// Whether a set-aside file may be served to a page of the manifest that listed it.
  static func serves(asideSince since: Int64, at now: Int64) -> Bool {
    isFresh(since, at: now, for: asideAge)
  }

  /// Removes set-aside files, then listed ones, until the others take no more than the limit less `bytes`.
  ///
  /// - Parameter spared: stays, whatever it takes.
  mutating func makeRoom(for bytes: Int64 = 0, sparing spared: CachedName? = nil) throws(ClientError) {
    guard let limit, self.bytes.addingClamped(asideBytes).addingClamped(bytes) > limit else { return }
    try dropAside(downTo: limit - self.bytes.addingClamped(bytes))
    guard self.bytes.addingClamped(bytes) > limit else { return }
    // What doesn't fit by itself pushes nothing out, and stays until the next file comes: a page may ask for it range by range.
    if let spared, files[spared] ?? 0 > limit { return }
    for name in leastRecentlyUsed() where name != spared {
      if self.bytes.addingClamped(bytes) <= limit { return }
      try giveUp(name)
    }
  }

  /// Removes set-aside files, oldest first, until the others take `room` at most; those that something of the backlog may be
  /// made over go last.
  mutating func dropAside(downTo room: Int64 = 0) throws(ClientError) {
    let bases = backlog.bases
    let files = try asideFiles().sorted {
      (bases.contains($0.sha256) ? 1 : 0, $0.since) < (bases.contains($1.sha256) ? 1 : 0, $1.since)
    }
    asideBytes = files.clampedSum(\.bytes)
    for file in files {
      if asideBytes <= room { return }
      try folder.remove(folder.aside(file.sha256))
      asideBytes -= file.bytes
    }
  }

  /// Bytes that a manifest's new files may take beside those of its files that stay.
  func room(for next: DeviceIndex) -> Int64 {
    guard let limit else { return .max }
    var staying: Int64 = 0
    for (name, bytes) in files where bytes <= limit {
      if let sha256 = next.names[name], sha256 == index.names[name] { staying = staying.addingClamped(bytes) }
    }
    return limit - staying
  }

  /// The names of the listed files; those larger than the limit are first, and of those never used, the largest.
  private func leastRecentlyUsed() -> [CachedName] {
    let files = Array(files)
    let moments = uses.moments(of: files.map(\.key))
    let limit = limit ?? .max
    let order = files.indices.sorted { a, b in
      let (isFirst, isSecond) = (files[a].value > limit, files[b].value > limit)
      if isFirst != isSecond { return isFirst }
      return moments[a] == moments[b] ? files[a].value > files[b].value : moments[a] < moments[b]
    }
    return order.map { files[$0].key }
  }

  private func asideFiles() throws(ClientError) -> [Aside] {
    try folder.digests(in: folder.aside).compactMap { sha256 in
      folder.status(folder.aside(sha256)).map {
        Aside(sha256: sha256, bytes: $0.allocated, since: $0.modified)
      }
    }
  }

  /// Also false for a time in the future: the clock was set back since, and how long ago that was isn't known.
  private static func isFresh(_ since: Int64, at now: Int64, for age: Int64) -> Bool {
    now - since < age && since - now < 60_000
  }

  /// Also true for a time far in the future: after the clock was set back, nothing must stay for ever.
  private static func isOld(_ modified: Int64, at now: Int64) -> Bool {
    now - modified >= asideAge || modified - now > asideAge
  }
}

extension CacheFolder {
  /// What an update that wasn't finished has left, packs apart.
  func unfinished() throws(ClientError) -> [String] {
    try names(in: staging).compactMap { name in
      SHA256(hex: name) != nil || name.hasSuffix(Self.halfEnding) ? "\(staging)/\(name)" : nil
    }
  }

  /// Removes what an update has left, once it is done, but for the first bytes of what is still to come.
  func removeStaged(keeping backlog: Backlog) throws(ClientError) {
    let kept = Set(backlog.files.keys.map(half))
    for path in try unfinished() where !kept.contains(path) { try remove(path) }
  }
}
