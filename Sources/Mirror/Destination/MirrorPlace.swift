import System

/// Where a mirror is or will be, as a command line says it.
package enum MirrorPlace: Sendable {
  case folder(String, hardLinks: Bool = false)
  case s3(S3Settings)

  private static let pushes = ".xcache-push"

  /// For files that come beside the runs of `mirror`, and don't wait for them.
  /// - Parameter number: no other push has it at the same time.
  func pushDestination(_ number: Int) throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, _): try FolderDestination(path, staging: "\(Self.pushes)/\(number)")
    case .s3(let settings): S3Destination(settings, listsOnce: false)
    }
  }

  /// Removes what a push, or nil: what every push that was ended, left on its way.
  func sweepPush(_ number: Int? = nil) throws(MirrorError) {
    guard case .folder(let path, _) = self else { return }
    let folder = "\(path)/\(Self.pushes)"
    try MirrorError.disk { () throws(SystemError) in
      guard try Kernel.status(folder) != nil else { return }
      for name in try Folder.textNames(folder) where number.map({ "\($0)" == name }) ?? true {
        for file in try Folder.textNames("\(folder)/\(name)") {
          try Kernel.remove("\(folder)/\(name)/\(file)")
        }
        try Kernel.removeFolder("\(folder)/\(name)")
      }
    }
  }

  func destination() throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, let hardLinks): try FolderDestination(path, hardLinks: hardLinks)
    case .s3(let settings): S3Destination(settings)
    }
  }
}
