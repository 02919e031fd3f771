#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Kernel {
  /// Reads into `buffer`, and returns the number of bytes read; 0 at the end of the file.
  package static func read(
    _ file: borrowing Descriptor, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    let raw = file.raw
    return try retrying("read") { cRead(raw, buffer.baseAddress, buffer.count) }
  }

  /// Reads into `buffer` from `offset`, and returns the number of bytes read. The file's position doesn't change.
  package static func read(
    _ file: borrowing Descriptor, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    let raw = file.raw
    return try retrying("pread") { pread(raw, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  /// Writes all of `bytes`, in as many calls as it takes.
  package static func write(_ bytes: RawSpan, to file: borrowing Descriptor, path: String? = nil)
    throws(SystemError)
  {
    let raw = file.raw
    var done = 0
    while done < bytes.byteCount {
      let rest = bytes.extracting(done..<bytes.byteCount)
      done += try retrying("write", on: path) {
        rest.withUnsafeBytes { cWrite(raw, $0.baseAddress, $0.count) }
      }
    }
  }

  /// Writes all of `bytes` at `offset`. The file's position doesn't change.
  package static func write(
    _ bytes: RawSpan, to file: borrowing Descriptor, at offset: Int64
  ) throws(SystemError) {
    let raw = file.raw
    var done = 0
    while done < bytes.byteCount {
      let rest = bytes.extracting(done..<bytes.byteCount)
      let start = off_t(offset) + off_t(done)
      done += try retrying("pwrite") {
        rest.withUnsafeBytes { pwrite(raw, $0.baseAddress, $0.count, start) }
      }
    }
  }

  /// Flushes the file's contents and size to the disk.
  package static func sync(_ file: borrowing Descriptor, path: String? = nil) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("fsync", on: path) { Native.sync(raw) }
  }

  /// Whether one call can flush everything written to a file system.
  package static var syncsFileSystems: Bool { Native.syncsFileSystems }

  /// Flushes everything written to the file system that holds `file` to the disk, or only `file` where
  /// `syncsFileSystems` is false.
  package static func syncFileSystem(_ file: borrowing Descriptor) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("syncfs") { Native.syncFileSystem(raw) }
  }

  /// Renames a file, replacing an existing one.
  package static func rename(_ from: String, to: String) throws(SystemError) {
    _ = try retrying("rename", on: to) { cRename(from, to) }
  }

  /// Sets a file's permission bits, regardless of the umask.
  package static func setMode(_ path: String, to mode: mode_t) throws(SystemError) {
    _ = try retrying("chmod", on: path) { chmod(path, mode) }
  }

  /// Whether this process's user may list and change a folder.
  package static func mayChange(_ folder: String) throws(SystemError) -> Bool {
    do {
      _ = try retrying("faccessat", on: folder) {
        faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS)
      }
      return true
    } catch  where error.code == .permissionDenied {
      return false
    }
  }

  /// Creates a hard link. Returns false where that's impossible: across file systems, or on one without links.
  package static func link(_ existing: String, to path: String) throws(SystemError) -> Bool {
    do {
      _ = try retrying("link", on: path) { cLink(existing, path) }
      return true
    } catch  where [.improperLink, .notPermitted, .tooManyLinks, .notSupported].contains(error.code) {
      return false
    }
  }

  /// Removes a file; a missing one is no error.
  package static func remove(_ path: String) throws(SystemError) {
    do {
      _ = try retrying("unlink", on: path) { unlink(path) }
    } catch  where error.code == .noSuchFileOrDirectory {}
  }

  /// Sets a file's length; if it grows, the end is sparse.
  package static func truncate(_ file: borrowing Descriptor, to size: Int64) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("ftruncate") { ftruncate(raw, off_t(size)) }
  }

  /// Makes `target` a clone of `source` that shares its blocks. Returns false where the file system can't.
  package static func share(_ source: borrowing Descriptor, with target: borrowing Descriptor) -> Bool {
    Native.share(source.raw, with: target.raw)
  }

  /// Copies a file's whole contents: as a clone where the file system can, else in the kernel where possible.
  package static func copy(from source: borrowing Descriptor, to target: borrowing Descriptor)
    throws(SystemError)
  {
    let (from, to) = (source.raw, target.raw)
    if Native.share(from, with: to) { return }
    do {
      while try retrying("copy_file_range", { Native.copy(from, to: to) }) > 0 {}
    } catch  where [.improperLink, .invalidArgument, .noFunction, .notSupported].contains(error.code) {
      // The kernel can't copy on or between these file systems: continue in user space from where it stopped.
      try copyByHand(from: source, to: target)
    }
  }

  private static func copyByHand(from source: borrowing Descriptor, to target: borrowing Descriptor)
    throws(SystemError)
  {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = try read(source, into: buffer)
      if count == 0 { return }
      try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, to: target)
    }
  }
}
