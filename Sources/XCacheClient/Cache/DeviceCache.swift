import Manifests
import System

/// What a device holds on its disk, and the one step in which that becomes another manifest's.
///
/// The rename of `index.json` is the switch. Whatever a crash leaves undone after it follows from the index and
/// the folders, and is done again by `settle`.
struct DeviceCache: ~Copyable {
  let folder: CacheFolder
  let owner: DeviceIndex.Owner
  /// Whether an `index.json` was there that couldn't be read; its files were set aside.
  let wasDamaged: Bool
  private(set) var index: DeviceIndex
  /// Names under which there is a file.
  private(set) var present: Set<CachedName> = []
  /// Names whose bytes were checked since the start.
  private var proven: Set<CachedName> = []
  /// False from the switch until the files are in line with it.
  private var isSettled = true
  private let lock: FileLock

  private init(
    _ folder: CacheFolder, _ owner: DeviceIndex.Owner, _ hosts: HostList, _ index: DeviceIndex?,
    wasDamaged: Bool, lock: consuming FileLock
  ) {
    self.folder = folder
    self.owner = owner
    self.index = index ?? .none(hosts)
    self.wasDamaged = wasDamaged
    self.lock = lock
  }

  /// Opens a device's folder, makes it where it is missing, and finishes what a crash left undone.
  ///
  /// - Throws: `inUse`, `otherContents`, `file`.
  static func open(
    _ folder: CacheFolder, for owner: DeviceIndex.Owner, hosts: HostList, at now: Int64
  ) throws(ClientError) -> DeviceCache {
    if try folder.isForeign() {
      throw .otherContents(folder: folder.root, holds: "other files", asked: owner.words)
    }
    try folder.make()
    let taken = try onDisk(folder.lock) { () throws(SystemError) in try FileLock.take(folder.lock) }
    guard let lock = taken else {
      throw .inUse(folder: folder.root, process: FileLock.holder(folder.lock))
    }
    let bytes = try onDisk(folder.index) { () throws(SystemError) in
      try DurableFile.read(folder.index, limit: 1 << 30)
    }
    let held = bytes.flatMap { DeviceIndex.parse($0, hosts: hosts) }
    if let held, held.owner != owner {
      throw .otherContents(folder: folder.root, holds: held.owner.words, asked: owner.words)
    }
    var cache = DeviceCache(
      folder, owner, hosts, held?.index, wasDamaged: bytes != nil && held == nil, lock: lock)
    try folder.removeUnfinished()
    cache.isSettled = false
    try cache.mend(at: now)
    try cache.sweep(at: now)
    return cache
  }
}

// MARK: - The switch

extension DeviceCache {
  /// Switches to `next`, for which everything that changed is staged.
  mutating func commit(_ next: DeviceIndex, at now: Int64) throws(ClientError) {
    try folder.syncStaged()
    try folder.write(next.rendered(for: owner), to: folder.index)
    let before = index
    index = next
    isSettled = false
    proven = proven.filter { before.names[$0] == next.names[$0] }
    try settle(after: before, at: now)
    isSettled = true
    for sha256 in try folder.digests(in: folder.staging) { try folder.remove(folder.staged(sha256)) }
    try folder.forgetPack()
    try sweep(at: now)
  }

  /// Finishes a switch that a crash, or an error of the disk, cut short.
  mutating func mend(at now: Int64) throws(ClientError) {
    if isSettled { return }
    present = Set(try folder.names(in: folder.files).lazy.compactMap { CachedName(file: $0) })
    try settle(after: nil, at: now)
    isSettled = true
  }

  /// Brings `files` in line with the index: what isn't listed is set aside, what is staged takes its place.
  ///
  /// `before` is the manifest that the files were right for; nil where that isn't known, and they are read.
  private mutating func settle(after before: DeviceIndex?, at now: Int64) throws(ClientError) {
    for name in present where index.names[name] == nil {
      try evict(name, known: before?.names[name], at: now)
    }
    let staged = Set(try folder.digests(in: folder.staging))
    if staged.isEmpty { return }
    var targets: [SHA256: Set<CachedName>] = [:]
    for (name, sha256) in index.names where staged.contains(sha256) {
      targets[sha256, default: []].insert(name)
    }
    for (sha256, names) in targets {
      try arrive(sha256, at: names.sorted { $0.text < $1.text }, after: before, now)
    }
  }

