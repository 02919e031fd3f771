import CLinux
import Glibc

extension Kernel {
  /// open(2) below the working directory; always close-on-exec.
  package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o644) throws(SystemError)
    -> Descriptor
  {
    Descriptor(
      owning: try retrying("open", on: path) { xcache_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode) })
  }

  /// As `open`; nil where nothing has that name.
  package static func openExisting(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor? {
    do {
      return try open(path, flags)
    } catch  where error.code == ENOENT {
      return nil
    }
  }

  /// openat(2): a name below an open folder; always close-on-exec.
  package static func open(
    _ name: String, in folder: borrowing Descriptor, _ flags: Int32, mode: mode_t = 0o644
  ) throws(SystemError) -> Descriptor {
    let raw = folder.raw
    return Descriptor(
      owning: try retrying("openat", on: name) { xcache_openat(raw, name, flags | O_CLOEXEC, mode) })
  }

  /// How many bytes were read into `buffer`; 0 at the end of the file.
  package static func read(
    _ file: borrowing Descriptor, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    let raw = file.raw
    return try retrying("read") { Glibc.read(raw, buffer.baseAddress, buffer.count) }
  }

  /// How many bytes were read into `buffer` from `offset` on; the file's own position stays.
  package static func read(
    _ file: borrowing Descriptor, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Int {
    let raw = file.raw
    return try retrying("pread") { pread(raw, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  /// Writes all of `bytes`, however many calls it takes.
  package static func write(_ bytes: RawSpan, to file: borrowing Descriptor, path: String? = nil)
    throws(SystemError)
  {
    let raw = file.raw
    var done = 0
    while done < bytes.byteCount {
      let rest = bytes.extracting(done..<bytes.byteCount)
      done += try retrying("write", on: path) {
        rest.withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
      }
    }
  }

  /// Puts the file's bytes and size on the disk.
  package static func sync(_ file: borrowing Descriptor, path: String? = nil) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("fsync", on: path) { fsync(raw) }
  }

  /// Puts everything written to the file system that holds `file` on the disk.
  package static func syncFileSystem(_ file: borrowing Descriptor) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("syncfs") { xcache_syncfs(raw) }
  }

  /// Lets the disk begin with what a file has, so that the sync to come waits less; it promises nothing.
  package static func startWriting(_ file: borrowing Descriptor) { _ = xcache_start_writing(file.raw) }

  /// Makes a folder's own entries (names that came, went or moved) durable.
  package static func syncFolder(_ path: String) throws(SystemError) {
    try sync(open(path, O_RDONLY | O_DIRECTORY), path: path)
  }

  package static func rename(_ from: String, to: String) throws(SystemError) {
    _ = try retrying("rename", on: to) { Glibc.rename(from, to) }
  }

  /// Gives a file a second name; false where the file system can't: another one, or one without links.
  package static func link(_ existing: String, to path: String) throws(SystemError) -> Bool {
    do {
      _ = try retrying("link", on: path) { Glibc.link(existing, path) }
      return true
    } catch  where [EXDEV, EPERM, EMLINK, ENOTSUP].contains(error.code) {
      return false
    }
  }

  /// Removes a file; one that isn't there is no error.
  package static func remove(_ path: String) throws(SystemError) {
    do {
      _ = try retrying("unlink", on: path) { unlink(path) }
    } catch  where error.code == ENOENT {}
  }

  /// Removes an empty folder; one that isn't there is no error.
  package static func removeFolder(_ path: String) throws(SystemError) {
    do {
      _ = try retrying("rmdir", on: path) { rmdir(path) }
    } catch  where error.code == ENOENT {}
  }

  /// Makes a folder and those above it that are missing.
  package static func makeFolder(_ path: String, mode: mode_t = 0o755) throws(SystemError) {
    do {
      return try makeLastFolder(path, mode: mode)
    } catch {
      guard error.code == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else {
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
      if error.code == EEXIST, try status(path)?.kind == .folder { return }
      throw error
    }
  }

  /// What stat(2) tells of a path, links followed; nil where nothing is.
  package static func status(_ path: String, followLinks: Bool = true) throws(SystemError) -> FileStatus? {
    var result = stat()
    do {
      _ = try retrying("stat", on: path) {
        fstatat(AT_FDCWD, path, &result, followLinks ? 0 : AT_SYMLINK_NOFOLLOW)
      }
    } catch  where error.code == ENOENT || error.code == ENOTDIR {
      return nil
    }
    return FileStatus(result)
  }

  package static func status(_ file: borrowing Descriptor) throws(SystemError) -> FileStatus {
    var result = stat()
    let raw = file.raw
    _ = try retrying("fstat") { fstat(raw, &result) }
    return FileStatus(result)
  }

  /// The absolute path without links or dots (realpath(3)).
  package static func realPath(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else {
      throw SystemError("realpath", on: path, code: xcache_errno())
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Sets a file's length: a sparse end where it grows.
  package static func truncate(_ file: borrowing Descriptor, to size: Int64) throws(SystemError) {
    let raw = file.raw
    _ = try retrying("ftruncate") { ftruncate(raw, off_t(size)) }
  }

  /// Lets `target` share all bytes of `source`; false where the file system can't.
  package static func share(_ source: borrowing Descriptor, with target: borrowing Descriptor) -> Bool {
    xcache_reflink(source.raw, target.raw) == 0
  }

  /// Copies a whole file's bytes, sharing them where the file system can and inside the kernel where that can.
  package static func copy(from source: borrowing Descriptor, to target: borrowing Descriptor)
    throws(SystemError)
  {
    let (from, to) = (source.raw, target.raw)
    if xcache_reflink(from, to) == 0 { return }
    do {
      while try retrying("copy_file_range", { xcache_copy_file_range(from, to, 1 << 30) }) > 0 {}
    } catch  where [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code) {
      // Between these two file systems, or on this one, the kernel can't: from where it stopped, by hand.
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
