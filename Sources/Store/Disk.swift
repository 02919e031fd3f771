import System

/// The steps by which bytes become durable, each of which a test can make fail.
package struct Disk: Sendable {
  /// Called with a step's name and path before it is done; what it throws, the step throws.
  let before: @Sendable (StaticString, String) throws(SystemError) -> Void

  /// How much room is on the file system that holds a path.
  let space: @Sendable (String) throws(SystemError) -> DiskSpace

  /// The disk as it is.
  package static let real = Disk { _, _ in }

  /// A disk whose steps fail as `before` says, and that has the room that `space` says.
  package init(
    space: @escaping @Sendable (String) throws(SystemError) -> DiskSpace = Kernel.space,
    before: @escaping @Sendable (StaticString, String) throws(SystemError) -> Void
  ) {
    self.before = before
    self.space = space
  }

  /// What uploads leave free of a file system: 32 MB, or a sixteenth where that is less. The database, the next start and the
  /// release that takes bundles away need it when everything else is used up.
  static func reserve(of space: DiskSpace) -> Int64 { min(32_000_000, space.size / 16) }

  /// Refuses an upload that would take what is left for the database.
  /// - Parameter bytes: of the upload; 0 where that isn't known.
  func checkRoom(for bytes: Int64, in folder: String) throws(StoreError) {
    let space: DiskSpace
    do {
      space = try self.space(folder)
    } catch {
      throw StoreError(error)
    }
    let (left, overflow) = space.available.subtractingReportingOverflow(bytes)
    guard !overflow, left >= Self.reserve(of: space) else { throw .diskFull(folder) }
  }

  /// Whether a file system has so little room that what may go is to go soon: less than a twentieth, or than twice what
  /// uploads leave.
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
