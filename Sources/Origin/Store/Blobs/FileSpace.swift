import System

/// The space that files may still use on the disk of a data folder: those that are uploaded, and those that are made from them
/// (coded bodies, packs, zips). What remains is for the database.
final class FileSpace: Sendable {
  private let disk: Disk
  private let path: String
  private let state = Locked(UploadSpace())

  init(_ folder: DataFolder, _ disk: Disk) {
    path = folder.temporary
    self.disk = disk
  }

  /// Takes room for bytes and has `write` write them.
  /// - Throws: `diskFull` if they would use the space left for the database; the errors of `write`.
  func taking<Result>(_ bytes: Int, write: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    let bytes = Int64(bytes)
    let hasRoom = try state.withLock { (state) throws(StoreError) in
      try state.take(bytes) { () throws(StoreError) in try disk.uploadSpace(path) }
    }
    guard hasRoom else { throw .diskFull(path) }
    defer { state.withLock { $0.wrote(bytes) } }
    return try write()
  }

  /// What a file takes on the disk beyond its bytes, at most: the rest of its last block.
  static let blockSize = 4096
}
