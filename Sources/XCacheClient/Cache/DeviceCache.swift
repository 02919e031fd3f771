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
  /// Bytes that listed and set-aside files may take of the disk; nil: as many as it has.
  let limit: Int64?
  /// Which files pages used last.
  let uses: UseOrder
  /// The manifest in force, for those who ask for nothing else: they don't wait for the disk.
  let current: Locked<DeviceIndex>
  private(set) var index: DeviceIndex {
    didSet {
      let index = index
      current.withLock { $0 = index }
    }
  }
  /// Names under which there is a file, and the bytes that each takes of the disk.
  private(set) var files: [CachedName: Int64] = [:]
  /// Bytes that they take together.
  private(set) var bytes: Int64 = 0
  /// Bytes that set-aside files take, as far as is known.
  var asideBytes: Int64 = 0
  /// Files that a switch left for later.
  private(set) var backlog: Backlog
  let counts = Locked(CacheCounts())
  /// When what is too old was removed last.
  var lastSweep: Int64?
  /// Names whose bytes were checked since the start.
  private var proven: [CachedName: FileMark] = [:]
  /// False from the switch until the files are in line with it.
  private var isSettled = true
  /// Nil once the device was closed.
  private var lock: FileLock?

  private init(
    _ folder: CacheFolder, _ owner: DeviceIndex.Owner, _ index: DeviceIndex, limit: Int64?,
    wasDamaged: Bool, lock: consuming FileLock
  ) {
    self.folder = folder
    self.owner = owner
    self.index = index
    self.limit = limit
    self.wasDamaged = wasDamaged
    self.lock = .some(consume lock)
    current = Locked(index)
    uses = UseOrder(folder, index)
    backlog = Backlog(saved: try? DurableFile.read(folder.backlog, limit: Backlog.limit))
  }

  /// Opens a device's folder, makes it where it is missing, and finishes what a crash left undone.
  ///
  /// - Throws: `inUse`, `otherContents`, `file`.
  static func open(
    _ folder: CacheFolder, for owner: DeviceIndex.Owner, hosts: HostList, limit: Int64? = nil, at now: Int64
  ) throws(ClientError) -> DeviceCache {
    if try folder.isForeign() {
      throw .otherContents(folder: folder.root, holds: "other files", asked: owner.message)
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
      throw .otherContents(folder: folder.root, holds: held.owner.message, asked: owner.message)
    }
    var cache = DeviceCache(
      folder, owner, held?.index ?? .none(hosts), limit: limit, wasDamaged: bytes != nil && held == nil,
      lock: lock)
    cache.isSettled = false
    do throws(ClientError) {
      try folder.removeUnfinished()
      try cache.mend(at: now)
      cache.tidyNotes()
      try cache.sweep(at: now)
      try cache.makeRoom()
    } catch  where error.isDiskFull {
      // Pages have what is here, and the next update goes on.
      if cache.files.isEmpty { try cache.readFiles() }
    }
    return cache
  }

  /// Lets go of the folder; another device may open it from now on.
  mutating func close() { lock = nil }

  var isOpen: Bool { lock != nil }

  /// - Throws: `closed`.
  func checkOpen() throws(ClientError) {
    if lock == nil { throw .closed(folder: folder.root) }
  }
}

// MARK: - The switch

extension DeviceCache {
  /// Switches to `next`, for which everything that changed is staged, but for what is `skipped`.
  mutating func commit(
    _ next: DeviceIndex, skipping skipped: Backlog = Backlog(), at now: Int64
  ) throws(ClientError) {
    try checkOpen()
    // Before the switch: what is in it and not listed is passed over.
    try leave(skipped, for: next)
    try folder.syncStaged()
    try folder.write(next.rendered(for: owner), to: folder.index)
    let before = index
    index = next
    isSettled = false
    proven = proven.filter { before.names[$0.key] == next.names[$0.key] }
    try apply(after: before, at: now)
    isSettled = true
    try folder.removeStaged(keeping: backlog)
    try folder.forgetPack()
    tidyNotes()
    try sweep(at: now)
    try makeRoom()
  }

  /// Finishes a switch that a crash, or an error of the disk, cut short.
  mutating func mend(at now: Int64) throws(ClientError) {
    try checkOpen()
    if isSettled { return }
    try readFiles()
    do throws(ClientError) {
      try apply(after: nil, at: now)
    } catch  where error.isDiskFull {
      // What was set aside makes room for what is in force.
      try dropAside()
      try apply(after: nil, at: now)
    }
    isSettled = true
  }

  private mutating func readFiles() throws(ClientError) {
    let names = index.names
    files = [:]
    for (name, size) in try folder.listed() { files[names.shared(name)] = size }
    bytes = files.values.clampedSum(\.self)
  }

  /// Brings `files` in line with the index: what isn't listed is set aside, what is staged takes its place.
  ///
  /// `before` is the manifest that the files were right for; nil where that isn't known, and they are read.
  private mutating func apply(after before: DeviceIndex?, at now: Int64) throws(ClientError) {
    let staged = Set(try folder.digests(in: folder.staging))
    for name in files.keys {
      if let listed = index.names[name] {
        // Where other bytes are listed under its name by now, and aren't here, the switch skipped them.
        guard let before, before.names[name] != listed, !staged.contains(listed) else { continue }
      }
      try evict(name, known: before?.names[name], at: now)
    }
    if staged.isEmpty { return }
    var targets: [SHA256: Set<CachedName>] = [:]
    for entry in index.entries where staged.contains(entry.sha256) {
      targets[entry.sha256, default: []].insert(entry.name)
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
      keep(name)
    }
  }

