import Glibc
import System

/// A folder of a test's own, gone with it.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    path = "\(base)/xcache-test-\(SHA256.of(Secrets.random(16)).hex.prefix(16))"
    try Kernel.makeFolder(path)
  }

  deinit { TemporaryFolder.remove(path) }

  /// Writes a file, and the folders above it.
  @discardableResult
  package func write(_ name: String, _ content: some Sequence<UInt8>) throws -> String {
    let target = "\(path)/\(name)"
    try Kernel.makeFolder(DurableFile.parent(of: target))
    let file = try Kernel.open(target, [.write, .create, .truncate])
    try Kernel.write(Array(content).span.bytes, to: file)
    return target
  }

  @discardableResult
  package func write(_ name: String, _ text: String) throws -> String { try write(name, text.utf8) }

  package func link(_ name: String, to target: String) {
    guard symlink(target, "\(path)/\(name)") == 0 else { fatalError("no link \(name)") }
  }

  /// Moves a file's mtime, and with it its ctime, to where a cache may trust it, by waiting.
  package static func settle() { Clock.sleep(for: .milliseconds(2100)) }

  private static func remove(_ path: String) {
    for name in (try? Folder.names(path)) ?? [] {
      let child = "\(path)/\(String(decoding: name, as: UTF8.self))"
      if (try? Kernel.status(child, followLinks: false))??.kind == .folder {
        remove(child)
      } else {
        unlink(child)
      }
    }
    rmdir(path)
  }
}
