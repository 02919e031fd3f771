import System

/// A folder where a file belongs, or the other way round: a crash of the disk or a program may leave one, and it would make
/// every update fail.
extension CacheFolder {
  /// The errors of calls that find a folder in place of a file: rename(2), unlink(2), open(2). macOS gives EPERM for unlink(2).
  static let folderErrors: [Errno] = [.isDirectory, .directoryNotEmpty, .notPermitted]

  /// Runs `body`, and if it fails because of what is at `path`, removes that with everything in it and runs `body` again.
  static func clearing(
    _ path: String, if codes: [Errno], _ body: () throws(SystemError) -> Void
  ) throws(SystemError) {
    do {
      try body()
    } catch {
      // Nothing at the path itself: what is in the way is above it, and isn't the device's.
      guard codes.contains(error.code), let there = try Kernel.status(path, followLinks: false),
        there.kind == .folder || codes.contains(.notDirectory)
      else { throw error }
      try removeObstacle(path)
      try body()
    }
  }

  /// Removes what is in place of a file: a folder, a link, a FIFO.
  static func clear(_ path: String) throws(SystemError) {
    guard let there = try Kernel.status(path, followLinks: false), there.kind != .file else { return }
    try removeObstacle(path)
  }

  /// Makes a folder of the device one that it can list and change, if need be a new one.
  static func makeUsable(_ path: String) throws(SystemError) {
    if try Kernel.mayChange(path) { return }
    try? Kernel.setMode(path, to: 0o755)
    if try Kernel.mayChange(path) { return }
    try removeObstacle(path)
    try Kernel.makeFolder(path)
  }

  /// Removes what is at `path`; what this process may not remove, such as root's, is renamed.
  private static func removeObstacle(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      try removeAll(path)
    } catch  where [.permissionDenied, .notPermitted].contains(error.code) {
      let name = "\(Hex.encode(Secrets.random(8).span.bytes))\(renamedEnding)"
      try Kernel.rename(path, to: "\(DurableFile.parent(of: path))/\(name)")
    }
  }

  private static let renamedEnding = ".old"

  /// Removes the folders that were renamed out of the device's way, if that is possible by now; what isn't stays until the
  /// next start.
  func removeRenamed() {
    for folder in [root, files, staging, aside] {
      for name in (try? Folder.textNames(folder)) ?? [] where Self.isRenamed(name) {
        let path = "\(folder)/\(name)"
        // Only folders are ever renamed. A file may be a listed one of such a name, and a link leads elsewhere.
        guard (try? Kernel.status(path, followLinks: false))??.kind == .folder else { continue }
        try? Self.removeAll(path)
      }
    }
  }

  /// Whether a name is one that `removeObstacle` gives.
  private static func isRenamed(_ name: String) -> Bool {
    name.hasSuffix(renamedEnding) && Hex.decode(name.dropLast(renamedEnding.count), count: 8) != nil
  }

  /// Removes a file, or a folder with everything in it. Links aren't followed.
  private static func removeAll(_ path: String) throws(SystemError) {
    guard try Kernel.status(path, followLinks: false)?.kind == .folder else { return try Kernel.remove(path) }
    if try !Kernel.mayChange(path) { try? Kernel.setMode(path, to: 0o700) }
    for name in try Folder.textNames(path) { try removeAll("\(path)/\(name)") }
    try Kernel.removeFolder(path)
  }
}

extension DeviceError {
  /// Whether a file is there but can't be read, and won't be later on: as good as a damaged one.
  var isUnreadableFile: Bool {
    guard case .file(_, _, let code, _) = self else { return false }
    let codes: [Errno] = [
      .permissionDenied, .notPermitted, .isDirectory, .notDirectory, .tooManySymbolicLinkLevels, .ioError,
      .fileTooLarge,
    ]
    return codes.contains(Errno(rawValue: code))
  }
}
