import XCacheDevice

/// What becomes of a page's request for a listed file that isn't here.
enum MissingFile: Equatable {
  /// The page waits until the file is here.
  case wait
  /// The network answers the page. With `fills`, the file is also fetched, once there is time and room.
  case pass(fills: Bool)

  /// A page doesn't wait for larger files: from the network, the first bytes come before the last ones.
  static let largest: Int64 = 1 << 20
  /// Files up to this size aren't held up by larger ones, are fetched whole for a part of them, and cost a metered network
  /// little.
  static let small: Int64 = 128 << 10

  /// - Parameters:
  ///   - size: of the file, in bytes.
  ///   - isPart: whether a part of it was requested.
  ///   - conditions: the network's.
  ///   - settings: the limits of the metered network and of the disk.
  init(size: Int64, isPart: Bool, _ conditions: Conditions, _ settings: DeviceSettings) {
    let isMetered = !conditions.allowsLargeUpdates
    let largest = isMetered ? min(Self.largest, max(Self.small, settings.meteredLimit)) : Self.largest
    if conditions.isOffline || settings.diskLimit.map({ size > $0 }) ?? false {
      self = .pass(fills: false)
    } else if size > largest || isPart && size > Self.small {
      self = .pass(fills: true)
    } else {
      self = .wait
    }
  }
}
