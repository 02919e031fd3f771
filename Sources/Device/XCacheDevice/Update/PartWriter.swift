import System

/// Writes what arrives of a file, and hashes it.
struct PartWriter: ~Copyable {
  private let part: PartFile
  private let file: Descriptor
  private var hasher: FileHasher
  /// The number of bytes of the file that are right so far; the next ones are written there.
  private(set) var position: Int64
  /// An answer that sends what is here once more, and where the bytes that are here end; nil if there is none.
  private var repeated: (head: TransportHead, end: Int64)?

  private init(
    _ part: PartFile, _ file: consuming Descriptor, _ hasher: consuming FileHasher, at position: Int64
  ) {
    self.part = part
    self.file = file
    self.hasher = hasher
    self.position = position
  }

  /// Opens the file, and reads what earlier attempts received; nothing if that is all of `size` bytes or more.
  static func open(_ part: PartFile, below size: Int64) throws(DeviceError) -> PartWriter {
    var hasher = FileHasher()
    var count: Int64 = 0
    let file = try onDisk(part.path) { () throws(SystemError) in
      try CacheFolder.clear(part.path)
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
  /// A server without ranges, or one that has another tag for the file, sends what is here once more. Those bytes stay as
  /// long as they are the same, so that a connection that breaks before their end costs nothing. If a CDN's nodes have tags
  /// of their own, the next attempt must go on without one; the digest decides.
  mutating func begin(_ head: TransportHead) throws(DeviceError) {
    guard head.start == 0 else { return }
    if position == 0 {
      try part.keepTag(of: head)
    } else {
      if part.tag != head.entityTag { try part.removeTag() }
      repeated = (head, end: position)
    }
    hasher = FileHasher()
    position = 0
  }

  mutating func write(_ bytes: RawSpan) throws(DeviceError) {
    hasher.update(bytes)
    let same = try skip(bytes)
    do throws(SystemError) {
      try Kernel.write(bytes.extracting(same...), to: file, at: position + Int64(same))
    } catch {
      throw DeviceError(error, path: part.path)
    }
    position += Int64(bytes.byteCount)
  }

  /// Returns how many of the next bytes are here already. At the first that differs, the rest of what is here goes.
  private mutating func skip(_ bytes: RawSpan) throws(DeviceError) -> Int {
    guard let (head, end) = repeated else { return 0 }
    let here = Int(min(Int64(bytes.byteCount), end - position))
    let same = try onDisk(part.path) { () throws(SystemError) in
      try bytes.extracting(..<here).commonPrefix(with: file, at: position)
    }
    if same < here {
      try truncate(to: position + Int64(same))
      try part.keepTag(of: head)
    }
    if same < bytes.byteCount { repeated = nil }
    return same
  }

  /// Returns the digest of the file, and cuts off what is left of a longer one.
  mutating func finish() throws(DeviceError) -> FileDigest {
    try truncate(to: position)
    return hasher.finish()
  }

  private func truncate(to size: Int64) throws(DeviceError) {
    do throws(SystemError) {
      try Kernel.truncate(file, to: size)
    } catch {
      throw DeviceError(error, path: part.path)
    }
  }
}

extension RawSpan {
  /// Returns how many bytes at the start are also in `file` from `offset` on.
  fileprivate func commonPrefix(
    with file: borrowing Descriptor, at offset: Int64
  ) throws(SystemError) -> Int {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { buffer.deallocate() }
    var done = 0
    while done < byteCount {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(byteCount - done))
      let count = try Kernel.read(file, at: offset + Int64(done), into: rest)
      let same = extracting(done..<done + count).withUnsafeBytes { bytes in
        zip(bytes, buffer).prefix { $0 == $1 }.count
      }
      done += same
      if same < count || count == 0 { break }
    }
    return done
  }
}
