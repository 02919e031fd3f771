import Preview
import System

/// The size of the window in which a page is shown.
extension PageSize {
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
extension NetworkLimit {
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

/// The timeout for a page, in seconds.
enum PageTimeout {
  static let option = Option.value("timeout", "SECONDS", "give up on a page after this time (default: 30)")

  static func read(_ arguments: Arguments) throws(UsageError) -> Int {
    try arguments.number("timeout", in: 1...600) ?? 30
  }
}

/// The path of a screenshot.
enum PicturePath {
  /// Returns the path of `--screenshot` after checking, before any page is opened, that a picture can be written there.
  static func read(_ arguments: Arguments) throws -> String? {
    guard let path = try arguments.value("screenshot") else { return nil }
    guard path.lowercased().hasSuffix(".png") else {
      throw UsageError("--screenshot \(path): pictures are PNG files; expected a name that ends in .png")
    }
    if try Kernel.status(path)?.kind == .folder { throw UsageError("--screenshot \(path) is a folder") }
    let folder = DurableFile.parent(of: path)
    guard try Kernel.status(folder)?.kind == .folder else {
      throw Failure("--screenshot \(path): there is no folder \(folder)", name: "no-files")
    }
    return path
  }
}

extension Fixtures {
  /// Reads the folder that `--fixtures` or `xcache.json` names.
  static func read(_ folder: String) throws -> Fixtures {
    let path = index(of: folder)
    guard try Kernel.status(path) != nil else {
      throw Failure(
        "\(path): no such file; --record \(folder) instead of --fixtures writes it", name: "no-files")
    }
    return try Fixtures(SettingsError.parse(Arguments.file(path), in: path), in: folder)
  }
}
