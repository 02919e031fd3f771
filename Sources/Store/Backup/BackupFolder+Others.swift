import Glibc
import Platform

extension BackupFolder {
  /// - Throws: `badBackupPlace` for what somebody else has in the folder.
  func refuseOthers() throws(StoreError) {
    let path = folder.path
    let (copy, isOthers) = try StoreError.disk { () throws(SystemError) in
      (try Folder.holder(of: "mirror.json", from: path), try hasOthersBlobs())
    }
    if let copy {
      throw .badBackupPlace(
        path: path,
        reason: "\(copy) is a static copy that the web may read, and a backup has tokens and names")
    }
    if isOthers {
      throw .badBackupPlace(path: path, reason: "it has files in blobs, and isn't a backup")
    }
  }

  /// Whether files are in `blobs` of which no run of `backup` can be the cause: each makes a database first.
  private func hasOthersBlobs() throws(SystemError) -> Bool {
    for own in [folder.database, notes, partialDatabase] where try Kernel.status(own) != nil { return false }
    guard let blobs = try Kernel.status(folder.blobs) else { return false }
    if blobs.kind != .folder { return true }
    for name in try Folder.names(folder.blobs) {
      guard let name = String(validating: name, as: UTF8.self),
        try Kernel.status("\(folder.blobs)/\(name)")?.kind == .folder,
        try Folder.names("\(folder.blobs)/\(name)").isEmpty
      else { return true }
    }
    return false
  }

  /// A blob's file; nil where there is none, or none that can be read.
  func openBlob(_ sha256: SHA256) throws(SystemError) -> Descriptor? {
    do throws(SystemError) {
      return try Kernel.openExisting(folder.blob(sha256), O_RDONLY | O_NONBLOCK)
    } catch  where error.isOfFile {
      return nil
    }
  }
}
