import Libc

/// The names in a folder.
package enum Folder {
  /// Each name, without `.` and `..`, in the order of its bytes. A name is bytes: it need not be UTF-8.
  package static func names(_ path: String) throws(SystemError) -> [[UInt8]] {
    guard let stream = opendir(path) else {
      throw SystemError("opendir", on: path, code: Errno(rawValue: Native.errorNumber))
    }
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
    return names.sorted(by: isBefore)
  }

  private static func isBefore(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    let order = memcmp(a, b, min(a.count, b.count))
    return order == 0 ? a.count < b.count : order < 0
  }

  /// Something in a folder.
  package struct Entry<Name> {
    /// What was made of its name.
    package let name: Name
    /// Of a link itself, not of what it leads to.
    package let status: FileStatus
  }

  /// What is in a folder, in the order of the names' bytes, without `.`, `..` and what is gone again.
  /// - Parameter wanted: makes something of each name, bytes that need not be UTF-8, or nil of those of which nothing is
  ///   to be found out.
  package static func entries<Name>(_ path: String, _ wanted: ([UInt8]) -> Name?) throws(SystemError)
    -> [Entry<Name>]
  {
    let names = try names(path)
    let folder = try Kernel.open(path, [.read, .directory])
    var entries: [Entry<Name>] = []
    entries.reserveCapacity(names.count)
    for bytes in names {
      guard let name = wanted(bytes), let status = try Kernel.status(bytes, in: folder, of: path) else {
        continue
      }
      entries.append(Entry(name: name, status: status))
    }
    return entries
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

extension Kernel {
  /// Removes an empty folder; one that isn't there is no error.
  package static func removeFolder(_ path: String) throws(SystemError) {
    do {
      _ = try retrying("rmdir", on: path) { rmdir(path) }
    } catch  where error.code == .noSuchFileOrDirectory {}
  }

  /// Makes a folder and those above it that are missing.
  package static func makeFolder(_ path: String, mode: mode_t = 0o755) throws(SystemError) {
    do {
      return try makeLastFolder(path, mode: mode)
    } catch {
      guard error.code == .noSuchFileOrDirectory, let slash = path.lastIndex(of: "/"),
        slash != path.startIndex
      else {
        throw error
      }
      try makeFolder(String(path[..<slash]), mode: mode)
    }
    // Once more and no oftener: below /proc mkdir(2) says ENOENT whether or not the folder above is there.
    try makeLastFolder(path, mode: mode)
  }

  private static func makeLastFolder(_ path: String, mode: mode_t) throws(SystemError) {
    do {
      _ = try retrying("mkdir", on: path) { mkdir(path, mode) }
    } catch {
      // Another thread may have been here first.
      if error.code == .fileExists, try status(path)?.kind == .folder { return }
      throw error
    }
  }

  /// Makes a folder's own entries (names that came, went or moved) durable.
  package static func syncFolder(_ path: String) throws(SystemError) {
    try sync(open(path, [.read, .directory]), path: path)
  }

  /// The absolute path without links or dots (realpath(3)).
  package static func realPath(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else {
      throw SystemError("realpath", on: path, code: Errno(rawValue: Native.errorNumber))
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
