import System

/// The paths in a device's folder, and every operation that changes its files.
///
///     index.json        the manifest in force; its rename is the switch
///     files/<name>      the listed files, each under the file name of its download URL
///     staging/<sha256>  verified files not yet switched to; <sha256>.half: the first bytes of a large file,
///                       <sha256>.tag: the entity tag that they came with
///     aside/<sha256>    files that left the manifest; the modification time says when
///     prefetchConfig.json, policy.json   the newest ones, as received
///     scripts/<sha256>.js   scripts that the policy names, with a verified signature
///     poll.json         when the device polled last, and which server
///     trial.json        of a version that hasn't proved itself: what its pages came to, and which version is skipped
///     previous.json     the manifest of the version before it, as long as it is kept whole; its files are in `aside`
///     rollout.json      the install id, which is never sent, what was decided by the last rollout's rule, and what it came to
///     trust.json        in an app with a root: what this device knows of who signs what, see `TrustNotes`
///     clock.json        how far the device's clock is from the servers', if that is hours
///     shortage.json     which version there was no room for, and when it is tried again
///     first.json        the first pack that the device has switched for; `staging/first`: what came of it so far
///     answer            the answer with the manifest that an unfinished update is about
///     uses.json         which files pages used, least recently used first
///     backlog.json      the files that a metered network left for later
///     lock              held by the one process that uses the folder
///     <16 digits>.old   here or in a folder above: one that was in the way and couldn't be removed; tried again at each start
struct CacheFolder: Sendable {
  let root: String
  /// Called before each change, so that tests can stop a device at any of them.
  let willChange: (@Sendable () throws(DeviceError) -> Void)?

  init(_ root: String, willChange: (@Sendable () throws(DeviceError) -> Void)? = nil) {
    self.root = root
    self.willChange = willChange
  }

  var lock: String { "\(root)/lock" }
  var index: String { "\(root)/index.json" }
  var poll: String { "\(root)/poll.json" }
  var rollout: String { "\(root)/rollout.json" }
  var trial: String { "\(root)/trial.json" }
  var clock: String { "\(root)/clock.json" }
  var shortage: String { "\(root)/shortage.json" }
  var uses: String { "\(root)/uses.json" }
  var backlog: String { "\(root)/backlog.json" }
  var files: String { "\(root)/files" }
  var staging: String { "\(root)/staging" }
  var aside: String { "\(root)/aside" }
  var tree: String { "\(root)/tree" }

  func file(_ name: CachedName) -> String { "\(files)/\(name.text)" }
  func staged(_ sha256: SHA256) -> String { "\(staging)/\(sha256.hex)" }
  func half(_ sha256: SHA256) -> String { "\(staging)/\(sha256.hex)\(Self.halfEnding)" }
  static let halfEnding = ".half"
  func halfTag(_ sha256: SHA256) -> String { "\(staging)/\(sha256.hex)\(Self.tagEnding)" }
  static let tagEnding = ".tag"
  func aside(_ sha256: SHA256) -> String { "\(aside)/\(sha256.hex)" }

  /// Returns a new path for incoming bytes; leftovers are removed at the next start.
  func incoming() -> String { "\(staging)/\(Hex.encode(Secrets.random(8).span.bytes)).part" }

  /// Files that show that a folder is a device's: some of them may be left in one that somebody has cleared.
  private static let marks: Set<String> = [
    "lock", "index.json", "poll.json", "rollout.json", "uses.json", "backlog.json", "pages.json",
  ]

  /// Whether the folder holds files but isn't a device's; they must not be set aside.
  func isForeign() throws(DeviceError) -> Bool {
    try onDisk(root) { () throws(SystemError) in
      guard try Kernel.status(root) != nil else { return false }
      // A disk that was full at the first start leaves only empty folders.
      let names = try Folder.textNames(root).filter { name in
        let path = "\(root)/\(name)"
        return ![files, staging, aside].contains(path) || (try? Folder.textNames(path))?.isEmpty != true
      }
      return !names.isEmpty && Self.marks.isDisjoint(with: names)
    }
  }

