import HTTP
import Linux
import System
import TLS

/// Where a loop assembles its next TLS records: a head and the beginning of its body share one, and files are read here,
/// since the kernel can't send them directly.
final class RecordBuffer {
  /// Four records: the size of the pieces in which a file is read.
  private static let capacity = 4 * TLSSession.recordSize

  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  init() { memory = .allocate(byteCount: RecordBuffer.capacity, alignment: 4_096) }

  deinit { memory.deallocate() }

  /// The buffered bytes; valid until the next change.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// The unused part.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  func removeAll() { count = 0 }

  /// Appends as many of the bytes as fit.
  func append(_ bytes: UnsafeRawBufferPointer) {
    let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(space.count))
    space.copyMemory(from: part)
    count &+= part.count
  }

  /// Appends as many bytes of a file as fit; false if the file lacks them.
  func append(_ file: FileBody) -> Bool {
    var done: UInt64 = 0
    while done < file.count, !space.isEmpty {
      let wanted = Int(min(file.count &- done, UInt64(space.count)))
      let part = UnsafeMutableRawBufferPointer(rebasing: space.prefix(wanted))
      guard case .bytes(let read) = Kernel.readFile(file.descriptor, at: file.offset &+ done, into: part)
      else {
        return false
      }
      count &+= read
      done &+= UInt64(read)
    }
    return true
  }
}
