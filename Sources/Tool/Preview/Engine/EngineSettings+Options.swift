import PreviewProtocol

extension EngineSettings {
  /// Creates settings that leave nothing about the device and the view to the program's defaults.
  init(
    folder: String, server: String, app: String, channel: String, hosts: [String], size: PageSize,
    network: NetworkLimit? = nil, isOffline: Bool = false, isConfined: Bool = false, parallel: Int = 1
  ) {
    self.init(folder: folder, server: server, app: app, channel: channel, hosts: hosts)
    self.network = network?.settings
    (width, height) = (size.width, size.height)
    (local, offline, confined) = (true, isOffline, isConfined)
    self.parallel = parallel
  }
}

/// The size of the window in which a page is shown, in CSS pixels.
package struct PageSize: Hashable, Sendable {
  let width: Int
  let height: Int

  /// The size of a phone.
  package static let phone = PageSize(width: 390, height: 844)

  /// Parses a size such as 390x844; nil for anything else, and for one that isn't from 100x100 to 4096x4096.
  package init?(_ text: String) {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
      (100...4096).contains(width), (100...4096).contains(height)
    else { return nil }
    self.init(width: width, height: height)
  }

  private init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }
}

/// A slow network to simulate.
package enum NetworkLimit: String, CaseIterable, Sendable {
  case slow3G = "slow-3g"
  case threeG = "3g"
  case fourG = "4g"

  var settings: EngineSettings.Network {
    switch self {
    case .slow3G: .init(delay: 400, kilobitsPerSecond: 400)
    case .threeG: .init(delay: 150, kilobitsPerSecond: 1_600)
    case .fourG: .init(delay: 60, kilobitsPerSecond: 9_000)
    }
  }
}