  /// Creates the subfolders that are missing.
  func make() throws(DeviceError) {
    for path in [files, staging, aside] {
      try onDisk(path) { () throws(SystemError) in
        try Self.clearing(path, if: [.fileExists, .notDirectory]) { () throws(SystemError) in
          try Kernel.makeFolder(path)
        }
        try Self.makeUsable(path)
      }
    }
  }
}

// MARK: - Reading

extension CacheFolder {
  /// Returns the digests that name the files of `folder`, which is `staging` or `aside`; other names are ignored.
  func digests(in folder: String) throws(DeviceError) -> [SHA256] {
    try names(in: folder).compactMap { SHA256(hex: $0) }
  }

  func names(in folder: String) throws(DeviceError) -> [String] {
    try onDisk(folder) { () throws(SystemError) in try Folder.textNames(folder) }
  }

  /// Returns a file's size in bytes, the bytes that it takes on the disk, and its modification time in milliseconds; nil if
  /// there is no such file.
  func status(_ path: String) -> (size: Int64, allocated: Int64, modified: Int64)? {
    guard let status = try? Kernel.status(path, followLinks: false), status.kind == .file else { return nil }
    return (status.size, status.allocated, status.modified / 1_000_000)
  }

  /// What `rollout.json` has; nil if there is none, or it can't be read.
  var savedRollout: RolloutState? {
    (try? DurableFile.read(rollout, limit: 1 << 16)).flatMap { RolloutState(saved: $0) }
  }

  /// What `trial.json` has; nil if it can't be read.
  var savedTrials: TrialState? {
    guard let bytes = try? DurableFile.read(trial, limit: 1 << 20) else { return TrialState() }
    return TrialState(saved: bytes)
  }

  /// Returns the mark of the file at `path`; nil if there is none.
  func mark(_ path: String) -> FileMark? {
    (try? Kernel.status(path, followLinks: false)).map(FileMark.init)
  }

  /// Returns the files in `files` and the bytes that each takes on the disk; other names are ignored.
  func listed() throws(DeviceError) -> [CachedName: Int64] {
    let entries = try onDisk(files) { () throws(SystemError) in
      try Folder.entries(files) { bytes in
        String(validating: bytes, as: UTF8.self).flatMap { CachedName(file: $0) }
      }
    }
    var listed: [CachedName: Int64] = [:]
    for entry in entries { listed[entry.name] = entry.status.allocated }
    return listed
  }

  /// The bytes that are free on the disk.
  var free: Int64 { (try? Kernel.space(root))?.available ?? .max }

  /// Returns the bytes that a file of unknown size may take: the free disk space, less a reserve for other programs.
  func room() -> Int64 {
    guard let space = try? Kernel.space(root) else { return .max }
    return max(0, space.available - min(space.size / 16, 8 << 20))
  }

  /// Returns the digest of a file's bytes; nil if there is no such file or it can't be read to its end.
  func digest(_ path: String) -> FileDigest? {
    guard let file = try? Kernel.openExisting(path, [.read, .noFollow, .nonBlocking]) else { return nil }
    return try? Self.digest(file)
  }

  /// Returns the digest of an open file's bytes, read from its start.
  static func digest(_ file: borrowing Descriptor) throws(SystemError) -> FileDigest {
    var hasher = FileHasher()
    try read(file) { bytes throws(SystemError) in hasher.update(bytes) }
    return hasher.finish()
  }

  /// Passes an open file's bytes to `body` in chunks, from its start.
  static func read(
    _ file: borrowing Descriptor, _ body: (RawSpan) throws(SystemError) -> Void
  ) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try Kernel.read(file, at: offset, into: buffer)
      if count == 0 { return }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
      offset += Int64(count)
    }
  }
}

