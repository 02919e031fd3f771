import Manifests
import System

/// Finds files under `derived/` that are about blobs or versions that are not kept.
struct DerivedSweep {
  let store: Store

  /// Files that can go now; what is known of them and of blobs that went is forgotten.
  func unneeded() throws(StoreError) -> [String] {
    // The files and rows first: what is made meanwhile is made of what is kept. Then what waits for a release, whose
    // deltas are made while it is only planned; then the blobs, since a release may take it from there to here.
    let files = try files()
    let known = try store.derived.known()
    let waiting = store.blobs.waitingNames
    let (rows, versions) = try store.connections.reading { (db) throws(StoreError) in
      let blobs = try BlobRow.names(in: db).map(\.hex)
      var versions: [String: Set<Int64>] = [:]
      try db.each("SELECT channel_id, version FROM release") { row in
        versions[String(row.get(0, as: Int64.self)), default: []].insert(row.get(1))
      }
      return (Set(blobs), versions)
    }
    let blobs = waiting.union(rows)
    try store.derived.forget(known, exceptAbout: blobs)
    return Self.filter(files, blobs, versions)
  }

  /// Files that could go if these were the blobs and the versions of channels (by id).
  func unneeded(blobs: Set<String>, versions: [String: Set<Int64>]) throws(StoreError) -> [String] {
    Self.filter(try files(), blobs.union(store.blobs.waitingNames), versions)
  }

  private struct File {
    let path: String
    /// The folder that it is in.
    let folder: String
    let name: String
    let isZip: Bool
  }

  private static func filter(_ files: [File], _ blobs: Set<String>, _ versions: [String: Set<Int64>])
    -> [String]
  {
    files.filter { file in
      file.isZip
        ? !isNeeded(zip: file.name, versions[file.folder] ?? [])
        : !isNeeded(file.folder + file.name, blobs)
    }.map(\.path)
  }

  /// `553.<key>.<tag>.zip`, `552-553.<key>.<tag>.zip` and `552-553.delta.<key>.<tag>.zip`: both ends of an update must be kept.
  private static func isNeeded(zip name: String, _ versions: Set<Int64>) -> Bool {
    name.prefix { $0 != "." }.split(separator: "-").allSatisfy { text in
      Int64(text).map { $0 == 0 || versions.contains($0) } ?? true
    }
  }

  /// `<sha256>.gzip`, `<sha256>.<sha256 of the base>.dcz`: every blob that the name has must be stored. Names of
  /// another form are someone else's.
  private static func isNeeded(_ name: String, _ blobs: Set<String>) -> Bool {
    name.split(separator: ".").allSatisfy { part in
      part.utf8.count != 64 || SHA256(hex: String(part)) == nil || blobs.contains(String(part))
    }
  }

  private func files() throws(StoreError) -> [File] {
    try StoreError.disk { () throws(SystemError) in
      var files: [File] = []
      let root = store.folder.path + "/derived"
      guard try Kernel.status(root) != nil else { return files }
      for folder in try Folder.textNames(root) where folder.utf8.count == 2 {
        for name in try Folder.textNames("\(root)/\(folder)") {
          files.append(File(path: "\(root)/\(folder)/\(name)", folder: folder, name: name, isZip: false))
        }
      }
      for (channel, name) in try store.folder.zipNames() where name.hasSuffix(".zip") {
        let path = "\(store.folder.zips)/\(channel)/\(name)"
        files.append(File(path: path, folder: channel, name: name, isZip: true))
      }
      return files
    }
  }
}
