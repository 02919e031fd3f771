import System

/// The files of a device's folder: where they are, and each way in which they change.
///
///     index.json        the manifest in force; its rename is the moment of a switch
///     files/<name>      the bytes it lists, under the file name of their download URL
///     staging/<sha256>  bytes that were checked and not yet switched to; <sha256>.half: the first ones of a large file
///     aside/<sha256>    bytes that left the manifest; the modification time says when
///     prefetchConfig.json, policy.json   the newest that came, as they came
///     scripts/<sha256>.js   scripts that the policy names, their signature checked
///     poll.json         when the device polled last, and whom
///     uses.json         which files pages used, least recently used first
///     backlog.json      the files that a metered network left for later
///     lock              held by the one process that uses the folder
struct CacheFolder: Sendable {
  let root: String
  /// Called before each change; tests stop a device at any of them.
  let willChange: (@Sendable () throws(ClientError) -> Void)?

  init(_ root: String, willChange: (@Sendable () throws(ClientError) -> Void)? = nil) {
    self.root = root
    self.willChange = willChange
  }

  var lock: String { "\(root)/lock" }
  var index: String { "\(root)/index.json" }
  var poll: String { "\(root)/poll.json" }
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
  func aside(_ sha256: SHA256) -> String { "\(aside)/\(sha256.hex)" }

  /// Where bytes are put while they come in; removed at the next start.
  func incoming() -> String { "\(staging)/\(Hex.encode(Secrets.random(8).span.bytes)).part" }

  /// Whether the folder holds files and none that says it is a device's: those must not be set aside.
  func isForeign() throws(ClientError) -> Bool {
    try onDisk(root) { () throws(SystemError) in
      guard try Kernel.status(root) != nil else { return false }
      // Where the disk was full at the first start there are empty folders alone.
      let names = try Folder.textNames(root).filter { name in
        let path = "\(root)/\(name)"
        return ![files, staging, aside].contains(path) || (try? Folder.textNames(path))?.isEmpty != true
      }
      return !names.isEmpty && !names.contains("lock") && !names.contains("index.json")
    }
  }

  /// Makes what is missing of the folder.
  func make() throws(ClientError) {
    for path in [files, staging, aside] {
      try onDisk(path) { () throws(SystemError) in try Kernel.makeFolder(path) }
    }
  }
}

// MARK: - Reading

extension CacheFolder {
  /// The digests that name the files of `folder`, which is `staging` or `aside`; what else is there isn't ours.
  func digests(in folder: String) throws(ClientError) -> [SHA256] {
    try names(in: folder).compactMap { SHA256(hex: $0) }
  }

  func names(in folder: String) throws(ClientError) -> [String] {
    try onDisk(folder) { () throws(SystemError) in try Folder.textNames(folder) }
  }

  /// A file's bytes, those that it takes of the disk, and the time it was last changed, in milliseconds; nil where there is no
  /// such file.
  func status(_ path: String) -> (size: Int64, allocated: Int64, modified: Int64)? {
    guard let status = try? Kernel.status(path, followLinks: false), status.kind == .file else { return nil }
    return (status.size, status.allocated, status.modified / 1_000_000)
  }

  /// Which file is at `path`; nil where there is none.
  func mark(_ path: String) -> FileMark? {
    (try? Kernel.status(path, followLinks: false)).map(FileMark.init)
  }

  /// The files of `files` and the bytes that each takes of the disk; what else is there isn't ours.
  func listed() throws(ClientError) -> [CachedName: Int64] {
    let entries = try onDisk(files) { () throws(SystemError) in
      try Folder.entries(files) { bytes in
        String(validating: bytes, as: UTF8.self).flatMap { CachedName(file: $0) }
      }
    }
    var listed: [CachedName: Int64] = [:]
    for entry in entries { listed[entry.name] = entry.status.allocated }
    return listed
  }

  /// Bytes that a file whose size nobody has told may take: what the disk has free, less some for everybody else.
  func room() -> Int64 {
    guard let space = try? Kernel.space(root) else { return .max }
    return max(0, space.available - min(space.size / 16, 8 << 20))
  }

  /// The digest of a file's bytes; nil where there is no such file or it can't be read to its end.
  func digest(_ path: String) -> FileDigest? {
    guard let file = try? Kernel.openExisting(path, [.read, .noFollow]) else { return nil }
    return try? Self.digest(file)
  }

  /// The digest of an open file's bytes, from its start.
  static func digest(_ file: borrowing Descriptor) throws(SystemError) -> FileDigest {
    var hasher = FileHasher()
    try read(file) { bytes throws(SystemError) in hasher.update(bytes) }
    return hasher.finish()
  }

  /// Hands over an open file's bytes from its start, piece by piece.
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
  func move(_ from: String, to: String) throws(ClientError) {
    try willChange?()
    try onDisk(to) { () throws(SystemError) in try Kernel.rename(from, to: to) }
  }

  func remove(_ path: String) throws(ClientError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in try Kernel.remove(path) }
  }

  /// Moves a file that leaves the manifest to where it is kept for a while.
  func setAside(_ path: String, as sha256: SHA256, at now: Int64) throws(ClientError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in try Kernel.setModified(path, to: now) }
    try move(path, to: aside(sha256))
  }

  /// Copies a file to `target` and gives the digest of what was copied.
  func copy(_ source: String, to target: String) throws(ClientError) -> FileDigest {
    try willChange?()
    return try onDisk(source) { () throws(SystemError) in
      let from = try Kernel.open(source, [.read, .noFollow])
      let to = try Kernel.open(target, [.write, .create, .truncate, .noFollow])
      var hasher = FileHasher()
      try Self.read(from) { bytes throws(SystemError) in
        hasher.update(bytes)
        try Kernel.write(bytes, to: to, path: target)
      }
      return hasher.finish()
    }
  }

  /// Replaces a small file in one step, durably.
  func write(_ bytes: [UInt8], to path: String) throws(ClientError) {
    try willChange?()
    try onDisk(path) { () throws(SystemError) in try DurableFile.write(bytes, to: path) }
  }

  /// Puts everything that was staged on the disk, names included.
  func syncStaged() throws(ClientError) {
    let staged = try digests(in: staging)
    try onDisk(staging) { () throws(SystemError) in
      // Many files cost less in one go, though that waits for what others wrote, too.
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
  /// Removes what a process that ended in the middle was still writing.
  func removeUnfinished() throws(ClientError) {
    for name in try names(in: staging) where name.hasSuffix(".part") { try remove("\(staging)/\(name)") }
    for name in try names(in: root) where name.hasSuffix(".tmp") && name.contains(".json.") {
      try remove("\(root)/\(name)")
    }
  }
}

/// Turns the kernel's refusal into the module's error.
func onDisk<Value: ~Copyable>(
  _ path: String, _ body: () throws(SystemError) -> Value
) throws(ClientError) -> Value {
  do {
    return try body()
  } catch {
    throw ClientError(error, path: path)
  }
}

/// Tells a file from any other, and from itself after it was written to.
struct FileMark: Hashable, Sendable {
  /// Of inode, size and time of the last change, by the process's own key: one is kept for each file that was read.
  private let code: Int

  init(_ status: FileStatus) {
    var hasher = Hasher()
    hasher.combine(status.inode)
    hasher.combine(status.size)
    hasher.combine(status.changed)
    code = hasher.finalize()
  }
}
