import Glibc
import System

/// A folder of a test's own, gone with it.
final class Scratch: Sendable {
  let path: String

  init() throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    path = "\(base)/xcache-e2e-\(SHA256.of(Secrets.random(16)).hex.prefix(16))"
    try Kernel.makeFolder(path)
  }

  deinit { Scratch.remove(path) }

  /// Writes a file, and the folders above it.
  @discardableResult
  func write(_ name: String, _ content: some Sequence<UInt8>) throws -> String {
    let target = "\(path)/\(name)"
    try Kernel.makeFolder(DurableFile.parent(of: target))
    let file = try Kernel.open(target, [.write, .create, .truncate])
    try Kernel.write(Array(content).span.bytes, to: file)
    return target
  }

  @discardableResult
  func write(_ name: String, _ text: String) throws -> String { try write(name, text.utf8) }

  /// Makes `name` a folder of exactly these files.
  @discardableResult
  func folder(_ name: String, _ files: Files) throws -> String {
    Scratch.remove("\(path)/\(name)")
    try Kernel.makeFolder("\(path)/\(name)")
    for (file, text) in files { try write("\(name)/\(file)", text) }
    return "\(path)/\(name)"
  }

  /// The files below a folder, by path.
  static func files(below folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    var open = [""]
    while let prefix = open.popLast() {
      for name in try Folder.textNames("\(folder)/\(prefix)") {
        let path = prefix + name
        if try Kernel.status("\(folder)/\(path)")?.kind == .folder {
          open.append(path + "/")
        } else {
          files[path] = try DurableFile.read("\(folder)/\(path)")
        }
      }
    }
    return files
  }

  static func remove(_ path: String) {
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

/// Small files by path.
typealias Files = [String: String]
