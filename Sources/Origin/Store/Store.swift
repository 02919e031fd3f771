import System

/// Everything an origin stores, and the only access to it: the database and the blobs of one data folder.
///
/// Any thread may call it. Reads run concurrently with each other and with the one release that commits at a time.
package final class Store: Sendable {
  /// The paths in the data folder.
  package let folder: DataFolder
  /// Whether opening the store created the folder's first admin token, in `folder.adminToken`.
  package let madeAdminToken: Bool
  /// Folders in the place of incoming files, as found at the start.
  package var unexpectedFolders: [UnexpectedFolder] { blobs.unexpectedFolders }
  /// Files that can be rebuilt.
  package let derived: DerivedStore
  /// Disk space held in reserve for when other programs have filled the disk.
  package let reserve: DiskReserve
  /// Announces files that have to be opened again.
  package let changes = FileChanges()
  let connections: Connections
  let blobs: BlobStore
  let clock: @Sendable () -> Int64
  /// Held by the one garbage collection that runs at a time.
  let collecting = Locked<Void>(())
  let lastPlan = RecentPlan()
  let tokenUses = Locked<[String: Int64]>([:])
  // Held as long as the store lives. The kernel releases it when the process ends, however it ends.
  private let lock: FolderLock?

  /// How a store is opened.
  package struct Options: Sendable {
    /// Whether to create the folder if it is missing.
    package var creates = true
    /// Whether to open the folder alongside the process that has it, without its lock. Such a store is for reading, for
    /// leases and for registering mirrors; a lease keeps what is being read from being removed.
    package var isSecondary = false
    /// Whether to hold disk space in reserve for when other programs fill the disk.
    package var keepsReserve = true
    /// The steps that make bytes durable.
    package var disk = Disk.real
    /// Returns the time in milliseconds since 1970.
    package var clock: @Sendable () -> Int64 = { Clock.unixMilliseconds() }

    /// Gets what each act changed in the database, while nothing else writes; nil: nothing records it.
    var recorded: (@Sendable (DatabaseChanges) -> Void)?

    /// Options for the one process that has the folder.
    package init() {}
  }

  /// Opens the data folder at `path`, for this process alone unless it is secondary.
  /// - Throws: `noDataFolder`, `inUse`, `lostDatabase`, the errors of `Migrations`, `system`, `diskFull`.
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
    let lock = try reserve.lending { () throws(StoreError) in
      try Self.lockFolder(folder, creates: options.creates)
    }
    self.lock = lock
    try Self.refuseLostDatabase(folder)
    let (changes, now) = (changes, options.clock())
    let (parts, madeAdminToken) = try reserve.lending { () throws(StoreError) in
      let parts = try Parts(folder, options, changes, reserve, lock)
      return (parts, try Self.makeFirstToken(parts.connections, folder, now: now))
    }
    (connections, derived, blobs) = (parts.connections, parts.derived, parts.blobs)
    self.madeAdminToken = madeAdminToken
    blobs.forbid(try purges())
    // Nobody else writes here: what is half written is nobody's, and may have bytes that are purged next.
    try sweepZips(before: .max)
    if options.keepsReserve { reserve.fill() }
  }

  /// The parts of a store that are opened with its data folder.
  private struct Parts {
    let connections: Connections
    let derived: DerivedStore
    let blobs: BlobStore

    init(
      _ folder: DataFolder, _ options: Options, _ changes: FileChanges, _ reserve: DiskReserve,
      _ lock: FolderLock? = nil
    ) throws(StoreError) {
      let isSecondary = options.isSecondary
      connections = try Connections(
        path: folder.database, isSecondary: isSecondary, reserve: isSecondary ? nil : reserve,
        recorded: options.recorded
      ) { () throws(StoreError) in try folder.check(lock) }
      let space = FileSpace(folder, options.disk)
      derived = try DerivedStore(
        folder, changes: changes, space: space, clock: options.clock, isSecondary: isSecondary)
      blobs = try BlobStore(
        folder: folder, disk: options.disk, connections: connections, clock: options.clock, changes: changes,
        derived: derived, space: space, cleansUp: !isSecondary)
    }
  }

  private static func require(_ folder: DataFolder) throws(StoreError) {
    let status = try StoreError.disk { () throws(SystemError) in try Kernel.status(folder.database) }
    guard status != nil else { throw .noDataFolder(path: folder.path) }
  }

  /// Refuses to start a new database next to files of a lost one: it would begin again with version 1, and gc would
  /// remove the files as unneeded.
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

  private static func lockFolder(_ folder: DataFolder, creates: Bool) throws(StoreError) -> FolderLock {
    if !creates { try require(folder) }
    let lock = try folder.take()
    try StoreError.disk { () throws(SystemError) in try folder.makeFolders() }
    return lock
  }

  /// Checks that the data folder is still this process's alone; acts check it, too.
  /// - Throws: `lostFolder`.
  package func checkFolder() throws(StoreError) { try folder.check(lock) }

  /// The current time by the store's clock, in milliseconds since 1970.
  package var now: Int64 { clock() }

  /// A number that changes with every change of the database.
  package var edition: Int { connections.edition }

  /// - Throws: `cancelled` if nobody wants what the calling thread does any more.
  package static func checkCancellation() throws(StoreError) {
    if Cancellation.current?.isCancelled == true { throw .cancelled }
  }

  /// Copies the database's log into the database, so that acts don't wait for that; called every second.
  package func checkpoint() throws(StoreError) {
    try connections.checkpoint()
  }

  /// Frees memory that only makes later reads faster; for quiet moments.
  package func releaseMemory() {
    lastPlan.drop()
    connections.releaseMemory()
    blobs.releaseMemory()
    derived.releaseMemory()
  }

  // MARK: - Blobs

  /// Starts receiving a file.
  package func receive(_ claim: BlobClaim) throws(StoreError) -> IncomingBlob {
    try blobs.checkSpace(for: claim.size ?? 0)
    return try IncomingBlob(claim, in: blobs)
  }

  /// Receives a file that is in memory.
  package func receive(_ bytes: RawSpan, _ claim: BlobClaim) throws(StoreError) -> IncomingBlob.Result {
    var incoming = try receive(claim)
    try incoming.append(bytes)
    return try incoming.finish()
  }

  /// Receives small files that are in memory, up to the first whose bytes don't match its claim.
  /// - Throws: `digestMismatch`; the files before that one are stored.
  package func receive(_ files: [SmallFile]) throws(StoreError) { try blobs.receive(files) }

  /// Those of `digests` whose bytes must be sent before a release can name them, in order.
  package func missing(of digests: [SHA256]) throws(StoreError) -> [SHA256] {
    try blobs.missing(of: digests)
  }

  /// Opens a blob, hashing its bytes unless that was done since this process started.
  /// - Throws: `unknownBlob`; `corruptBlob`, after moving the file to quarantine.
  package func open(_ sha256: SHA256) throws(StoreError) -> StoredBlob { try blobs.open(sha256) }

  /// Opens a blob and hashes its bytes now, for callers that store something made from them.
  /// - Throws: as `open(_:)`.
  package func openChecked(_ sha256: SHA256) throws(StoreError) -> StoredBlob {
    try blobs.openChecked(sha256)
  }

  /// Removes files that arrived more than a day ago and that no release used; if the disk is short of space, also those
  /// of publishes that are over.
  /// - Returns: the number of files, and their bytes.
  @discardableResult
  package func sweepUploads() throws(StoreError) -> (files: Int, bytes: Int64) {
    let sizes = try blobs.sweep()
    return (sizes.count, sizes.reduce(0, +))
  }
}
