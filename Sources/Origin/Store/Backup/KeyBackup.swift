import System

/// How a backup keeps the keys with which the origin signs heads.
package enum KeyProtection: Sendable {
  /// Encrypted with this passphrase.
  case passphrase([UInt8])
  /// As they are: for a backup that is encrypted as a whole.
  case none
}

/// The keys for heads in a data folder or a backup: `keys/head-….pem`.
enum KeyBackup {
  /// The largest file that is read, in bytes: far more than a key has.
  private static let limit = 16_384

  /// The files that may be keys, ordered by name.
  private static func files(of folder: DataFolder) throws(SystemError) -> [(name: String, pem: [UInt8])] {
    guard try Kernel.status(folder.keys)?.kind == .folder else { return [] }
    var files: [(name: String, pem: [UInt8])] = []
    for name in try Folder.textNames(folder.keys).sorted()
    where name.hasPrefix("head-") && name.hasSuffix(".pem") {
      let path = "\(folder.keys)/\(name)"
      guard let status = try Kernel.status(path), status.kind == .file, status.size <= Int64(limit),
        let pem = try DurableFile.read(path, limit: limit)
      else { continue }
      files.append((name, pem))
    }
    return files
  }

  /// The number of keys of a folder.
  static func count(in folder: DataFolder) throws(StoreError) -> Int {
    try StoreError.disk { () throws(SystemError) in try files(of: folder).count }
  }

  /// Copies the keys of a data folder to a backup.
  /// - Returns: how many there are.
  static func copy(from source: DataFolder, to target: DataFolder, _ protection: KeyProtection)
    throws(StoreError) -> Int
  {
    var copies: [(name: String, pem: [UInt8])] = []
    for file in try StoreError.disk({ () throws(SystemError) in try files(of: source) }) {
      guard let key = try? P256PrivateKey(pem: file.pem) else { continue }
      switch protection {
      case .passphrase(let phrase): copies.append((file.name, key.pem(passphrase: phrase)))
      case .none: copies.append((file.name, key.pem()))
      }
    }
    try write(copies, to: target)
    return copies.count
  }

  /// Reads the keys of a backup.
  ///
  /// - Parameter passphrase: nil if none was given.
  /// - Returns: the keys as a data folder has them, and how many were left out, since they have a passphrase and not this one.
  static func read(_ backup: DataFolder, passphrase: [UInt8]?) throws(StoreError)
    -> (keys: [(name: String, pem: [UInt8])], left: Int)
  {
    var keys: [(name: String, pem: [UInt8])] = []
    var left = 0
    for file in try StoreError.disk({ () throws(SystemError) in try files(of: backup) }) {
      if let key = try? P256PrivateKey(pem: file.pem, passphrase: passphrase) {
        keys.append((file.name, key.pem()))
      } else {
        left += 1
      }
    }
    return (keys, left)
  }

  /// Writes keys that only the folder's owner may read.
  static func write(_ keys: [(name: String, pem: [UInt8])], to folder: DataFolder) throws(StoreError) {
    if keys.isEmpty { return }
    try StoreError.disk { () throws(SystemError) in
      if try Kernel.status(folder.keys) == nil { try Kernel.makeFolder(folder.keys, mode: 0o700) }
      for key in keys { try DurableFile.write(key.pem, to: "\(folder.keys)/\(key.name)", mode: 0o600) }
      try Kernel.syncFolder(folder.path)
    }
  }
}
