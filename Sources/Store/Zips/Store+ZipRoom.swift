import Glibc
import Platform

extension Store {
  /// Removes what a stopped process left half written; not what another one may be writing now.
  package func sweepZips() throws(StoreError) {
    let limit = (clock() - BlobStore.patience) * 1_000_000
    try StoreError.disk { () throws(SystemError) in
      for path in try Self.zipFiles(folder.zips) where path.hasSuffix(".part") {
        if let status = try Kernel.status(path), status.modified < limit { try Kernel.remove(path) }
      }
    }
  }

  /// Removes zips of whole versions, the least recently used first, until all zips together take at most `limit`
  /// bytes. Those of updates stay, since they are never made again.
  /// - Returns: whether they do now.
  package func trimZips(to limit: Int64) throws(StoreError) -> Bool {
    try StoreError.disk { () throws(SystemError) in
      var total: Int64 = 0
      var whole: [(path: String, status: FileStatus)] = []
      for path in try Self.zipFiles(folder.zips) {
        guard path.hasSuffix(".zip"), let status = try Kernel.status(path) else { continue }
        total += status.size
        if Self.isWhole(path) { whole.append((path, status)) }
      }
      for (path, status) in whole.sorted(by: { $0.status.modified < $1.status.modified }) where total > limit
      {
        try Kernel.remove(path)
        total -= status.size
      }
      return total <= limit
    }
  }

  static func zipFiles(_ folder: String) throws(SystemError) -> [String] {
    guard try Kernel.status(folder) != nil else { return [] }
    var files: [String] = []
    for channel in try Folder.textNames(folder) {
      for name in try Folder.textNames("\(folder)/\(channel)") {
        files.append("\(folder)/\(channel)/\(name)")
      }
    }
    return files
  }

  private static func isWhole(_ path: String) -> Bool {
    let name = path[(path.lastIndex(of: "/") ?? path.startIndex)...].prefix { $0 != "." }
    return !name.contains("-")
  }
}
