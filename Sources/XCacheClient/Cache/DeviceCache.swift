import Manifests
import System

/// The files that a device has on its disk, and the atomic switch to another manifest.
///
/// The rename of `index.json` is the switch. Whatever a crash leaves undone after it can be derived from the index and the
/// folders, and `mend(at:)` finishes it.
struct DeviceCache: ~Copyable {
  let folder: CacheFolder
  let owner: DeviceIndex.Owner
  private let hosts: HostList
  /// Whether there was an `index.json` that couldn't be read; its files were set aside.
  let wasDamaged: Bool
  /// The bytes that listed and set-aside files may take on the disk; nil for no limit.
  let limit: Int64?
  /// The order in which pages last used the files.
  let uses: UseOrder
  /// The manifest in force, for readers that need nothing else: they don't wait for the disk.
  let current: Locked<DeviceIndex>
  private(set) var index: DeviceIndex {
    didSet {
      let index = index
      current.withLock { $0 = index }
    }
  }
  /// The names under which there is a file, and the bytes that each takes on the disk.
  private(set) var files: [CachedName: Int64] = [:]
  /// The bytes that `files` take together.
  private(set) var bytes: Int64 = 0
  /// The bytes that set-aside files take, as far as is known.
  var asideBytes: Int64 = 0
  /// The files that a switch left for later.
  private(set) var backlog: Backlog
  let counts = Locked(CacheCounts())
  /// When the last sweep was, in milliseconds since 1970.
  var lastSweep: Int64?
  /// The names whose bytes were verified since the start.
  private var proven: [CachedName: FileMark] = [:]
  /// False from the switch until the files match it.
  private var isSettled = true
  /// Nil once the device has been closed.
  private var lock: FileLock?

  private init(
    _ folder: CacheFolder, _ owner: DeviceIndex.Owner, _ hosts: HostList, _ index: DeviceIndex,
    limit: Int64?, wasDamaged: Bool, lock: consuming FileLock
  ) {
    self.folder = folder
    self.owner = owner
    self.hosts = hosts
    self.index = index
    self.limit = limit
    self.wasDamaged = wasDamaged
    self.lock = .some(consume lock)
    current = Locked(index)
    uses = UseOrder(folder, index)
    backlog = Backlog(saved: try? DurableFile.read(folder.backlog, limit: Backlog.limit))
  }

