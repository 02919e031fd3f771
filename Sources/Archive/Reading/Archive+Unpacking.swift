import System

extension Archive {
  /// Writes the files that `includes` lets through below `folder`, which exists and is empty.
  ///
  /// - Throws: as `read`; then some files are there, and the folder is the caller's to remove.
  package func unpack(
    to folder: String, where includes: (Entry) -> Bool = { _ in true }
  ) throws(ArchiveError) {
    for entry in entries where !entry.isFolder && includes(entry) {
      let path = "\(folder)/\(entry.name)"
      let file = try ArchiveError.kernel { () throws(SystemError) in
        try Kernel.makeFolder(DurableFile.parent(of: path))
        // Nothing is followed or overwritten, whatever the names are.
        return try Kernel.open(path, [.write, .create, .exclusive, .noFollow])
      }
      try read(entry) { bytes throws(ArchiveError) in
        try ArchiveError.kernel { () throws(SystemError) in try Kernel.write(bytes, to: file, path: path) }
      }
    }
  }
}
