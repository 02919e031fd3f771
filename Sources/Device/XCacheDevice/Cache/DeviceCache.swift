import System
import Values

/// The files that a device has on its disk, and the atomic switch to another manifest.
///
/// The rename of `index.json` is the switch. Whatever a crash leaves undone after it can be derived from the index and the
/// folders, and `repair(at:)` finishes it.
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
  /// The version before, while it is kept for going back; nil if there is none.
  var previous: PreviousVersion?
  /// The files that a switch left for later.
  private(set) var backlog: Backlog
  let counts = Locked(CacheCounts())
  /// When the last sweep was, in milliseconds since 1970.
  var lastSweep: Int64?
  /// The names whose bytes were verified since the start.
  private var verified: [CachedName: FileMark] = [:]
  /// The moves that a switch has yet to make; nil if there is none under way.
  private var moves: SwitchMoves?
  /// False from the switch until the files match it.
  private var isConsistent = true
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
  ) throws(DeviceError) -> DeviceCache {
    if try folder.isForeign() {
      throw .otherContents(folder: folder.root, holds: "other files", asked: owner.message)
    }
    let lock = try folder.makeAndLock()
    let (bytes, held) = try folder.readIndex(of: owner, hosts: hosts)
    var cache = DeviceCache(
      folder, owner, hosts, held ?? .none(hosts), limit: limit, wasDamaged: bytes != nil && held == nil,
      lock: lock)
    cache.isConsistent = false
    cache.previous = folder.readPrevious(of: owner, hosts: hosts).map {
      PreviousVersion($0, besides: cache.index)
    }
    do throws(DeviceError) {
      try folder.removeUnfinished()
      try cache.repair(at: now)
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
  func checkOpen() throws(DeviceError) {
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
  func checkOurs() throws(DeviceError) {
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
  private mutating func restore(at now: Int64) throws(DeviceError) -> Bool {
    let isLost = !isOurs
    if !isLost, folder.isWhole(holding: index) { return false }
    if isLost { lock = try folder.makeAndLock() } else { try folder.make() }
    (isConsistent, verified, previous) = (false, [:], nil)
    if let held = try folder.readIndex(of: owner, hosts: hosts).held, held.digest != index.digest {
      index = held
      backlog = Backlog(saved: try? DurableFile.read(folder.backlog, limit: Backlog.limit))
    } else if index.version.number > 0 {
      // All of them first; those that are still there are removed from the backlog below.
      try addToBacklog(Backlog(index.entries.filter { has($0) }, []))
      try folder.write(index.rendered(for: owner), to: folder.index)
    }
    try makeConsistent(at: now)
    tidyNotes()
    try sweep(at: now)
    return true
  }
}

// MARK: - The switch

extension DeviceCache {
  /// Notes what a switch to `next` leaves for later: before the switch, as entries of the backlog that aren't listed are
  /// ignored.
  mutating func prepare(skipping skipped: Backlog) throws(DeviceError) {
    try checkOurs()
    try addToBacklog(skipped)
  }

  /// Answers from `next`, which `index.json` has by now, and plans the moves of its files.
  mutating func adopt(_ next: DeviceIndex, staged: Set<SHA256>) {
    let before = index
    index = next
    isConsistent = false
    verified = verified.filter { before.names[$0.key] == next.names[$0.key] }
    moves = SwitchMoves(of: files.keys, from: before, to: next, staged: staged)
  }

  /// Makes some of the planned moves.
  /// - Returns: whether there are more.
  mutating func moveBatch(at now: Int64) throws(DeviceError) -> Bool {
    try checkOurs()
    for _ in 0..<SwitchMoves.batch {
      guard let name = moves?.next else {
        moves = nil
        isConsistent = true
        return false
      }
      try move(name, at: now)
    }
    return true
  }

  /// Makes the planned moves of a name, which a page asks for.
  mutating func move(_ name: CachedName, at now: Int64) throws(DeviceError) {
    guard let before = moves?.before, let step = moves?.take(name, of: index) else { return }
    switch step {
    case .leave: try setAside(name, known: before.names[name], at: now)
    case .arrive(let sha256, let names): try putInPlace(sha256, at: names, after: before, now)
    }
  }

  /// Ends a switch whose files are all in place.
  mutating func finishSwitch(at now: Int64) throws(DeviceError) {
    tidyNotes()
    try sweep(at: now)
    try makeRoom()
  }

  /// Finishes a switch that a crash or a disk error interrupted, and makes the folder again if it was deleted.
  /// - Returns: whether it was.
  @discardableResult
  mutating func repair(at now: Int64) throws(DeviceError) -> Bool {
    try checkOpen()
    let isNew = try restore(at: now)
    try makeConsistent(at: now)
    return isNew
  }

  private mutating func makeConsistent(at now: Int64) throws(DeviceError) {
    if isConsistent { return }
    moves = nil
    try readFiles()
    do throws(DeviceError) {
      try moveAll(at: now)
    } catch  where error.isDiskFull {
      // What was set aside makes room for what is in force.
      try dropAside()
      try moveAll(at: now)
    }
    isConsistent = true
  }

  private mutating func readFiles() throws(DeviceError) {
    let names = index.names
    files = [:]
    for (name, size) in try folder.listed() { files[names.shared(name)] = size }
    bytes = files.values.clampedSum(\.self)
  }

  /// Makes the files match the index, whatever they are: those that aren't listed are set aside, staged ones move into place.
  private mutating func moveAll(at now: Int64) throws(DeviceError) {
    let staged = Set(try folder.digests(in: folder.staging))
    for name in files.keys where index.names[name] == nil { try setAside(name, known: nil, at: now) }
    if staged.isEmpty { return }
    for (sha256, names) in SwitchMoves.arrivals(of: staged, in: index) {
      try putInPlace(sha256, at: names, after: nil, now)
    }
  }

  /// Puts staged bytes under each of their names; the staged file goes last, since it shows what is left to do.
  private mutating func putInPlace(
    _ sha256: SHA256, at names: [CachedName], after before: DeviceIndex?, _ now: Int64
  ) throws(DeviceError) {
    for (i, name) in names.enumerated() {
      let isLast = i == names.count - 1
      if try hasBytes(name, sha256, known: before?.names[name]) {
        if isLast { try folder.remove(folder.staged(sha256)) }
      } else {
        try setAside(name, known: before?.names[name], at: now)
        let source = isLast ? folder.staged(sha256) : folder.incoming()
        if !isLast { _ = try folder.copy(folder.staged(sha256), to: source) }
        try folder.move(source, to: folder.file(name))
      }
      recordFile(name)
    }
  }

  /// Records a file that now exists; this counts as a use.
  private mutating func recordFile(_ name: CachedName) {
    forgetFile(name)
    let size = folder.status(folder.file(name))?.allocated ?? 0
    files[name] = size
    bytes = bytes.addingClamped(size)
    uses.use(name)
  }

  /// Records that a file is gone.
  private mutating func forgetFile(_ name: CachedName) {
    if let size = files.removeValue(forKey: name) { bytes -= size }
    verified[name] = nil
  }

  private func hasBytes(_ name: CachedName, _ sha256: SHA256, known: SHA256?) throws(DeviceError) -> Bool {
    if let known { return known == sha256 && folder.status(folder.file(name)) != nil }
    return folder.digest(folder.file(name))?.sha256 == sha256
  }

  /// Sets the file of a name aside, if there is one; `known` is its digest, if known.
  private mutating func setAside(_ name: CachedName, known: SHA256?, at now: Int64) throws(DeviceError) {
    let path = folder.file(name)
    forgetFile(name)
    guard let status = folder.status(path) else { return }
    guard let sha256 = known ?? folder.digest(path)?.sha256 else { return try folder.remove(path) }
    try folder.setAside(path, as: sha256, at: now)
    asideBytes = asideBytes.addingClamped(status.allocated)
  }
}

// MARK: - One file

extension DeviceCache {
  /// Whether there is a file for this entry, verified or not.
  func has(_ entry: HeldEntry) -> Bool {
    // During a switch, the file of a name may still be the former one.
    files[entry.name] != nil && moves?.hasStep(entry.name, of: index) != true
  }

  /// The names under which there is a file.
  var present: Set<CachedName> { Set(files.keys) }

  /// Whether an entry's file is the one that was verified, and hasn't been written to since.
  func isVerified(_ entry: HeldEntry, as mark: FileMark) -> Bool { verified[entry.name] == mark }

  /// Whether the current manifest lists the bytes of `entry` under its name.
  func lists(_ entry: HeldEntry) -> Bool { index.names[entry.name] == entry.sha256 }

  /// Records that an entry's file was verified.
  mutating func markVerified(_ entry: HeldEntry, as mark: FileMark) {
    if lists(entry), has(entry) { verified[entry.name] = mark }
  }

  /// Removes an entry's file, whose bytes are wrong.
  mutating func discard(_ entry: HeldEntry) throws(DeviceError) {
    try checkOurs()
    guard lists(entry) else { return }
    try folder.remove(folder.file(entry.name))
    forgetFile(entry.name)
  }

  /// Moves the verified file at `path` into place; it is removed if the manifest no longer lists it.
  mutating func store(_ path: String, for entry: HeldEntry, at now: Int64) throws(DeviceError) {
    try checkOurs()
    guard lists(entry) else { return try folder.remove(path) }
    try move(entry.name, at: now)
    try folder.move(path, to: folder.file(entry.name))
    recordFile(entry.name)
    verified[entry.name] = folder.mark(folder.file(entry.name))
    backlog.remove(entry.sha256)
    try makeRoom(sparing: entry.name)
  }

  /// Counts a file that a page requested and that was missing or damaged.
  func countMiss() { counts.withLock { $0.misses += 1 } }

  /// Evicts a listed file to make room for others; it is fetched again when a page requests it.
  mutating func evict(_ name: CachedName) throws(DeviceError) {
    try folder.remove(folder.file(name))
    forgetFile(name)
    counts.withLock { $0.evictions += 1 }
  }
}

extension DeviceIndex.Owner {
  var message: String { "channel \(channel) of app \(app)" }
}

// MARK: - What is left for later

extension DeviceCache {
  /// Adds what a switch to `next` skips, or a page requested, to the backlog, on the disk first.
  mutating func addToBacklog(_ skipped: Backlog) throws(DeviceError) {
    if skipped.isEmpty { return }
    var all = backlog
    all.add(skipped)
    try folder.write(all.saved, to: folder.backlog)
    backlog = all
  }

  /// Removes a file from the backlog; it won't be fetched before a page requests it.
  mutating func removeFromBacklog(_ sha256: SHA256) { backlog.remove(sha256) }

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
