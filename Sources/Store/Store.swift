import System

/// Everything an origin keeps, and the only way to it: the database and the blobs of one data folder.
///
/// Any thread may call it. Reads run beside each other and beside the one release that commits at a time.
package final class Store: Sendable {
  /// Where everything is.
  package let folder: DataFolder
  /// Whether this call made the folder's first admin token, which then is in `folder.adminToken`.
  package let madeAdminToken: Bool
  /// Folders in the way of what arrives, as they were found at the start.
  package var strays: [UnexpectedFolder] { blobs.strays }
  /// What can be made again.
  package let derived: DerivedStore
  /// Room for when others have filled the disk.
  package let reserve: DiskReserve
  /// Tells of files that are to be opened anew.
  package let changes = FileChanges()
  let connections: Connections
  let blobs: BlobStore
  let clock: @Sendable () -> Int64
  /// Held by the one garbage collection that runs.
  let collecting = Locked<Void>(())
  let lastPlan = RecentPlan()
  let tokenUses = Locked<[String: Int64]>([:])
  // Held as long as the store lives; the kernel lifts it when the process ends, however it ends.
  private let lock: FileLock?

  /// How a store is opened.
  package struct Options: Sendable {
    /// Make the folder where it is missing.
    package var creates = true
    /// Read beside the process that has the folder, without its lock. Such a store is for reading, for leases and for
    /// registering mirrors; a lease keeps what is read from being removed meanwhile.
    package var isSecondary = false
    /// Keep room on the disk for when others fill it.
    package var keepsReserve = true
    /// The steps by which bytes become durable.
    package var disk = Disk.real
    /// Milliseconds since 1970.
    package var clock: @Sendable () -> Int64 = { Clock.unixMilliseconds() }

    /// For the one process that has the folder.
    package init() {}
  }

  /// Opens the data folder at `path` for this process alone.
  /// - Throws: `noDataFolder`, `inUse`, what `Migrations` throws, `system`, `diskFull`.
  package init(path: String, options: Options = Options()) throws(StoreError) {
    let folder = DataFolder(path: path)
    let reserve = DiskReserve(folder, options.disk)
    clock = options.clock
    self.folder = folder
    self.reserve = reserve
    if options.isSecondary {
      try Self.require(folder)
      lock = nil
      let parts = try Parts(folder, options, changes, reserve)
      (connections, derived, blobs, madeAdminToken) = (parts.connections, parts.derived, parts.blobs, false)
      return
    }
    lock = try reserve.lending { () throws(StoreError) in
      try Self.takeFolder(folder, creates: options.creates)
    }
    try Self.refuseLostDatabase(folder)
    let (changes, now) = (changes, options.clock())
    let (parts, madeAdminToken) = try reserve.lending { () throws(StoreError) in
      let parts = try Parts(folder, options, changes, reserve)
      return (parts, try Self.makeFirstToken(parts.connections, folder, now: now))
    }
    (connections, derived, blobs) = (parts.connections, parts.derived, parts.blobs)
    self.madeAdminToken = madeAdminToken
    if options.keepsReserve { reserve.fill() }
  }

  /// What is opened of a data folder.
  private struct Parts {
    let connections: Connections
    let derived: DerivedStore
    let blobs: BlobStore

    init(_ folder: DataFolder, _ options: Options, _ changes: FileChanges, _ reserve: DiskReserve)
      throws(StoreError)
    {
      let isSecondary = options.isSecondary
      connections = try Connections(
        path: folder.database, isSecondary: isSecondary, reserve: isSecondary ? nil : reserve)
      derived = try DerivedStore(folder, changes: changes, clock: options.clock, isSecondary: isSecondary)
      blobs = try BlobStore(
        folder: folder, disk: options.disk, connections: connections, clock: options.clock, changes: changes,
        cleansUp: !isSecondary)
    }
  }

  private static func require(_ folder: DataFolder) throws(StoreError) {
    let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.database) }
    guard status != nil else { throw .noDataFolder(path: folder.path) }
  }

  /// A new database beside files that an older one knew would begin again with version 1, and gc would take the files for nobody's.
  private static func refuseLostDatabase(_ folder: DataFolder) throws(StoreError) {
    let isLost = try StoreError.disk { () throws(SystemError) in
      if let database = try Kernel.status(folder.database), database.size > 0 { return false }
      for name in try Folder.textNames(folder.blobs) {
        guard try Kernel.status("\(folder.blobs)/\(name)")?.kind == .folder else { continue }
        if try !Folder.names("\(folder.blobs)/\(name)").isEmpty { return true }
      }
      return false
    }
    if isLost { throw .lostDatabase(path: folder.path) }
  }

  private static func takeFolder(_ folder: DataFolder, creates: Bool) throws(StoreError) -> FileLock {
    if !creates { try require(folder) }
    let lock = try StoreError.disk { () throws(SystemError) in
      try Kernel.makeFolder(folder.path, mode: 0o750)
      return try FileLock.take(folder.lock)
    }
    guard let lock else { throw .inUse(path: folder.path, process: FileLock.holder(folder.lock)) }
    try StoreError.disk { () throws(SystemError) in try folder.makeFolders() }
    return lock
  }

  /// The time as everything here is dated, in milliseconds since 1970.
  package var now: Int64 { clock() }

  /// Gives back memory that only makes the next reading faster; for quiet moments.
  package func releaseMemory() {
    lastPlan.drop()
    connections.releaseMemory()
    blobs.releaseMemory()
    derived.releaseMemory()
  }

  // MARK: - Blobs

  /// Begins to receive a file.
  package func receive(_ claim: BlobClaim) throws(StoreError) -> IncomingBlob {
    try blobs.checkRoom(for: claim.size ?? 0)
    return try IncomingBlob(claim, in: blobs)
  }

  /// Receives a file that is in memory.
  package func receive(_ bytes: RawSpan, _ claim: BlobClaim) throws(StoreError) -> IncomingBlob.Result {
    var incoming = try receive(claim)
    try incoming.append(bytes)
    return try incoming.finish()
  }

  /// Receives small files that are in memory, up to the first that isn't what its sender says.
  /// - Throws: `digestMismatch`; those before it are stored.
  package func receive(_ files: [SmallFile]) throws(StoreError) { try blobs.receive(files) }

  /// Those of `digests` whose bytes must be sent before a release can name them, in order.
  package func missing(of digests: [SHA256]) throws(StoreError) -> [SHA256] {
    try blobs.missing(of: digests)
  }

  /// Opens a blob whose bytes were hashed since the start of this process, now if not before.
  /// - Throws: `unknownBlob`; `corruptBlob`, and the file is set aside.
  package func open(_ sha256: SHA256) throws(StoreError) -> StoredBlob { try blobs.open(sha256) }

  /// Opens a blob whose bytes were hashed just now: for whoever makes something of them that is kept.
  /// - Throws: as above.
  package func openChecked(_ sha256: SHA256) throws(StoreError) -> StoredBlob {
    try blobs.openChecked(sha256)
  }

  /// Removes files that arrived more than a day ago and that no release took; where the disk is short of room, those of
  /// publishes that are over.
  /// - Returns: how many, and their bytes.
  @discardableResult
  package func sweepUploads() throws(StoreError) -> (files: Int, bytes: Int64) {
    let sizes = try blobs.sweep()
    return (sizes.count, sizes.reduce(0, +))
  }
}
