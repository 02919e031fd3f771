import Manifests
import System
import Values

extension PackEnds {
  /// The ends of the first pack that is made for a version: it leads from nothing.
  package init(firstOf version: ManifestVersion, digest: SHA256) {
    self.init(base: .none, baseDigest: Self.nothing, version: version, digest: digest)
  }

  /// The digest of a manifest without entries.
  static let nothing = Manifest.empty.map.digest
}

extension StoredPack {
  /// Whether it is a first pack.
  package var isFirst: Bool { base == .none }
}

/// What a channel's first pack is.
package enum FirstPackChoice: Hashable, Sendable {
  /// Whole manifests name this one.
  case stored(StoredPack)
  /// None is worth having.
  case refused
  /// None is known that serves: whether one is worth having is found out by making it.
  case wanted
}

/// The files that a first install downloads: those of entries that aren't lazy, of hosts that the channel lists, if it lists any.
package struct FirstPackNeed: Sendable {
  /// The sizes of the files, by their digests.
  package private(set) var files: [SHA256: Int64] = [:]
  /// Their sum.
  package private(set) var bytes: Int64 = 0

  /// The least number of files for which a first pack is made.
  package static let leastFiles = 4
  /// The most bytes of files that a first pack has.
  package static let mostBytes: Int64 = 256 << 20

  package init() {}

  /// Whether an entry's file is one of them.
  package static func includes(_ url: ResourceURL, _ entry: Entry, in channel: ChannelInfo) -> Bool {
    !entry.isLazy && channel.hosts?.contains(url) ?? true
  }

  /// Adds a file, unless it is there.
  /// - Returns: whether it wasn't.
  package mutating func add(_ sha256: SHA256, size: Int64) -> Bool {
    guard files.updateValue(size, forKey: sha256) == nil else { return false }
    bytes = bytes.addingClamped(size)
    return true
  }

  /// Whether a pack is made for so many files of this size.
  package var isWorthPacking: Bool {
    files.count >= Self.leastFiles && files.count <= FirstPackHead.maxFiles && bytes <= Self.mostBytes
  }

  /// Whether the files that were packed for another version still serve: what they lack, and what they have in vain, is at most an
  /// eighth of what is needed.
  package func isServed(by packed: FirstPackNeed) -> Bool {
    var common: Int64 = 0
    for (sha256, size) in files where packed.files[sha256] != nil { common = common.addingClamped(size) }
    return bytes - common + (packed.bytes - common) <= bytes / 8
  }
}

extension Store {
  /// What a channel's first pack is, at one of the versions that polls are answered with.
  package func firstPack(of channel: ChannelInfo) throws(StoreError) -> FirstPackChoice {
    guard let digest = channel.digest, channel.version > .none else { return .refused }
    switch try derived.pack(PackEnds(firstOf: channel.version, digest: digest), of: channel.id) {
    case .stored(let pack): return .stored(pack)
    case .refused: return .refused
    case .nothing: break
    }
    guard let pack = try newestFirstPack(of: channel) else { return .wanted }
    let need = try firstPackNeed(of: channel, at: channel.version)
    guard need.isWorthPacking, need.isServed(by: try firstPackNeed(of: channel, at: pack.version)) else {
      return .wanted
    }
    return .stored(pack)
  }

  /// Whether a first pack is still stored, and the version that it was made for is kept.
  package func isStored(_ pack: StoredPack, firstOf channel: ChannelInfo) throws(StoreError) -> Bool {
    guard let digest = try digest(channel, at: pack.version) else { return false }
    let known = try derived.pack(PackEnds(firstOf: pack.version, digest: digest), of: channel.id)
    guard case .stored(let stored) = known else { return false }
    return stored.sha256 == pack.sha256
  }

  /// The files that a first install of a kept version downloads.
  package func firstPackNeed(of channel: ChannelInfo, at version: ManifestVersion) throws(StoreError)
    -> FirstPackNeed
  {
    var need = FirstPackNeed()
    try eachEntry(of: channel, at: version) { url, entry in
      if FirstPackNeed.includes(url, entry, in: channel) { _ = need.add(entry.sha256, size: entry.size) }
    }
    return need
  }

  /// The newest first pack that was made for a kept version; nil if there is none.
  private func newestFirstPack(of channel: ChannelInfo) throws(StoreError) -> StoredPack? {
    for version in try derived.firstPackVersions(of: channel.id) {
      guard let digest = try digest(channel, at: version) else { continue }
      let known = try derived.pack(PackEnds(firstOf: version, digest: digest), of: channel.id)
      if case .stored(let pack) = known { return pack }
    }
    return nil
  }

