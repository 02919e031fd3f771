import Glibc
import System

/// A temporary folder of one test, removed with its owner.
package final class Scratch: Sendable {
  package let path: String

  /// - Parameter parent: The folder in which it is created; nil: `$TMPDIR`, or /tmp.
  package init(in parent: String? = nil) throws {
    let parent = parent ?? Environment.variables["TMPDIR"] ?? "/tmp"
    path = "\(parent)/xcache-test-\(Hex.encode(Secrets.random(8).span.bytes))"
    try Kernel.makeFolder(path)
  }

  deinit { Scratch.remove(path) }

  /// A parent in memory, where syncing costs nothing; /tmp where there is none.
  package static let memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

  /// Writes a file in place, and creates the folders above it.
  /// - Returns: The file's path.
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

  /// Makes `name` a folder of exactly these files.
  /// - Returns: The folder's path.
  @discardableResult
  package func folder(_ name: String, _ files: [String: String]) throws -> String {
    Scratch.remove("\(path)/\(name)")
    try Kernel.makeFolder("\(path)/\(name)")
    for (file, text) in files { try write("\(name)/\(file)", text) }
    return "\(path)/\(name)"
  }

  package func link(_ name: String, to target: String) {
    guard symlink(target, "\(path)/\(name)") == 0 else { fatalError("no link \(name)") }
  }

  /// The files below a folder, by relative path.
  package static func contents(_ folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try Folder.textNames(folder) {
      let path = "\(folder)/\(name)"
      if try Kernel.status(path, followLinks: false)?.kind == .folder {
        for (child, bytes) in try contents(path) { files["\(name)/\(child)"] = bytes }
      } else {
        files[name] = try DurableFile.read(path)
      }
    }
    return files
  }

  /// Removes a folder and its contents; links are removed, not followed.
  package static func remove(_ path: String) { ScratchFolder.remove(path) }

  /// Moves a file's mtime, and with it its ctime, to where a cache may trust it, by waiting.
  package static func settle() { Clock.sleep(for: .milliseconds(2100)) }
}
