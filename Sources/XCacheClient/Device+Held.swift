import Manifests
import System

/// A listed file, and whether the device has it.
package struct HeldFile: Sendable {
  /// The URL under which the manifest lists it.
  package let url: String
  /// Bytes, as listed.
  package let size: Int64
  /// As listed, in hexadecimal.
  package let sha256: String
  /// Where its bytes are; nil where the device hasn't got them.
  package let path: String?
}

extension Device {
  /// As the public initialiser, with a clock in milliseconds since 1970: conformance cases set it.
  package convenience init(
    _ settings: DeviceSettings, transport: any Transport, clock: @escaping @Sendable () -> Int64
  ) throws(ClientError) {
    try self.init(settings, transport: transport, folder: CacheFolder(settings.folder), now: clock)
  }

  /// What the manifest lists, in the order of its URLs; no file is read.
  package func heldFiles() -> [HeldFile] {
    cache.withLock { cache in
      cache.index.entries.map { entry in
        HeldFile(
          url: entry.url.text, size: entry.size, sha256: entry.sha256.hex,
          path: cache.has(entry) ? folder.file(entry.name) : nil)
      }
    }
  }
}
