import System
import Trust

// The keys with which this origin signs heads: files of its data folder, which nobody else may read.
extension Store {
  /// The public keys with which this origin can sign heads, newest first.
  package func headKeys() throws(StoreError) -> [TrustKey] { try headKeyPairs().map(\.trustKey) }

  /// The newest key for heads, made if there is none, or if another one is asked for.
  /// - Parameter record: keeps the answer for retries.
  package func makeHeadKey(
    another: Bool, by actor: Actor, record: AnswerRecord<(key: TrustKey, isNew: Bool)>? = nil
  ) throws(StoreError) -> (key: TrustKey, isNew: Bool) {
    try connections.transaction(keeping: record, now: clock()) {
      (db) throws(StoreError) -> (key: TrustKey, isNew: Bool) in
      if !another, let known = try headKeyPairs().first { return (known.trustKey, false) }
      let key = P256PrivateKey()
      // The file first: a key that the trail names is there.
      try write(key)
      try db.audit(
        AuditEvent("trust.head-key", result: ["key": .string(key.trustKey.id.text)]), by: actor, now: clock())
      return (key.trustKey, true)
    }
  }

  /// The keys for heads, newest first. A file that is none is left alone.
  func headKeyPairs() throws(StoreError) -> [P256PrivateKey] {
    let folder = folder.keys
    return try StoreError.disk { () throws(SystemError) in
      guard try Kernel.status(folder)?.kind == .folder else { return [] }
      var found: [(modified: Int64, name: String, key: P256PrivateKey)] = []
      for name in try Folder.textNames(folder) where name.hasPrefix("head-") && name.hasSuffix(".pem") {
        let path = "\(folder)/\(name)"
        guard let status = try Kernel.status(path), status.kind == .file, status.size <= Self.keyFileLimit,
          let pem = try DurableFile.read(path), let key = try? P256PrivateKey(pem: pem)
        else { continue }
        found.append((status.modified, name, key))
      }
      return found.sorted { ($1.modified, $1.name) < ($0.modified, $0.name) }.map(\.key)
    }
  }

  /// Far more than a key has, in bytes.
  private static let keyFileLimit: Int64 = 16_384

  private func write(_ key: P256PrivateKey) throws(StoreError) {
    let folder = folder.keys
    try StoreError.disk { () throws(SystemError) in
      if try Kernel.status(folder) == nil {
        try Kernel.makeFolder(folder, mode: 0o700)
        try Kernel.syncFolder(self.folder.path)
      }
      let name = "head-\(key.trustKey.id.text.prefix(16)).pem"
      try DurableFile.write(key.pem(), to: "\(folder)/\(name)", mode: 0o600, replaces: false)
    }
  }
}