  /// Passes a released file's bytes to `body`, piece by piece, until it returns false.
  /// - Returns: false if it did, if there is no such file, or if the bytes aren't those of its name.
  package func eachPiece(of sha256: SHA256, _ body: (RawSpan) throws(StoreError) -> Bool) throws(StoreError)
    -> Bool
  {
    let path = folder.blob(sha256)
    guard
      case .file(let file, _) = try StoreError.disk({ () throws(SystemError) in try Kernel.openFile(path) })
    else { return false }
    var hasher = SHA256Hasher()
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try StoreError.disk { () throws(SystemError) in
        try Kernel.read(file, at: offset, into: buffer)
      }
      if count == 0 { break }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes
      hasher.update(bytes)
      guard try body(bytes) else { return false }
      offset += Int64(count)
    }
    return hasher.finish() == sha256
  }
}

extension DerivedStore {
  /// The versions that a channel's stored first packs were made for, the newest first.
  func firstPackVersions(of channel: Int64) throws(StoreError) -> [ManifestVersion] {
    try work { (db) throws(StoreError) in
      try db.all(
        """
        SELECT version FROM pack WHERE channel_id = ? AND base = 0 AND sha256 IS NOT NULL ORDER BY version DESC
        """, channel
      ) { $0.version(0) }
    }
  }

  /// When the files of first packs were last written or read back, by their paths below `derived/`.
  func firstPackTimes() throws(StoreError) -> [String: Int64] {
    try work { (db) throws(StoreError) in
      let rows = try db.all(
        """
        SELECT path, checked_at FROM file WHERE path IN (
          SELECT 'packs/' || channel_id || '/0-' || version || '-' || lower(substr(hex(sha256), 1, 16)) || '.xpk'
          FROM pack WHERE base = 0 AND sha256 IS NOT NULL)
        """
      ) { (path: $0.get(0, as: String.self), at: $0.get(1, as: Int64.self)) }
      return Dictionary(rows.map { ($0.path, $0.at) }, uniquingKeysWith: { $1 })
    }
  }
}

/// A first pack that is being written, under a name that nobody asks for.
package final class FirstPackFile {
  package let ends: PackEnds
  /// How many bytes it has so far.
  package private(set) var size: Int64 = 0

  private let channel: Int64
  private let derived: DerivedStore
  private let path: String
  private let file: Descriptor
  private var hasher = SHA256Hasher()
  private var pending: [UInt8] = []
  /// What the file takes beyond its bytes, until that is taken.
  private var room = FileSpace.blockSize
  private var isKept = false

  /// The bytes that are written at once.
  private static let batch = 1 << 20

  /// Begins a file.
  package init(_ ends: PackEnds, of channel: Int64, in derived: DerivedStore) throws(StoreError) {
    let folder = derived.folder.packs(of: channel)
    let path = "\(folder)/\(Hex.encode(Secrets.random(6).span.bytes)).part"
    (self.ends, self.channel, self.derived, self.path) = (ends, channel, derived, path)
    file = try StoreError.disk { () throws(SystemError) in
      try Kernel.makeFolder(folder, mode: 0o750)
      return try Kernel.open(path, [.write, .create, .exclusive], mode: 0o640)
    }
  }

  deinit { if !isKept { try? Kernel.remove(path) } }

  /// Appends bytes.
  /// - Throws: `diskFull` also if they would use the space left for the database.
  package func append(_ bytes: RawSpan) throws(StoreError) {
    bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
    size += Int64(bytes.byteCount)
    if pending.count >= Self.batch { try flush() }
  }

  private func flush() throws(StoreError) {
    let bytes = pending
    pending.removeAll(keepingCapacity: true)
    hasher.update(bytes.span.bytes)
    try derived.space.taking(room + bytes.count) { () throws(StoreError) in
      try StoreError.disk { () throws(SystemError) in
        try Kernel.write(bytes.span.bytes, to: file, path: path)
      }
    }
    room = 0
  }

  /// Makes the file durable, and then the pack known; it can't be called twice.
  package func keep() throws(StoreError) -> StoredPack {
    try flush()
    try StoreError.disk { () throws(SystemError) in try Kernel.sync(file, path: path) }
    let pack = StoredPack(
      base: ends.base, version: ends.version, sha256: hasher.finish(), size: size, isPushed: false)
    try derived.keep(pack, ends, from: path, of: channel)
    isKept = true
    return pack
  }
}
