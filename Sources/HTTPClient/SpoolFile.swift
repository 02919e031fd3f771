import System

/// Bytes that wait in a file without a name for whoever reads them, in order. It goes when nobody holds it.
///
/// The file is a ring: what was read makes room for what comes, so that it is never longer than its capacity. Used by one thread
/// at a time.
final class SpoolFile {
  private let file: Descriptor
  private let capacity: Int64
  /// Bytes of it that were read, and all that were ever written.
  private var start: Int64 = 0
  private var end: Int64 = 0

  /// Bytes that wait.
  var count: Int64 { end - start }

  /// Nil where no file can be made.
  /// - Parameter capacity: bytes that may wait; at least one.
  init?(capacity: Int64) {
    self.capacity = max(1, capacity)
    // /tmp may be memory.
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

  /// False where there is no room for them, or they can't be kept: none of them then is.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard count + Int64(bytes.count) <= capacity else { return false }
    let place = end % capacity
    let first = Int(min(Int64(bytes.count), capacity - place))
    do throws(SystemError) {
      try Kernel.write(UnsafeRawBufferPointer(rebasing: bytes[..<first]).bytes, to: file, at: place)
      // The rest goes to the front, which was read.
      try Kernel.write(UnsafeRawBufferPointer(rebasing: bytes[first...]).bytes, to: file, at: 0)
    } catch {
      return false
    }
    end += Int64(bytes.count)
    return true
  }

  /// The next bytes, `limit` at most; nil where they can't be had.
  func next(upTo limit: Int) -> [UInt8]? {
    let place = start % capacity
    let most = Int(min(count, capacity - place, Int64(limit)))
    let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, written in
      written = (try? Kernel.read(file, at: place, into: UnsafeMutableRawBufferPointer(buffer))) ?? 0
    }
    guard !bytes.isEmpty else { return nil }
    start += Int64(bytes.count)
    return bytes
  }
}
