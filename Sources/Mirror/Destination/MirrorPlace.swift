/// Where a mirror is or will be, as a command line says it.
package enum MirrorPlace: Sendable {
  case folder(String, hardLinks: Bool = false)
  case s3(S3Settings)

  /// For files that come beside the runs of `mirror`, and don't wait for them.
  func pushDestination() throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, _): try FolderDestination(path, staging: ".xcache-push")
    case .s3(let settings): S3Destination(settings, listsOnce: false)
    }
  }

  func destination() throws(MirrorError) -> any Destination {
    switch self {
    case .folder(let path, let hardLinks): try FolderDestination(path, hardLinks: hardLinks)
    case .s3(let settings): S3Destination(settings)
    }
  }
}
