import Values

/// The settings sent to the engine's program before its first page.
struct EngineSettings: Sendable {
  /// The folder of the device whose files pages get.
  let folder: String
  let server: String
  let app: String
  let channel: String
  /// The hosts that the device answers for.
  let hosts: [String]
  var network: NetworkLimit?
  /// Whether no connection may leave the machine.
  var isOffline = false
  /// Whether files that the device doesn't have are missing, instead of requested from the network.
  var isConfined = false
  var size = PageSize.phone
  /// The number of pages open at a time.
  var parallel = 1

  var json: JSONValue {
    [
      "app": .string(app), "channel": .string(channel), "confined": .bool(isConfined),
      "folder": .string(folder),
      "height": .integer(size.height), "hosts": .strings(hosts), "local": true,
      "network": network?.json ?? .null, "offline": .bool(isOffline), "parallel": .integer(parallel),
      "server": .string(server), "width": .integer(size.width),
    ]
  }
}

/// A page to open.
struct EngineJob: Hashable, Sendable {
  let id: Int
  let url: String
  /// The path for its screenshot.
  let screenshot: String?
  /// The timeout in seconds.
  let timeout: Int

  var json: JSONValue {
    [
      "id": .integer(id), "screenshot": screenshot.map { .string($0) } ?? .null, "timeout": .integer(timeout),
      "url": .string(url),
    ]
  }
}

/// The size of the window in which a page is shown, in CSS pixels.
struct PageSize: Hashable, Sendable {
  let width: Int
  let height: Int

  static let phone = PageSize(width: 390, height: 844)

  /// Parses the value of `--size`, such as 390x844.
  init?(_ text: String) {
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

  static let option = Option.value(
    "size", "WxH", "the page's width and height in CSS pixels (default: 390x844, a phone)")

  static func read(_ arguments: Arguments) throws(UsageError) -> PageSize {
    guard let text = try arguments.value("size") else { return .phone }
    guard let size = PageSize(text) else {
      throw UsageError("--size \(text) is not a size from 100x100 to 4096x4096, such as 390x844")
    }
    return size
  }
}

/// A slow network to simulate.
enum NetworkLimit: String, CaseIterable, Sendable {
  case slow3G = "slow-3g"
  case threeG = "3g"
  case fourG = "4g"

  /// The delay to the first byte in milliseconds, and the bandwidth.
  private var values: (delay: Int, kilobitsPerSecond: Int) {
    switch self {
    case .slow3G: (400, 400)
    case .threeG: (150, 1_600)
    case .fourG: (60, 9_000)
    }
  }

  var json: JSONValue {
    ["delay": .integer(values.delay), "kilobitsPerSecond": .integer(values.kilobitsPerSecond)]
  }

  static let option = Option.value(
    "network", "LINE", choices: allCases.map(\.rawValue),
    "slow the network down for what the device doesn't hold: slow-3g, 3g or 4g")

  static func read(_ arguments: Arguments) throws(UsageError) -> NetworkLimit? {
    guard let text = try arguments.value("network") else { return nil }
    guard let limit = NetworkLimit(rawValue: text) else {
      throw UsageError("--network \(text): expected \(allCases.map(\.rawValue).alternatives)")
    }
    return limit
  }
}
