import Linux
import Synchronization
import System

/// Copies files, and verifies their bytes while copying.
final class FileCopier: Sendable {
  /// Whether to try to clone files; false once the file system has refused.
  private let shares = Atomic<Bool>(true)

  private static let piece: Int64 = 1 << 18
  /// The size in bytes from which writeback is started early.
  private static let large: Int64 = 1 << 16

  /// Creates `target` as a clone of `source` where the file system can, else as a copy.
  /// - Throws: `wrongBytes` if the bytes aren't those expected.
  func copy(_ file: Placement, from source: String, to target: String) throws(MirrorError) -> MirrorIndex.File
  {
    let copied = try MirrorError.disk { () throws(SystemError) -> MirrorIndex.File? in
      let from = try Kernel.open(source, .read)
      // Readable by the web server, whatever the data folder's permissions are.
      let to = try Kernel.open(target, [.write, .create, .exclusive], mode: 0o644)
      if shares.load(ordering: .relaxed) {
        if Kernel.share(from, with: to) { return nil }
        shares.store(false, ordering: .relaxed)
      }
      return try Self.write(from, to, target, limit: file.size ?? .max)
    }
    guard let copied else { return try CopyCheck.require(file, at: target) }
    guard copied.size == file.size ?? copied.size, copied.sha256 == file.sha256 ?? copied.sha256 else {
      throw .wrongBytes(path: file.path)
    }
    return copied
  }

  /// Copies at most one piece more than `limit` bytes, and returns their hash and size.
  private static func write(
    _ source: borrowing Descriptor, _ target: borrowing Descriptor, _ path: String, limit: Int64
  ) throws(SystemError) -> MirrorIndex.File {
    var hasher = SHA256Hasher()
    var size: Int64 = 0
    let count = Int(min(limit, piece - 1)) + 1
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
    defer { buffer.deallocate() }
    while size <= limit {
      let count = try Kernel.read(source, into: buffer)
      if count == 0 { break }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes
      hasher.update(bytes)
      try Kernel.write(bytes, to: target, path: path)
      size += Int64(count)
    }
    if size >= large { Kernel.startWriting(target) }
    return MirrorIndex.File(sha256: hasher.finish(), size: size)
  }
}

/// Reads files back to verify them.
enum CopyCheck {
  /// Returns the hash and size of the file at `path`.
  /// - Throws: `wrongBytes` if they aren't those expected.
  static func require(_ placement: Placement, at path: String) throws(MirrorError) -> MirrorIndex.File {
    guard let found = try digest(path, upTo: placement.size ?? .max),
      found.size == placement.size ?? found.size, found.sha256 == placement.sha256 ?? found.sha256
    else { throw .wrongBytes(path: placement.path) }
    return found
  }

  /// Returns the sha256 and size of a file, or nil if it doesn't exist. Reading stops soon after `limit` bytes.
  static func digest(_ path: String, upTo limit: Int64 = .max) throws(MirrorError) -> MirrorIndex.File? {
    try MirrorError.disk { () throws(SystemError) -> MirrorIndex.File? in
      // Non-blocking: opening a FIFO would wait for a writer.
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
