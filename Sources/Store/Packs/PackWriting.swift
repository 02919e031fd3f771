import Manifests
import System

/// Bytes that are put aside for a while, in a file without a name that goes with its last owner.
package final class ScratchFile: Sendable {
  private let file: Descriptor
  private let end = Locked<Int64>(0)

  package init(in folder: DataFolder) throws(StoreError) {
    // The name of what is arriving, which is swept should the process end between these two calls.
    let path = "\(folder.temporary)/incoming-pack-\(Hex.encode(Secrets.random(6).span.bytes))"
    file = try StoreError.disk { () throws(SystemError) in
      let file = try Kernel.open(path, [.readWrite, .create, .exclusive], mode: 0o600)
      try Kernel.remove(path)
      return file
    }
  }

  /// Puts bytes behind all others, from whatever thread; gives where they are.
  /// - Throws: the disk's errors; then the whole file is of no use.
  package func append(_ bytes: [UInt8]) throws(StoreError) -> Range<Int64> {
    try end.withLock { (end) throws(StoreError) -> Range<Int64> in
      try StoreError.disk { () throws(SystemError) in try Kernel.write(bytes.span.bytes, to: file) }
      let start = end
      end += Int64(bytes.count)
      return start..<end
    }
  }

  /// Hands over the bytes of a range, piece by piece.
  func read(_ range: Range<Int64>, _ body: (RawSpan) throws(SystemError) -> Void) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let count = Int(min(Int64(buffer.count), range.upperBound - offset))
      let read = try Kernel.read(
        file, at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
      guard read > 0 else { throw SystemError("pread", code: .ioError) }
      try body(UnsafeRawBufferPointer(rebasing: buffer[..<read]).bytes)
      offset += Int64(read)
    }
  }
}

/// All that a pack is put together of.
package struct PackParts: Sendable {
  /// The head and the change list.
  package let head: [UInt8]
  /// Each record's head, and where its frame is.
  package let records: [(head: [UInt8], frame: Range<Int64>)]
  package let frames: ScratchFile

  package init(head: [UInt8], records: [(head: [UInt8], frame: Range<Int64>)], frames: ScratchFile) {
    self.head = head
    self.records = records
    self.frames = frames
  }

  /// Bytes of the whole.
  package var size: Int64 {
    records.reduce(Int64(head.count)) { $0 + Int64($1.head.count) + Int64($1.frame.count) }
  }
}

extension DerivedStore {
  /// Puts a pack together and keeps it.
  package func keep(_ parts: PackParts, _ ends: PackEnds, of channel: Int64) throws(StoreError) -> StoredPack
  {
    let folder = folder.packs(of: channel)
    let part = "\(folder)/\(Hex.encode(Secrets.random(6).span.bytes)).part"
    do throws(StoreError) {
      let sha256 = try StoreError.disk { () throws(SystemError) in
        try Kernel.makeFolder(folder, mode: 0o750)
        return try Self.write(parts, to: part)
      }
      let pack = StoredPack(
        base: ends.base, version: ends.version, sha256: sha256, size: parts.size, isPushed: false)
      // The digest first, so that whoever opens the file finds what to compare it with; its own row last: who finds
      // that finds the file.
      try noteFile(path(of: pack, channel), sha256, size: pack.size)
      try StoreError.disk { () throws(SystemError) in
        try Kernel.rename(part, to: path(of: pack, channel))
        try Kernel.syncFolder(folder)
      }
      try work { (db) throws(StoreError) in try note(pack, ends, of: channel, in: db) }
      return pack
    } catch {
      try? Kernel.remove(part)
      throw error
    }
  }

  private static func write(_ parts: PackParts, to path: String) throws(SystemError) -> SHA256 {
    let file = try Kernel.open(path, [.write, .create, .exclusive], mode: 0o640)
    var hasher = SHA256Hasher()
    var pending = parts.head
    func flush() throws(SystemError) {
      let bytes = pending
      pending.removeAll(keepingCapacity: true)
      hasher.update(bytes.span.bytes)
      try Kernel.write(bytes.span.bytes, to: file, path: path)
    }
    for record in parts.records {
      pending += record.head
      try parts.frames.read(record.frame) { (bytes) throws(SystemError) in
        bytes.withUnsafeBytes { pending.append(contentsOf: $0) }
        if pending.count >= 1 << 20 { try flush() }
      }
    }
    try flush()
    try Kernel.sync(file, path: path)
    return hasher.finish()
  }
}