// MARK: - Changing

extension CacheFolder {
  func move(_ from: String, to: String) throws(DeviceError) {
    try willChange?()
    try onDisk(to) { () throws(SystemError) in
      try Self.clearing(to, if: Self.folderErrors) { () throws(SystemError) in try Kernel.rename(from, to: to)
      }
    }
  }

  func remove(_ path: String) throws(DeviceError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in
      try Self.clearing(path, if: Self.folderErrors) { () throws(SystemError) in try Kernel.remove(path) }
    }
  }

  /// Moves a file that leaves the manifest to `aside`.
  func setAside(_ path: String, as sha256: SHA256, at now: Int64) throws(DeviceError) {
    try willChange?()
    do throws(DeviceError) {
      try onDisk(path) { () throws(SystemError) in try Kernel.setModified(path, to: now) }
    } catch  where error.isUnreadableFile {
      // Somebody else's: it would count as set aside at some other time.
      return try remove(path)
    }
    try move(path, to: aside(sha256))
  }

  /// Copies a file to `target` and returns the digest of what was copied.
  func copy(_ source: String, to target: String) throws(DeviceError) -> FileDigest {
    try willChange?()
    return try onDisk(source) { () throws(SystemError) in
      let from = try Kernel.open(source, [.read, .noFollow, .nonBlocking])
      let to = try Kernel.open(target, [.write, .create, .truncate, .noFollow])
      var hasher = FileHasher()
      try Self.read(from) { bytes throws(SystemError) in
        hasher.update(bytes)
        try Kernel.write(bytes, to: to, path: target)
      }
      return hasher.finish()
    }
  }

  /// Replaces a small file atomically and durably.
  func write(_ bytes: [UInt8], to path: String) throws(DeviceError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in
      try Self.clearing(path, if: Self.folderErrors) { () throws(SystemError) in
        try DurableFile.write(bytes, to: path)
      }
    }
  }

  /// Syncs all staged files to the disk, including their directory entries.
  func syncStaged() throws(DeviceError) {
    let staged = try digests(in: staging)
    try onDisk(staging) { () throws(SystemError) in
      // For many files one syncfs is cheaper, although it also waits for what other programs wrote.
      if staged.count > 16, Kernel.syncsFileSystems {
        return try Kernel.syncFileSystem(try Kernel.open(staging, [.read, .directory]))
      }
      for sha256 in staged {
        let path = self.staged(sha256)
        try Kernel.sync(try Kernel.open(path, [.read, .noFollow]), path: path)
      }
      try Kernel.syncFolder(staging)
    }
  }
}

extension CacheFolder {
  /// Removes files that a process was still writing when it ended, and folders that were in the way.
  func removeUnfinished() throws(DeviceError) {
    for name in try names(in: staging) where name.hasSuffix(".part") { try remove("\(staging)/\(name)") }
    if pendingFirstPack == nil { try removeFirstPackPart() }
    for name in try names(in: root) where name.hasSuffix(".tmp") && name.contains(".json.") {
      try remove("\(root)/\(name)")
    }
    removeRenamed()
  }
}

/// Runs `body`, turning a failed system call into a `DeviceError`.
func onDisk<Value: ~Copyable>(
  _ path: String, _ body: () throws(SystemError) -> Value
) throws(DeviceError) -> Value {
  do {
    return try body()
  } catch {
    throw DeviceError(error, path: path)
  }
}

/// Identifies a file at one state: another file, or the same one after a write, has a different mark.
struct FileMark: Hashable, Sendable {
  /// A hash of inode, size and time of the last change, with the process's own seed: one is kept for each file that was read.
  private let code: Int

  init(_ status: FileStatus) {
    var hasher = Hasher()
    hasher.combine(status.inode)
    hasher.combine(status.size)
    hasher.combine(status.changed)
    code = hasher.finalize()
  }
}