  /// Opens a device's folder, creates it if it is missing, and finishes what a crash left undone.
  ///
  /// - Throws: `inUse`, `otherContents`, `file`.
  static func open(
    _ folder: CacheFolder, for owner: DeviceIndex.Owner, hosts: HostList, limit: Int64? = nil, at now: Int64
  ) throws(ClientError) -> DeviceCache {
    if try folder.isForeign() {
      throw .otherContents(folder: folder.root, holds: "other files", asked: owner.message)
    }
    let lock = try folder.makeAndLock()
    let (bytes, held) = try folder.readIndex(of: owner, hosts: hosts)
    var cache = DeviceCache(
      folder, owner, hosts, held ?? .none(hosts), limit: limit, wasDamaged: bytes != nil && held == nil,
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

  /// Releases the folder, which another device may then open.
  mutating func close() { lock = nil }

  var isOpen: Bool { lock != nil }

  /// - Throws: `closed`.
  func checkOpen() throws(ClientError) {
    if lock == nil { throw .closed(folder: folder.root) }
  }

  /// Whether the folder is open, and still the one that was locked: it may have been deleted, and made again by another process.
  var isOurs: Bool {
    switch lock {
    case .some(let lock): (try? lock.isHeld(at: folder.lock)) ?? false
    case nil: false
    }
  }

  /// - Throws: `closed`, and `file` if the folder was deleted.
  func checkOurs() throws(ClientError) {
    try checkOpen()
    if isOurs { return }
    throw .file(
      path: folder.root, call: "flock", code: Errno.noSuchFileOrDirectory.rawValue,
      reason: "The folder was deleted; the next update makes it again")
  }
}

// MARK: - A folder that was deleted

extension DeviceCache {
  /// Makes the folder again if it, or a part of it, was deleted: systems and people clear caches.
  ///
  /// The manifest stays in force, and the listed files that were held join the backlog, like those that an update skips.
  /// If another process made the folder in the meantime and ended, its manifest is in force.
  /// - Returns: whether anything was deleted.
  /// - Throws: `inUse` while another process holds the folder; `otherContents`, `file`.
  private mutating func restore(at now: Int64) throws(ClientError) -> Bool {
    let isLost = !isOurs
    if !isLost, folder.isWhole(holding: index) { return false }
    if isLost { lock = try folder.makeAndLock() } else { try folder.make() }
    (isSettled, proven) = (false, [:])
    if let held = try folder.readIndex(of: owner, hosts: hosts).held, held.digest != index.digest {
      index = held
      backlog = Backlog(saved: try? DurableFile.read(folder.backlog, limit: Backlog.limit))
    } else if index.version.number > 0 {
      // All of them first; those that are still there are removed from the backlog below.
      try leave(Backlog(index.entries.filter { has($0) }, []), for: index)
      try folder.write(index.rendered(for: owner), to: folder.index)
    }
    try settle(at: now)
    tidyNotes()
    try sweep(at: now)
    return true
  }
}

extension CacheFolder {
  /// Makes the missing parts of the folder, and takes its lock.
  /// - Throws: `inUse`, `file`.
  fileprivate func makeAndLock() throws(ClientError) -> FileLock {
    try make()
    let taken = try onDisk(lock) { () throws(SystemError) in try FileLock.take(lock) }
    guard let taken else { throw .inUse(folder: root, process: FileLock.holder(lock)) }
    return taken
  }

  /// Returns the bytes of `index.json`, and the index in them; nil if there is none or it isn't valid.
  /// - Throws: `otherContents`, `file`.
  fileprivate func readIndex(
    of owner: DeviceIndex.Owner, hosts: HostList
  ) throws(ClientError) -> (bytes: [UInt8]?, held: DeviceIndex?) {
    let bytes = try onDisk(index) { () throws(SystemError) in try DurableFile.read(index, limit: 1 << 30) }
    guard let held = bytes.flatMap({ DeviceIndex.parse($0, hosts: hosts) }) else { return (bytes, nil) }
    guard held.owner == owner else {
      throw .otherContents(folder: root, holds: held.owner.message, asked: owner.message)
    }
    return (bytes, held.index)
  }

  /// Whether everything exists that a device at `held` always has.
  fileprivate func isWhole(holding held: DeviceIndex) -> Bool {
    let areThere = [files, staging, aside].allSatisfy { (try? Kernel.status($0))??.kind == .folder }
    guard areThere else { return false }
    return held.version.number == 0 || mark(index) != nil
  }
}

// MARK: - The switch

extension DeviceCache {
  /// Switches to `next`, whose changed files are all staged, except those in `skipped`.
  mutating func commit(
    _ next: DeviceIndex, skipping skipped: Backlog = Backlog(), at now: Int64
  ) throws(ClientError) {
    try checkOurs()
    // Before the switch: backlog entries that aren't listed are ignored.
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

  /// Finishes a switch that a crash or a disk error interrupted, and makes the folder again if it was deleted.
  /// - Returns: whether it was.
  @discardableResult
  mutating func mend(at now: Int64) throws(ClientError) -> Bool {
    try checkOpen()
    let isNew = try restore(at: now)
    try settle(at: now)
    return isNew
  }

  private mutating func settle(at now: Int64) throws(ClientError) {
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

  /// Makes the files match the index: files that aren't listed are set aside, staged ones move into place.
  ///
  /// `before` is the manifest that the files matched; if it is nil, they are read to find out what they are.
  private mutating func apply(after before: DeviceIndex?, at now: Int64) throws(ClientError) {
    let staged = Set(try folder.digests(in: folder.staging))
    for name in files.keys {
      if let listed = index.names[name] {
        // If other bytes are now listed under its name but aren't staged, the switch skipped them.
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

  /// Puts staged bytes under each of their names; the staged file goes last, since it shows what is left to do.
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

  /// Records a file that now exists; this counts as a use.
  private mutating func keep(_ name: CachedName) {
    drop(name)
    let size = folder.status(folder.file(name))?.allocated ?? 0
    files[name] = size
    bytes = bytes.addingClamped(size)
    uses.use(name)
  }

  /// Records that a file is gone.
  private mutating func drop(_ name: CachedName) {
    if let size = files.removeValue(forKey: name) { bytes -= size }
    proven[name] = nil
  }

  private func holds(_ name: CachedName, _ sha256: SHA256, known: SHA256?) throws(ClientError) -> Bool {
    if let known { return known == sha256 && folder.status(folder.file(name)) != nil }
    return folder.digest(folder.file(name))?.sha256 == sha256
  }

  /// Sets the file of a name aside, if there is one; `known` is its digest, if known.
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
  /// Whether there is a file for this entry, verified or not.
  func has(_ entry: HeldEntry) -> Bool { files[entry.name] != nil }

  /// The names under which there is a file.
  var present: Set<CachedName> { Set(files.keys) }

  /// Whether an entry's file is the one that was verified, and hasn't been written to since.
  func isProven(_ entry: HeldEntry, as mark: FileMark) -> Bool { proven[entry.name] == mark }

  /// Whether the current manifest lists the bytes of `entry` under its name.
  func lists(_ entry: HeldEntry) -> Bool { index.names[entry.name] == entry.sha256 }

  /// Records that an entry's file was verified.
  mutating func prove(_ entry: HeldEntry, as mark: FileMark) {
    if lists(entry), has(entry) { proven[entry.name] = mark }
  }

  /// Removes an entry's file, whose bytes are wrong.
  mutating func discard(_ entry: HeldEntry) throws(ClientError) {
    try checkOurs()
    guard lists(entry) else { return }
    try folder.remove(folder.file(entry.name))
    drop(entry.name)
  }

  /// Moves the verified file at `path` into place; it is removed if the manifest no longer lists it.
  mutating func place(_ path: String, for entry: HeldEntry) throws(ClientError) {
    try checkOurs()
    guard lists(entry) else { return try folder.remove(path) }
    try folder.move(path, to: folder.file(entry.name))
    keep(entry.name)
    proven[entry.name] = folder.mark(folder.file(entry.name))
    backlog.remove(entry.sha256)
    try makeRoom(sparing: entry.name)
  }

  /// Counts a file that a page requested and that was missing or damaged.
  func countMiss() { counts.withLock { $0.misses += 1 } }

  /// Evicts a listed file to make room for others; it is fetched again when a page requests it.
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
  /// Adds what a switch to `next` skips to the backlog, on the disk first.
  private mutating func leave(_ skipped: Backlog, for next: DeviceIndex) throws(ClientError) {
    if skipped.isEmpty { return }
    var all = backlog
    all.add(skipped)
    try folder.write(all.saved, to: folder.backlog)
    backlog = all
  }

  /// Removes a file from the backlog; it won't be fetched before a page requests it.
  mutating func giveUp(onBacklog sha256: SHA256) { backlog.remove(sha256) }

  /// Removes files that are no longer listed, or have arrived, from the use order and the backlog. A failure to save is
  /// harmless.
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

/// Cache misses and evictions since a device was opened.
package struct CacheCounts: Hashable, Sendable {
  /// Listed files that a page requested and that were missing or damaged.
  package var misses = 0
  /// Listed files that were removed to make room for others.
  package var evictions = 0

  package init() {}
}
