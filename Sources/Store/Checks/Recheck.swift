import System

// Whoever sends from an open file finds that bytes of it are missing: somebody cut it short on the disk.
extension Store {
  /// Reads a blob again; a bad one is set aside. Whoever has it open opens it anew in any case.
  /// - Throws: `corruptBlob`; `unknownBlob`, `system`.
  package func recheck(_ sha256: SHA256) throws(StoreError) {
    defer { changes.changed() }
    _ = try blobs.openChecked(sha256)
  }

  /// Reads a file under `derived/` again; a bad one is dropped. Whoever has it open opens it anew in any case.
  package func recheckDerived(_ path: String) throws(StoreError) {
    defer { changes.changed() }
    _ = try derived.openFile(path)
  }
}
