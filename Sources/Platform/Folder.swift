import CLinux
import Glibc

/// The names in a folder.
package enum Folder {
  /// Each name, without `.` and `..`, in the order of its bytes. A name is bytes: it need not be UTF-8.
  package static func names(_ path: String) throws(SystemError) -> [[UInt8]] {
    guard let stream = opendir(path) else { throw SystemError("opendir", on: path, code: xcache_errno()) }
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: UInt8.self, capacity: 256) { bytes in
          Array(
            UnsafeBufferPointer(
              start: bytes, count: strlen(UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))))
        }
      }
      if name != [UInt8(ascii: ".")] && name != [UInt8(ascii: "."), UInt8(ascii: ".")] { names.append(name) }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// The folder at `path` or nearest above it that has a file named `name`; `path` itself need not be there.
  package static func holder(of name: String, from path: String) throws(SystemError) -> String? {
    var existing = path
    while try Kernel.status(existing) == nil, existing != "." && existing != "/" {
      existing = DurableFile.parent(of: existing)
    }
    var folder = try Kernel.realPath(existing)
    while true {
      if try Kernel.status("\(folder)/\(name)")?.kind == .file { return folder }
      if folder == "/" { return nil }
      folder = DurableFile.parent(of: folder)
    }
  }

  /// Each name that is UTF-8, sorted; our own folders hold no others.
  package static func textNames(_ path: String) throws(SystemError) -> [String] {
    try names(path).compactMap { String(validating: $0, as: UTF8.self) }
  }
}
