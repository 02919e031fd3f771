import System

/// Reads files back.
enum FileCheck {
  /// What the file at `path` is.
  /// - Throws: `wrongBytes` where that isn't what was to be placed.
  static func require(_ placement: Placement, at path: String) throws(MirrorError) -> MirrorIndex.File {
    guard let found = try digest(path, upTo: placement.size ?? .max),
      found.size == placement.size ?? found.size, found.sha256 == placement.sha256 ?? found.sha256
    else { throw .wrongBytes(path: placement.path) }
    return found
  }

  /// The sha256 and size of a file, of its first `limit` bytes and some; nil where there is none.
  static func digest(_ path: String, upTo limit: Int64 = .max) throws(MirrorError) -> MirrorIndex.File? {
    try MirrorError.disk { () throws(SystemError) -> MirrorIndex.File? in
      // A pipe would be waited for.
      guard let file = try Kernel.openExisting(path, [.read, .nonBlocking]) else { return nil }
      var hasher = SHA256Hasher()
      var offset: Int64 = 0
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
      defer { buffer.deallocate() }
      while offset <= limit {
        let count = try Kernel.read(file, at: offset, into: buffer)
        if count == 0 { break }
        hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
        offset += Int64(count)
      }
      return MirrorIndex.File(sha256: hasher.finish(), size: offset)
    }
  }
}
