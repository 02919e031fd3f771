import Glibc
import Platform

// What a check-up asks of the files; it changes nothing.
extension BlobStore {
  /// What is wrong with a blob's file; nil where nothing is.
  func problem(_ sha256: SHA256, size: Int64, deep: Bool) throws(StoreError) -> String? {
    let path = folder.blob(sha256)
    do {
      switch try Kernel.openFile(path) {
      case .missing: return "is missing"
      case .other: return "is no regular file"
      case .file(let file, let status):
        if status.size != size { return "has \(status.size) bytes, not \(size)" }
        if deep, try Self.digest(of: file).sha256 != sha256 { return "has other bytes than its name says" }
        return nil
      }
    } catch  where error.isOutOfDescriptors {
      throw StoreError(error)
    } catch  where error.code == EIO {
      return "can't be read from the disk"
    } catch {
      return "can't be read: \(error.reason)"
    }
  }

  /// Whether a blob is still meant to be good.
  func counts(_ sha256: SHA256) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in
      try Self.row(of: sha256, in: db).map { !$0.isQuarantined } ?? false
    }
  }

  func hasRow(_ sha256: SHA256) throws(StoreError) -> Bool {
    try connections.reading { (db) throws(StoreError) in try Self.row(of: sha256, in: db) != nil }
  }

  /// Every file under `blobs/`, whether or not a row names it.
  func files() throws(StoreError) -> [SHA256] {
    try StoreError.disk { () throws(SystemError) in
      var found: [SHA256] = []
      for prefix in try Folder.textNames(folder.blobs) {
        for name in try Folder.textNames("\(folder.blobs)/\(prefix)") {
          if let sha256 = SHA256(hex: prefix + name) { found.append(sha256) }
        }
      }
      return found
    }
  }
}
