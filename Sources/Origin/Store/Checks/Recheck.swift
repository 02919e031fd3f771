import System

// For whoever sends from an open file and finds bytes missing, because the file was truncated on the disk.
extension Store {
  /// Reads a blob again and quarantines a bad one. Whoever has it open opens it again in any case.
  /// - Throws: `corruptBlob`; `unknownBlob`, `system`.
  package func recheck(_ sha256: SHA256) throws(StoreError) {
    defer { changes.changed() }
    _ = try blobs.openChecked(sha256)
  }

  /// Reads a file under `derived/` again and removes a bad one. Whoever has it open opens it again in any case.
  package func recheckDerived(_ path: String) throws(StoreError) {
    defer { changes.changed() }
    _ = try derived.openFile(path)
  }
}