  /// Takes note of a file that is there now; that counts as its use.
  private mutating func keep(_ name: CachedName) {
    drop(name)
    let size = folder.status(folder.file(name))?.allocated ?? 0
    files[name] = size
    bytes = bytes.addingClamped(size)
    uses.use(name)
  }

  /// Takes note that a file isn't there any more.
  private mutating func drop(_ name: CachedName) {
    if let size = files.removeValue(forKey: name) { bytes -= size }
    proven[name] = nil
  }

  private func holds(_ name: CachedName, _ sha256: SHA256, known: SHA256?) throws(ClientError) -> Bool {
    if let known { return known == sha256 && folder.status(folder.file(name)) != nil }
    return folder.digest(folder.file(name))?.sha256 == sha256
  }

  /// Sets the file of a name aside, where there is one; `known` says which bytes it has.
  private mutating func evict(_ name: CachedName, known: SHA256?, at now: Int64) throws(ClientError) {
    let path = folder.file(name)
    drop(name)
    guard let status = folder.status(path) else { return }
    guard let sha256 = known ?? folder.digest(path)?.sha256 else { return try folder.remove(path) }
    try folder.setAside(path, as: sha256, at: now)
    asideBytes = asideBytes.addingClamped(status.allocated)
  }
}

// MARK: - One file

extension DeviceCache {
  /// Whether there is a file for this entry, right or not.
  func has(_ entry: HeldEntry) -> Bool { files[entry.name] != nil }

  /// Names under which there is a file.
  var present: Set<CachedName> { Set(files.keys) }

  /// Whether the file of an entry is the one that was read and right, and nobody has written to it since.
  func isProven(_ entry: HeldEntry, as mark: FileMark) -> Bool { proven[entry.name] == mark }

  /// Whether `entry` still says which bytes belong under its name.
  func lists(_ entry: HeldEntry) -> Bool { index.names[entry.name] == entry.sha256 }

  /// Takes note that the file of an entry was read and is right.
  mutating func prove(_ entry: HeldEntry, as mark: FileMark) {
    if lists(entry), has(entry) { proven[entry.name] = mark }
  }

  /// Removes an entry's file, whose bytes turned out to be wrong.
  mutating func discard(_ entry: HeldEntry) throws(ClientError) {
    try checkOpen()
    guard lists(entry) else { return }
    try folder.remove(folder.file(entry.name))
    drop(entry.name)
  }

  /// Puts the checked bytes at `path` where they belong; the manifest may have moved on, then they are dropped.
  mutating func place(_ path: String, for entry: HeldEntry) throws(ClientError) {
    try checkOpen()
    guard lists(entry) else { return try folder.remove(path) }
    try folder.move(path, to: folder.file(entry.name))
    keep(entry.name)
    proven[entry.name] = folder.mark(folder.file(entry.name))
    backlog.remove(entry.sha256)
    try makeRoom(sparing: entry.name)
  }

  /// Takes note of a file that a page asked for and that wasn't there, or was damaged.
  func countMiss() { counts.withLock { $0.misses += 1 } }

  /// Removes a listed file, since others need its room; it comes back when a page asks for it.
  mutating func giveUp(_ name: CachedName) throws(ClientError) {
    try folder.remove(folder.file(name))
    drop(name)
    counts.withLock { $0.evictions += 1 }
  }
}

extension DeviceIndex.Owner {
  fileprivate var message: String { "channel \(channel) of app \(app)" }
}

// MARK: - What is left for later

extension DeviceCache {
  /// Adds to the backlog, on the disk first, what a switch to `next` skips.
  private mutating func leave(_ skipped: Backlog, for next: DeviceIndex) throws(ClientError) {
    if skipped.isEmpty { return }
    var all = backlog
    all.add(skipped)
    try folder.write(all.saved, to: folder.backlog)
    backlog = all
  }

  /// Takes note of a file that won't come before a page asks for it.
  mutating func giveUp(onBacklog sha256: SHA256) { backlog.remove(sha256) }

  /// Forgets what notes say of files that are listed no more, or here by now. That they can't be written costs nothing else.
  mutating func tidyNotes() {
    uses.keep(index)
    if backlog.isEmpty, folder.status(folder.backlog) == nil { return }
    var lacking: Set<SHA256> = []
    for entry in index.entries where !has(entry) { lacking.insert(entry.sha256) }
    backlog.keep(lacking.contains)
    if backlog.isEmpty {
      try? folder.remove(folder.backlog)
    } else {
      try? folder.write(backlog.saved, to: folder.backlog)
    }
  }
}

/// What became of a device's files since it was opened.
package struct CacheCounts: Hashable, Sendable {
  /// Listed files that a page asked for and that weren't there, or were damaged.
  package var misses = 0
  /// Listed files that made way for others.
  package var evictions = 0

  package init() {}
}
