import System

/// The steps by which bytes become durable, each of which a test can make fail.
package struct Disk: Sendable {
  /// Called with a step's name and path before it is done; what it throws, the step throws.
  let before: @Sendable (StaticString, String) throws(SystemError) -> Void

  /// The disk as it is.
  package static let real = Disk { _, _ in }

  /// A disk whose steps fail as `before` says.
  package init(before: @escaping @Sendable (StaticString, String) throws(SystemError) -> Void) {
    self.before = before
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
