import HTTP
import Platform
import System
import TLS

/// Where one loop puts together what its next TLS records carry: a head and the beginning of its body share one, and files
/// are read here, since the kernel can't send them itself.
final class RecordBuffer {
  /// Four records: a file is read in pieces of so much.
  private static let capacity = 4 * TLSSession.recordSize

  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0

  init() { memory = .allocate(byteCount: RecordBuffer.capacity, alignment: 4_096) }

  deinit { memory.deallocate() }

  /// What was put in; good until the next change.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  /// The part that isn't filled.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  func removeAll() { count = 0 }

  /// Adds as many of the bytes as there is room for.
  func append(_ bytes: UnsafeRawBufferPointer) {
    let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(space.count))
    space.copyMemory(from: part)
    count &+= part.count
  }

  /// Adds as many bytes of a file as there is room for; false where it hasn't as many.
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
