import Manifests

/// Why a page that was answered from the device counts as failed.
enum PageFailure: Hashable, Sendable {
  /// It didn't come up within its deadline.
  case late
  /// The engine's process of the page ended.
  case process
  /// A script of it failed before it came up.
  case script(PageError)

  /// What is counted.
  var count: DeviceCount {
    switch self {
    case .late, .process: .pageFailed
    case .script: .scriptFailed
    }
  }
}
