import System

/// Bytes that wait in a file without a name for whoever reads them, in order. It goes when nobody holds it.
///
/// Used by one thread at a time.
final class SpoolFile {
  private let file: Descriptor
  /// Bytes of it that were read, and all that there are.
  private var start: Int64 = 0
  private var end: Int64 = 0

  /// Bytes that wait.
  var count: Int64 { end - start }

  /// Nil where no file can be made.
  init?() {
    // /tmp may be memory.
    let folders = [Environment.variables["TMPDIR"], "/var/tmp", "/tmp"].compactMap { $0 }
    for folder in folders {
      let path = "\(folder)/xcache-body-\(Hex.encode(Secrets.random(16).span.bytes))"
      guard let made = try? Kernel.open(path, [.readWrite, .create, .exclusive, .append], mode: 0o600) else {
        continue
      }
      guard (try? Kernel.remove(path)) != nil else { continue }
      file = made
      return
    }
    return nil
  }

  /// False where they can't be kept: none of them then is.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard (try? Kernel.write(bytes.bytes, to: file)) != nil else {
      _ = try? Kernel.truncate(file, to: end)
      return false
    }
    end += Int64(bytes.count)
    return true
  }

  /// The next bytes, `limit` at most; nil where they can't be had.
  func next(upTo limit: Int) -> [UInt8]? {
    let most = Int(min(count, Int64(limit)))
    let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, written in
      written = (try? Kernel.read(file, at: start, into: UnsafeMutableRawBufferPointer(buffer))) ?? 0
    }
    guard !bytes.isEmpty else { return nil }
    start += Int64(bytes.count)
    return bytes
  }
}
