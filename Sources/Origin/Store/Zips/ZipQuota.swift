import Manifests
import System

/// How much of the disk the zips of all channels may take.
package enum ZipQuota: Hashable, Sendable {
  /// Percent of the free space, counting what zips already take as free.
  case share(Int)
  case bytes(Int64)

  /// The default unless the operator sets another.
  package static let standard = ZipQuota.share(10)
  /// The percentages that may be set.
  package static let shares = 1...90

  /// The space that stays free in any case, so that there is room to publish: a twentieth of the disk, but at most 10 GiB.
  static func reserve(on disk: DiskSpace) -> Int64 { min(disk.size / 20, 10 << 30) }

  /// The most bytes that zips may take on a disk on which they currently take `used`.
  func limit(on disk: DiskSpace, used: Int64) -> Int64 {
    let (sum, overflows) = disk.available.addingReportingOverflow(used)
    let free = overflows ? .max : sum
    let wanted =
      switch self {
      case .share(let percent): free / 100 * Int64(percent)
      case .bytes(let bytes): bytes
      }
    return max(0, min(wanted, free - Self.reserve(on: disk)))
  }
}

// An update's zip that was removed for room is never built again, because deltas added since would give it other bytes
// under the same URL. An empty file `<name>.<key>.dropped.zip` marks it until gc removes the versions.
extension Store {
  /// Removes zips and packs that a stopped process left half written, but not those that a thread may still be writing.
  package func sweepZips() throws(StoreError) {
    try sweepZips(before: (clock() - BlobStore.gracePeriod) * 1_000_000)
  }

  /// Removes those that were last written to before a time, in nanoseconds since 1970.
  func sweepZips(before limit: Int64) throws(StoreError) {
    try StoreError.disk { () throws(SystemError) in
      let packs = try folder.packNames().map { "\(folder.packs)/\($0.channel)/\($0.name)" }
      for path in try folder.zipFiles() + packs where path.hasSuffix(".part") {
        if let status = try Kernel.status(path), status.modified < limit { try Kernel.remove(path) }
      }
    }
  }

  /// Removes zips, except those of channels' complete newest versions, until the rest and `size` more bytes fit into
  /// the room: the least recently used first, updates to newest versions last.
  ///
  /// - Parameters:
  ///   - quota: the limit for zips.
  ///   - disk: the space on the disk.
  ///   - size: the bytes needed.
  ///   - isNewest: whether they are for the zip of a channel's complete newest version, which may exceed the limit as
  ///     long as the disk keeps its reserve.
  /// - Returns: whether there is room.
  package func makeRoom(_ quota: ZipQuota, on disk: DiskSpace, for size: Int64, isNewest: Bool)
    throws(StoreError) -> Bool
  {
    var newest: [Int64: ManifestVersion] = [:]
    for channel in try channels() { newest[channel.id] = channel.version }
    return try StoreError.disk { () throws(SystemError) in
      var total: Int64 = 0
      var older: [(file: ZipFile, status: FileStatus, isCurrent: Bool)] = []
      for path in try folder.zipFiles() {
        guard let file = ZipFile(path), let status = try Kernel.status(path) else { continue }
        total += status.size
        let isCurrent = newest[file.channel] == file.version
        if !file.isDropped, file.isUpdate || !isCurrent { older.append((file, status, isCurrent)) }
      }
      let (limit, before) = (quota.limit(on: disk, used: total), total)
      let order = older.sorted {
        $0.isCurrent == $1.isCurrent ? $0.status.modified < $1.status.modified : $1.isCurrent
      }
      for (file, status, _) in order
      where size > limit - total {
        try Self.drop(file)
        total -= status.size
      }
      if size <= limit - total { return true }
      return isNewest && size <= disk.available + (before - total) - ZipQuota.reserve(on: disk)
    }
  }

  /// Whether an update's zip was removed for room.
  /// - Throws: `unknownVersion`.
  package func isDropped(_ zip: BundleZip, of channel: ChannelInfo) throws(StoreError) -> Bool {
    let path = "\(folder.zips(of: channel))/\(try zipKey(zip, of: channel))\(ZipFile.droppedEnding)"
    return try StoreError.disk { () throws(SystemError) in try Kernel.status(path) != nil }
  }

  private static func drop(_ file: ZipFile) throws(SystemError) {
    if file.isUpdate { try DurableFile.write([], to: file.droppedPath) }
    try Kernel.remove(file.path)
  }
}

extension DataFolder {
  /// All files under `derived/zips`, with their channel's folder.
  func zipNames() throws(SystemError) -> [(channel: String, name: String)] {
    guard try Kernel.status(zips) != nil else { return [] }
    var names: [(channel: String, name: String)] = []
    for channel in try Folder.textNames(zips) {
      for name in try Folder.textNames("\(zips)/\(channel)") { names.append((channel, name)) }
    }
    return names
  }

  /// The paths of all files under `derived/zips`.
  func zipFiles() throws(SystemError) -> [String] {
    try zipNames().map { "\(zips)/\($0.channel)/\($0.name)" }
  }
}

/// A stored zip as identified by its path: `…/<channel>/<name>.<key>.<tag>.zip`.
struct ZipFile {
  let path: String
  let channel: Int64
  /// The version that it leads to.
  let version: ManifestVersion
  let isUpdate: Bool
  let isDropped: Bool
  /// The path of the file that marks it as dropped.
  let droppedPath: String

  static let droppedEnding = ".dropped.zip"

  /// Parses a path; nil if it isn't a zip's.
  init?(_ path: String) {
    let parts = path.split(separator: "/").suffix(2)
    guard parts.count == 2, let folder = parts.first, let name = parts.last, name.hasSuffix(".zip"),
      let channel = Int64(folder)
    else { return nil }
    // The last two parts are the tag and the extension. Before them is the key, and before that the name, which may contain a dot.
    let key = name.split(separator: ".").dropLast(2)
    guard let zip = BundleZip(fileName: "\(key.dropLast().joined(separator: ".")).zip") else { return nil }
    self.path = path
    self.channel = channel
    version = zip.version
    isUpdate = zip.base != nil
    isDropped = name.hasSuffix(Self.droppedEnding)
    droppedPath = "\(DurableFile.parent(of: path))/\(key.joined(separator: "."))\(Self.droppedEnding)"
  }
}