  /// Puts staged bytes under each of their names; the staged file goes last, since it says what is left to do.
  private mutating func arrive(
    _ sha256: SHA256, at names: [CachedName], after before: DeviceIndex?, _ now: Int64
  ) throws(ClientError) {
    for (i, name) in names.enumerated() {
      let isLast = i == names.count - 1
      if try holds(name, sha256, known: before?.names[name]) {
        if isLast { try folder.remove(folder.staged(sha256)) }
      } else {
        try evict(name, known: before?.names[name], at: now)
        let source = isLast ? folder.staged(sha256) : folder.incoming()
        if !isLast { _ = try folder.copy(folder.staged(sha256), to: source) }
        try folder.move(source, to: folder.file(name))
      }
      present.insert(name)
    }
  }

  private func holds(_ name: CachedName, _ sha256: SHA256, known: SHA256?) throws(ClientError) -> Bool {
    if let known { return known == sha256 && folder.status(folder.file(name)) != nil }
    return folder.digest(folder.file(name))?.sha256 == sha256
  }

  /// Sets the file of a name aside, where there is one; `known` says which bytes it has.
  private mutating func evict(_ name: CachedName, known: SHA256?, at now: Int64) throws(ClientError) {
    let path = folder.file(name)
    present.remove(name)
    guard folder.status(path) != nil else { return }
    guard let sha256 = known ?? folder.digest(path)?.sha256 else { return try folder.remove(path) }
    try folder.setAside(path, as: sha256, at: now)
  }
}

// MARK: - One file

extension DeviceCache {
  /// Whether there is a file for this entry, right or not.
  func has(_ entry: HeldEntry) -> Bool { present.contains(entry.name) }

  func isProven(_ entry: HeldEntry) -> Bool { proven.contains(entry.name) }

  /// Whether `entry` still says which bytes belong under its name.
  func lists(_ entry: HeldEntry) -> Bool { index.names[entry.name] == entry.sha256 }

  /// Takes note that the file of an entry was read and is right.
  mutating func prove(_ entry: HeldEntry) {
    if lists(entry), has(entry) { proven.insert(entry.name) }
  }

  /// Removes an entry's file, whose bytes turned out to be wrong.
  mutating func discard(_ entry: HeldEntry) throws(ClientError) {
    guard lists(entry) else { return }
    try folder.remove(folder.file(entry.name))
    present.remove(entry.name)
    proven.remove(entry.name)
  }

  /// Puts the checked bytes at `path` where they belong; the manifest may have moved on, then they are dropped.
  mutating func place(_ path: String, for entry: HeldEntry) throws(ClientError) {
    guard lists(entry) else { return try folder.remove(path) }
    try folder.move(path, to: folder.file(entry.name))
    present.insert(entry.name)
    proven.insert(entry.name)
  }
}

extension DeviceIndex.Owner {
  fileprivate var words: String { "channel \(channel) of app \(app)" }
}

/// Bytes that a switch set aside: kept as bases and for rollbacks, never served.
extension DeviceCache {
  /// Milliseconds after a switch at which what it set aside goes at the latest.
  static let asideAge: Int64 = 24 * 3600 * 1000

  /// Removes what was set aside too long ago or is listed again, and unfinished updates as old as that.
  func sweep(at now: Int64) throws(ClientError) {
    var live: Set<SHA256> = []
    for entry in index.entries where has(entry) { live.insert(entry.sha256) }
    for file in try asideFiles() where live.contains(file.sha256) || Self.isOld(file.modified, at: now) {
      try folder.remove(folder.aside(file.sha256))
    }
    for sha256 in try folder.digests(in: folder.staging) {
      guard let status = folder.status(folder.staged(sha256)), Self.isOld(status.modified, at: now) else {
        continue
      }
      try folder.remove(folder.staged(sha256))
    }
    if folder.packChanged().map({ Self.isOld($0, at: now) }) ?? false { try folder.forgetPack() }
  }

  /// Removes set-aside files, oldest first, until `bytes` more fit below `limit` or none is left.
  func makeRoom(for bytes: Int64, limit: Int64) throws(ClientError) {
    var files = try asideFiles().sorted { $0.modified < $1.modified }[...]
    var used = bytes.addingClamped(listedBytes()).addingClamped(files.clampedSum(\.size))
    while used > limit, let oldest = files.popFirst() {
      try folder.remove(folder.aside(oldest.sha256))
      used -= oldest.size
    }
  }

  private func listedBytes() -> Int64 {
    index.entries.clampedSum { has($0) ? $0.size : 0 }
  }

  private func asideFiles() throws(ClientError) -> [(sha256: SHA256, size: Int64, modified: Int64)] {
    try folder.digests(in: folder.aside).compactMap { sha256 in
      folder.status(folder.aside(sha256)).map { (sha256, $0.size, $0.modified) }
    }
  }

  /// Also true for a time in the future: after the clock was set back, nothing must stay for ever.
  private static func isOld(_ modified: Int64, at now: Int64) -> Bool {
    now - modified >= asideAge || modified - now > asideAge
  }
}
