#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Lists folders.
package enum Folder {
  /// Returns the names in a folder without `.` and `..`, sorted by bytes. A name needn't be UTF-8.
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

  /// An entry of a folder.
  package struct Entry<Name> {
    /// What the caller made of the name.
    package let name: Name
    /// The status; of a link, its own.
    package let status: FileStatus
  }

  /// Returns a folder's entries, sorted by the names' bytes, without `.`, `..` and those removed meanwhile.
  /// - Parameters:
  ///   - path: The folder.
  ///   - wanted: Maps a name, bytes that needn't be UTF-8; nil skips the entry without a stat(2).
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

  /// Returns the nearest folder, from `path` upwards, that has a file named `name`. `path` itself needn't exist.
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

  /// Returns the names that are UTF-8, sorted; our own folders have no others.
  package static func textNames(_ path: String) throws(SystemError) -> [String] {
    try names(path).compactMap { String(validating: $0, as: UTF8.self) }
  }
}

extension Kernel {
  /// Removes an empty folder; a missing one is no error.
  package static func removeFolder(_ path: String) throws(SystemError) {
    do {
      _ = try retrying("rmdir", on: path) { rmdir(path) }
    } catch  where error.code == .noSuchFileOrDirectory {}
  }

  /// Creates a folder and its missing parents.
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
    // Retried only once: below /proc, mkdir(2) fails with ENOENT whether or not the parent exists.
    try makeLastFolder(path, mode: mode)
  }

  private static func makeLastFolder(_ path: String, mode: mode_t) throws(SystemError) {
    do {
      _ = try retrying("mkdir", on: path) { mkdir(path, mode) }
    } catch {
      // Another thread may have created it first.
      if error.code == .fileExists, try status(path)?.kind == .folder { return }
      throw error
    }
  }

  /// Makes a folder's entries (names added, removed or renamed) durable.
  package static func syncFolder(_ path: String) throws(SystemError) {
    try sync(open(path, [.read, .directory]), path: path)
  }

  /// Returns the absolute path without links or dots (realpath(3)).
  package static func realPath(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else {
      throw SystemError("realpath", on: path, code: Errno(rawValue: Native.errorNumber))
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
