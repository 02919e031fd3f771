import System

/// Bytes that can be read at any offset, by several threads at once: an archive, or a file to be added to one.
package protocol ArchiveSource: Sendable {
  /// The size in bytes.
  var size: Int64 { get }

  /// Reads into `buffer` from `offset` on and returns the number of bytes read; 0 only at the end.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int
}

/// An open file.
package final class ArchiveFile: ArchiveSource {
  private let file: Descriptor
  /// The size of the file, in bytes.
  package let size: Int64

  /// Takes ownership of an open file of `size` bytes.
  package init(_ file: consuming Descriptor, size: Int64) {
    self.file = file
    self.size = size
  }

  /// Opens a file.
  package convenience init(_ path: String) throws(SystemError) {
    let file = try Kernel.open(path, .read)
    let size = try Kernel.status(file).size
    self.init(file, size: size)
  }

  /// Reads into `buffer` from `offset` on and returns the number of bytes read; 0 at the end.
  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int
  {
    try ArchiveError.kernel { () throws(SystemError) in try Kernel.read(file, at: offset, into: buffer) }
  }
}

/// Bytes in memory.
package struct ArchiveBytes: ArchiveSource {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The number of bytes.
  package var size: Int64 { Int64(bytes.count) }

  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(ArchiveError) -> Int
  {
    guard offset >= 0, offset < size else { return 0 }
    let count = min(buffer.count, bytes.count - Int(offset))
    buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + count])
    return count
  }
}

extension ArchiveSource {
  /// Returns up to `count` bytes from `offset` on; fewer only if the source ends.
  func bytes(at offset: Int64, count: Int) throws(ArchiveError) -> [UInt8] {
    var failure: ArchiveError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      do throws(ArchiveError) {
        filled = try fill(UnsafeMutableRawBufferPointer(buffer), from: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }

  /// Fills `buffer` from `offset` on and returns how much was filled; less only if the source ends.
  func fill(_ buffer: UnsafeMutableRawBufferPointer, from offset: Int64) throws(ArchiveError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
      let count = try read(at: offset + Int64(filled), into: rest)
      if count == 0 { break }
      filled += count
    }
    return filled
  }
}
