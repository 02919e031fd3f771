import System

extension Archive {
  private static let step = 1 << 17

  /// Passes an entry's bytes to `receive` in order, piece by piece. Several threads may read at once.
  ///
  /// The bytes are valid only once the call returns: size and checksum are checked at the end.
  /// - Throws: `wrongSize`, `wrongChecksum`, `damaged(.data)`, `system`, or what `receive` throws.
  package func read(
    _ entry: Entry, _ receive: (RawSpan) throws(ArchiveError) -> Void
  ) throws(ArchiveError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * Self.step, alignment: 16)
    defer { buffer.deallocate() }
    let input = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.step])
    let output = UnsafeMutableRawBufferPointer(rebasing: buffer[Self.step...])
    var check = Check(entry: entry)
    var inflater = Inflater()
    var offset = entry.dataOffset
    var left = entry.compressedSize
    while left > 0 {
      let wanted = UnsafeMutableRawBufferPointer(rebasing: input[..<Int(min(Int64(Self.step), left))])
      guard try source.fill(wanted, from: offset) == wanted.count else {
        throw .damaged(.data, entry: entry.name)
      }
      offset += Int64(wanted.count)
      left -= Int64(wanted.count)
      let piece = UnsafeRawBufferPointer(wanted)
      if entry.method == .stored {
        try check.update(piece, receive)
        continue
      }
      let isSound = try inflater.update(piece, through: output) { made throws(ArchiveError) in
        try check.update(made, receive)
      }
      guard isSound else { throw .damaged(.data, entry: entry.name) }
    }
    guard entry.method == .stored || inflater.isAtEnd else { throw .damaged(.data, entry: entry.name) }
    try check.finish()
  }

  /// Returns all bytes of an entry; throws `tooLarge` if there are more than `limit`.
  package func bytes(of entry: Entry, limit: Int) throws(ArchiveError) -> [UInt8] {
    guard entry.size <= limit else { throw .tooLarge(bytes: UInt64(entry.size), limit: Int64(limit)) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Int(entry.size))
    try read(entry) { piece throws(ArchiveError) in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    return bytes
  }

  /// Checks an entry's bytes against its declared size and checksum.
  private struct Check {
    let entry: Entry
    private var crc = CRC32()
    private var count: Int64 = 0

    init(entry: Entry) { self.entry = entry }

    mutating func update(
      _ bytes: UnsafeRawBufferPointer, _ receive: (RawSpan) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
      count += Int64(bytes.count)
      // Checked at once, so that a false size costs no more than declared.
      guard count <= entry.size else { throw .wrongSize(entry.name) }
      crc.update(bytes)
      try receive(bytes.bytes)
    }

    func finish() throws(ArchiveError) {
      guard count == entry.size else { throw .wrongSize(entry.name) }
      guard crc.value == entry.crc else { throw .wrongChecksum(entry.name) }
    }
  }
}

extension Archive {
  /// Writes the files accepted by `includes` below `folder`, which must exist and be empty.
  ///
  /// - Throws: as `read`; some files may have been written, and removing the folder is up to the caller.
  package func unpack(
    to folder: String, where includes: (Entry) -> Bool = { _ in true }
  ) throws(ArchiveError) {
    for entry in entries where !entry.isFolder && includes(entry) {
      let path = "\(folder)/\(entry.name)"
      let file = try ArchiveError.kernel { () throws(SystemError) in
        try Kernel.makeFolder(DurableFile.parent(of: path))
        // Never follows links or overwrites files, whatever the names.
        return try Kernel.open(path, [.write, .create, .exclusive, .noFollow])
      }
      try read(entry) { bytes throws(ArchiveError) in
        try ArchiveError.kernel { () throws(SystemError) in try Kernel.write(bytes, to: file, path: path) }
      }
    }
  }
}
