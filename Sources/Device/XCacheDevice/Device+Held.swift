import Manifests
import System

/// A listed file, and whether the device has it.
package struct HeldFile: Sendable {
  /// The URL under which the manifest lists it.
  package let url: String
  /// The listed size in bytes.
  package let size: Int64
  /// The listed hash, in hexadecimal.
  package let sha256: String
  /// Whether updates leave the file out until a page asks for it.
  package let isLazy: Bool
  /// The path of its file; nil if the device doesn't have it.
  package let path: String?
}

extension Device {
  /// Returns the files that the manifest lists, sorted by URL; no file is read.
  package func heldFiles() -> [HeldFile] {
    cache.withLock { cache in
      cache.index.entries.map { entry in
        HeldFile(
          url: entry.url.text, size: entry.size, sha256: entry.sha256.hex, isLazy: entry.isLazy,
          path: cache.has(entry) ? folder.file(entry.name) : nil)
      }
    }
  }

  /// The version held, if all its files are here, but for lazy ones; nil if not, or if there is none.
  package var completeVersion: String? {
    cache.withLock { cache in
      let index = cache.index
      guard index.version > .none, index.entries.allSatisfy({ $0.isLazy || cache.has($0) }) else {
        return nil
      }
      return index.version.text
    }
  }
}
