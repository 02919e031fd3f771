import System

/// Writes what arrives of a file, and hashes it.
struct PartWriter: ~Copyable {
  private let part: PartFile
  private let file: Descriptor
  private var hasher: FileHasher
  /// The number of bytes of the file that are right so far; the next ones are written there.
  private(set) var position: Int64

  private init(
    _ part: PartFile, _ file: consuming Descriptor, _ hasher: consuming FileHasher, at position: Int64
  ) {
    self.part = part
    self.file = file
    self.hasher = hasher
    self.position = position
  }

  /// Opens the file, and reads what earlier attempts received; nothing if that is all of `size` bytes or more.
  static func open(_ part: PartFile, below size: Int64) throws(ClientError) -> PartWriter {
    var hasher = FileHasher()
    var count: Int64 = 0
    let file = try onDisk(part.path) { () throws(SystemError) in
      let file = try Kernel.open(part.path, [.readWrite, .create, .noFollow])
      try CacheFolder.read(file) { bytes throws(SystemError) in
        hasher.update(bytes)
        count += Int64(bytes.byteCount)
      }
      if count >= size { try Kernel.truncate(file, to: 0) }
      return file
    }
    guard count >= size else { return PartWriter(part, file, hasher, at: count) }
    return PartWriter(part, file, FileHasher(), at: 0)
  }

  /// Takes the head of an answer: the rest of the file, or all of it.
  ///
  /// A server without ranges sends what is here once more. Those bytes stay until new ones take their place, so that a
  /// connection that breaks before they are reached costs nothing; only another tag shows that they are of another file.
  mutating func begin(_ head: TransportHead) throws(ClientError) {
    guard head.start == 0 else { return }
    let tag = part.tag
    if position == 0 {
      try part.keepTag(of: head)
    } else if let tag, let new = head.entityTag, new != tag {
      try truncate(to: 0)
      try part.keepTag(of: head)
    }
    hasher = FileHasher()
    position = 0
  }

  mutating func write(_ bytes: RawSpan) throws(ClientError) {
    hasher.update(bytes)
    do throws(SystemError) {
      try Kernel.write(bytes, to: file, at: position)
    } catch {
      throw ClientError(error, path: part.path)
    }
    position += Int64(bytes.byteCount)
  }

  /// Returns the digest of the file, and cuts off what is left of a longer one.
  mutating func finish() throws(ClientError) -> FileDigest {
    try truncate(to: position)
    return hasher.finish()
  }

  private func truncate(to size: Int64) throws(ClientError) {
    do throws(SystemError) {
      try Kernel.truncate(file, to: size)
    } catch {
      throw ClientError(error, path: part.path)
    }
  }
}
