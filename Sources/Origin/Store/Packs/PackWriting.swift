import Manifests
import System

/// Temporary storage for bytes: a few in memory, the rest in an unnamed file that is removed with its last owner.
package final class ScratchFile: Sendable {
  private let path: String
  private let space: FileSpace
  private let state = Locked(State())

  private struct State {
    var memory: [UInt8] = []
    var file: File?
    /// The number of bytes in the file.
    var count: Int64 = 0
  }

  private final class File: Sendable {
    let descriptor: Descriptor

    /// Creates a file at `path` and removes its name.
    init(_ path: String) throws(SystemError) {
      descriptor = try Kernel.open(path, [.readWrite, .create, .exclusive], mode: 0o600)
      try Kernel.remove(path)
    }
  }

  /// The most bytes that are kept in memory. Most packs are smaller, and need no descriptor.
  private static let maxInMemory = 1 << 20

  /// Creates storage that takes space from that of the store's files.
  package init(in store: DerivedStore) {
    space = store.space
    // Named like an incoming file, which is swept if the process ends before it removes the name.
    path = "\(store.folder.temporary)/incoming-pack-\(Hex.encode(Secrets.random(6).span.bytes))"
  }

  /// Appends bytes, from any thread, and returns their range.
  /// - Throws: `diskFull` also if they would use the space left for the database; the disk's errors. Then the file can't be
  ///   used any more.
  package func append(_ bytes: [UInt8]) throws(StoreError) -> Range<Int64> {
    try state.withLock { (state) throws(StoreError) -> Range<Int64> in
      let start = Int64(state.memory.count) + state.count
      let end = start + Int64(bytes.count)
      if state.file == nil, end <= Int64(Self.maxInMemory) {
        state.memory += bytes
        return start..<end
      }
      // The file takes a block more than its bytes at most.
      let room = bytes.count + (state.file == nil ? FileSpace.blockSize : 0)
      state.file = try space.taking(room) { [file = state.file] () throws(StoreError) in
        try StoreError.disk { () throws(SystemError) in
          let file = if let file { file } else { try File(path) }
          try Kernel.write(bytes.span.bytes, to: file.descriptor)
          return file
        }
      }
      state.count += Int64(bytes.count)
      return start..<end
    }
  }

  /// Calls `body` with the bytes of an appended range, piece by piece.
  func read(_ range: Range<Int64>, _ body: (RawSpan) throws(StoreError) -> Void) throws(StoreError) {
    let (memory, file, shift) = state.withLock { state in
      let count = Int64(state.memory.count)
      return range.upperBound <= count
        ? (Array(state.memory[Int(range.lowerBound)..<Int(range.upperBound)]), nil, 0)
        : ([], state.file, count)
    }
    guard let file else { return try body(memory.span.bytes) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound - shift
    let end = range.upperBound - shift
    while offset < end {
      let part = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<Int(min(Int64(buffer.count), end - offset))])
      let read = try StoreError.disk { () throws(SystemError) in
        let read = try Kernel.read(file.descriptor, at: offset, into: part)
        guard read > 0 else { throw SystemError("pread", code: .ioError) }
        return read
      }
      try body(UnsafeRawBufferPointer(rebasing: part[..<read]).bytes)
      offset += Int64(read)
    }
  }
}

/// The parts that a pack is assembled from.
package struct PackParts: Sendable {
  /// The header and the change list.
  package let head: [UInt8]
  /// Each record's header, and the range of its frame in `frames`.
  package let records: [(head: [UInt8], frame: Range<Int64>)]
  package let frames: ScratchFile

  package init(head: [UInt8], records: [(head: [UInt8], frame: Range<Int64>)], frames: ScratchFile) {
    self.head = head
    self.records = records
    self.frames = frames
  }

  /// The size of the pack in bytes.
  package var size: Int64 {
    records.reduce(Int64(head.count)) { $0 + Int64($1.head.count) + Int64($1.frame.count) }
  }
}

extension DerivedStore {
  /// Assembles a pack and stores it.
  /// - Throws: `diskFull` also if it would use the space left for the database.
  package func keep(_ parts: PackParts, _ ends: PackEnds, of channel: Int64) throws(StoreError) -> StoredPack
  {
    let folder = folder.packs(of: channel)
    let part = "\(folder)/\(Hex.encode(Secrets.random(6).span.bytes)).part"
    do throws(StoreError) {
      try StoreError.disk { () throws(SystemError) in try Kernel.makeFolder(folder, mode: 0o750) }
      let sha256 = try write(parts, to: part)
      let pack = StoredPack(
        base: ends.base, version: ends.version, sha256: sha256, size: parts.size, isPushed: false)
      try keep(pack, ends, from: part, of: channel)
      return pack
    } catch {
      try? Kernel.remove(part)
      throw error
    }
  }

  /// Gives a pack's file its name, and makes the pack known. Its bytes must be durable.
  func keep(_ pack: StoredPack, _ ends: PackEnds, from part: String, of channel: Int64) throws(StoreError) {
    // The digest first, so that whoever opens the file can compare it; the pack's own row last, so that whoever finds
    // it also finds the file.
    try noteFile(path(of: pack, channel), pack.sha256, size: pack.size)
    try StoreError.disk { () throws(SystemError) in
      try Kernel.rename(part, to: path(of: pack, channel))
      try Kernel.syncFolder(folder.packs(of: channel))
    }
    try work { (db) throws(StoreError) in try note(pack, ends, of: channel, in: db) }
  }

  private func write(_ parts: PackParts, to path: String) throws(StoreError) -> SHA256 {
    let file = try StoreError.disk { () throws(SystemError) in
      try Kernel.open(path, [.write, .create, .exclusive], mode: 0o640)
    }
    var hasher = SHA256Hasher()
    var pending = parts.head
    var room = FileSpace.blockSize
    func flush() throws(StoreError) {
      let bytes = pending
      pending.removeAll(keepingCapacity: true)
      hasher.update(bytes.span.bytes)
      try space.taking(room + bytes.count) { () throws(StoreError) in
        try StoreError.disk { () throws(SystemError) in
          try Kernel.write(bytes.span.bytes, to: file, path: path)
        }
      }
      room = 0
    }
    for record in parts.records {
      pending += record.head
      try parts.frames.read(record.frame) { (bytes) throws(StoreError) in
        bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
        if pending.count >= 1 << 20 { try flush() }
      }
    }
    try flush()
    try StoreError.disk { () throws(SystemError) in try Kernel.sync(file, path: path) }
    return hasher.finish()
  }
}
