import System

/// The steps that make bytes durable. A test can make each of them fail.
package struct Disk: Sendable {
  /// Called with a step's name and path before the step; an error that it throws is the step's error.
  let before: @Sendable (StaticString, String) throws(SystemError) -> Void

  /// Returns the space on the file system that holds a path.
  let space: @Sendable (String) throws(SystemError) -> DiskSpace

  /// The real disk.
  package static let real = Disk { _, _ in }

  /// Creates a disk whose steps fail as `before` decides and whose space is what `space` returns.
  package init(
    space: @escaping @Sendable (String) throws(SystemError) -> DiskSpace = Kernel.space,
    before: @escaping @Sendable (StaticString, String) throws(SystemError) -> Void
  ) {
    self.before = before
    self.space = space
  }

  /// The space that uploads, and files made from them, leave free on a file system: 32 MB, or a sixteenth if that is less. The
  /// database, the next start and a release that removes bundles need it once everything else is used up.
  static func reserve(of space: DiskSpace) -> Int64 { min(32_000_000, space.size / 16) }

  /// Refuses an upload that would use the space left for the database.
  /// - Parameters:
  ///   - bytes: the size of the upload; 0 if it isn't known.
  ///   - folder: a folder on the file system.
  func checkSpace(for bytes: Int64, in folder: String) throws(StoreError) {
    let (left, overflow) = try uploadSpace(folder).subtractingReportingOverflow(bytes)
    guard !overflow, left >= 0 else { throw .diskFull(folder) }
  }

  /// The bytes that uploads may use on a file system; negative if the space left for the database is in use.
  func uploadSpace(_ folder: String) throws(StoreError) -> Int64 {
    do {
      let space = try self.space(folder)
      return space.available - Self.reserve(of: space)
    } catch {
      throw StoreError(error)
    }
  }

  /// Whether a file system is short of space, so that whatever can be removed should go soon: less than a twentieth is
  /// free, or less than twice what uploads leave.
  func isShort(_ path: String) -> Bool {
    guard let space = try? space(path) else { return false }
    return space.available < max(space.size / 20, 2 * Self.reserve(of: space))
  }

  func create(_ path: String, flags: OpenFlags) throws(SystemError) -> Descriptor {
    try before("open", path)
    return try Kernel.open(path, flags, mode: 0o640)
  }

  func write(_ bytes: RawSpan, to file: borrowing Descriptor, path: String) throws(SystemError) {
    try before("write", path)
    try Kernel.write(bytes, to: file, path: path)
  }

  func sync(_ file: borrowing Descriptor, path: String) throws(SystemError) {
    try before("fsync", path)
    try Kernel.sync(file, path: path)
  }

  func syncFolder(_ path: String) throws(SystemError) {
    try before("fsync", path)
    try Kernel.syncFolder(path)
  }

  func syncFileSystem(_ folder: borrowing Descriptor, path: String) throws(SystemError) {
    try before("syncfs", path)
    try Kernel.syncFileSystem(folder)
  }

  func rename(_ from: String, to: String) throws(SystemError) {
    try before("rename", to)
    try Kernel.rename(from, to: to)
  }
}
