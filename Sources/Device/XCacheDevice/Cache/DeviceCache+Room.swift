import Manifests
import System
import Values

/// The retention of set-aside files and unfinished updates, and the disk limit.
extension DeviceCache {
  /// The maximum time in milliseconds for which files are kept after a switch set them aside.
  static let asideAge: Int64 = 24 * 3600 * 1000
  /// As above, for files that are bases of deltas in the backlog.
  static let baseAge = 7 * asideAge
  /// The milliseconds between two sweeps.
  private static let sweepPause: Int64 = 3600 * 1000

  /// A set-aside file.
  struct Aside {
    let sha256: SHA256
    /// The bytes that it takes on the disk.
    let bytes: Int64
    /// When it was set aside, in milliseconds since 1970.
    let since: Int64
  }

  /// Removes files that were set aside too long ago or are listed again, and unfinished updates of the same age.
  mutating func sweep(at now: Int64) throws(DeviceError) {
    try checkOurs()
    lastSweep = now
    var live: Set<SHA256> = []
    for entry in index.entries where has(entry) { live.insert(entry.sha256) }
    let bases = backlog.bases
    asideBytes = 0
    for file in try asideFiles() {
      if isKept(file.sha256), !live.contains(file.sha256) {
        asideBytes = asideBytes.addingClamped(file.bytes)
        continue
      }
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
    let part = folder.status(PartFile(ofFirstPackIn: folder).path)
    if let part, Self.isOld(part.modified, at: now) { try folder.removeFirstPackPart() }
  }

  /// Sweeps if that wasn't done recently, or the clock was set back.
  mutating func sweepIfDue(at now: Int64) throws(DeviceError) {
    if let lastSweep, now >= lastSweep, now - lastSweep < Self.sweepPause { return }
    try sweep(at: now)
  }

  /// Whether a set-aside file may still be served to a page of the manifest that listed it.
  static func serves(asideSince since: Int64, at now: Int64) -> Bool {
    isFresh(since, at: now, for: asideAge)
  }

  /// Removes set-aside files, then listed ones, until the rest takes no more than the limit less `bytes`.
  ///
  /// - Parameters:
  ///   - bytes: the room to make.
  ///   - spared: a file that is kept, whatever its size.
  mutating func makeRoom(for bytes: Int64 = 0, sparing spared: CachedName? = nil) throws(DeviceError) {
    guard let limit, self.bytes.addingClamped(asideBytes).addingClamped(bytes) > limit else { return }
    try dropAside(downTo: limit - self.bytes.addingClamped(bytes))
    guard self.bytes.addingClamped(bytes) > limit else { return }
    // A file above the limit evicts nothing, and stays until the next file arrives: a page may request it range by range.
    if let spared, files[spared] ?? 0 > limit { return }
    for name in leastRecentlyUsed() where name != spared {
      if self.bytes.addingClamped(bytes) <= limit { return }
      try evict(name)
    }
  }

  /// Removes set-aside files, oldest first, until the rest takes at most `room`; bases of deltas in the backlog go later, and the
  /// version before is given up last.
  mutating func dropAside(downTo room: Int64 = 0) throws(DeviceError) {
    let bases = backlog.bases
    let rank = { (sha256: SHA256, kept: Bool) in kept ? 2 : bases.contains(sha256) ? 1 : 0 }
    let files = try asideFiles().map { (file: $0, rank: rank($0.sha256, isKept($0.sha256))) }
      .sorted { ($0.rank, $0.file.since) < ($1.rank, $1.file.since) }.map(\.file)
    asideBytes = files.clampedSum(\.bytes)
    for file in files {
      if asideBytes <= room { return }
      // With one file less it isn't whole any more.
      if isKept(file.sha256) { try dropPrevious() }
      try folder.remove(folder.aside(file.sha256))
      asideBytes -= file.bytes
    }
  }

  /// Removes set-aside files, except those that are held for going back.
  mutating func dropUnkept() throws(DeviceError) {
    for file in try asideFiles() where !isKept(file.sha256) {
      try folder.remove(folder.aside(file.sha256))
      asideBytes -= file.bytes
    }
  }

  /// Returns the bytes that a manifest's new files may take besides its files that stay.
  func room(for next: DeviceIndex) -> Int64 {
    guard let limit else { return .max }
    var staying: Int64 = 0
    for (name, bytes) in files where bytes <= limit {
      if let sha256 = next.names[name], sha256 == index.names[name] { staying = staying.addingClamped(bytes) }
    }
    return limit - staying
  }

  /// Returns the names of the files in eviction order: those larger than the limit, then the least recently used; of files
  /// never used, the largest first.
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

  private func asideFiles() throws(DeviceError) -> [Aside] {
    try folder.digests(in: folder.aside).compactMap { sha256 in
      folder.status(folder.aside(sha256)).map {
        Aside(sha256: sha256, bytes: $0.allocated, since: $0.modified)
      }
    }
  }

  /// Also false for a time in the future: the clock was set back since then, so the file's age isn't known.
  private static func isFresh(_ since: Int64, at now: Int64, for age: Int64) -> Bool {
    now - since < age && since - now < 60_000
  }

  /// Also true for a time far in the future: after the clock was set back, nothing must stay forever.
  private static func isOld(_ modified: Int64, at now: Int64) -> Bool {
    now - modified >= asideAge || modified - now > asideAge
  }
}

extension CacheFolder {
  /// Returns the files that an unfinished update left, except packs.
  func unfinished() throws(DeviceError) -> [String] {
    try names(in: staging).compactMap { name in
      let isUnfinished =
        SHA256(hex: name) != nil || name.hasSuffix(Self.halfEnding) || name.hasSuffix(Self.tagEnding)
      return isUnfinished ? "\(staging)/\(name)" : nil
    }
  }

  /// Removes what unfinished updates left of files other than the `wanted` ones, oldest first, until that takes at most `room`.
  func dropUnfinished(except wanted: Set<SHA256>, downTo room: Int64) throws(DeviceError) {
    var left: [(path: String, bytes: Int64, modified: Int64)] = []
    for path in try unfinished() {
      let name = path.split(separator: "/").last?.prefix(SHA256.byteCount * 2) ?? ""
      if SHA256(hex: name).map(wanted.contains) ?? false { continue }
      if let status = status(path) { left.append((path, status.allocated, status.modified)) }
    }
    var bytes = left.clampedSum(\.bytes)
    for file in left.sorted(by: { $0.modified < $1.modified }) {
      if bytes <= room { return }
      try remove(file.path)
      bytes -= file.bytes
    }
  }

  /// Removes the staged files of a finished update, except partly received files of the backlog.
  func removeStaged(keeping backlog: Backlog) throws(DeviceError) {
    let kept = Set(backlog.files.keys.flatMap { [half($0), halfTag($0)] })
    for path in try unfinished() where !kept.contains(path) { try remove(path) }
  }
}
