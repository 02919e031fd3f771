import System

/// A FIFO of bytes in an unlinked file, which disappears when it is released.
///
/// The file is a ring buffer: what was read makes room for new bytes, so it is never longer than its capacity. Used by one
/// thread at a time.
final class SpoolFile {
  private let file: Descriptor
  private let capacity: Int64
  /// The number of bytes ever read, and ever written.
  private var start: Int64 = 0
  private var end: Int64 = 0

  /// The number of bytes that wait.
  var count: Int64 { end - start }

  /// Nil if no file can be created.
  /// - Parameter capacity: the most bytes that may wait; at least one.
  init?(capacity: Int64) {
    self.capacity = max(1, capacity)
    // /tmp comes last, since it may be in memory.
    let folders = [Environment.variables["TMPDIR"], "/var/tmp", "/tmp"].compactMap { $0 }
    for folder in folders {
      let path = "\(folder)/xcache-body-\(Hex.encode(Secrets.random(16).span.bytes))"
      guard let made = try? Kernel.open(path, [.readWrite, .create, .exclusive], mode: 0o600) else {
        continue
      }
      guard (try? Kernel.remove(path)) != nil else { continue }
      file = made
      return
    }
    return nil
  }

  /// The file's length.
  var size: Int64 { (try? Kernel.status(file))?.size ?? 0 }

  /// Appends bytes; returns false, and appends none, if there is no room for them or they can't be written.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard count + Int64(bytes.count) <= capacity else { return false }
    let position = end % capacity
    let first = Int(min(Int64(bytes.count), capacity - position))
    do throws(SystemError) {
      try Kernel.write(UnsafeRawBufferPointer(rebasing: bytes[..<first]).bytes, to: file, at: position)
      // The rest goes to the start of the file, which has been read.
      try Kernel.write(UnsafeRawBufferPointer(rebasing: bytes[first...]).bytes, to: file, at: 0)
    } catch {
      return false
    }
    end += Int64(bytes.count)
    return true
  }

  /// Returns the next bytes, at most `limit`; nil if they can't be read.
  func next(upTo limit: Int) -> [UInt8]? {
    let position = start % capacity
    let wanted = Int(min(count, capacity - position, Int64(limit)))
    let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, written in
      written = (try? Kernel.read(file, at: position, into: UnsafeMutableRawBufferPointer(buffer))) ?? 0
    }
    guard !bytes.isEmpty else { return nil }
    start += Int64(bytes.count)
    return bytes
  }
}
