/// The current network and power conditions, which limit how much an update may use.
///
/// Whatever a page requests is fetched on any network, as it would be without this library.
public struct Conditions: Hashable, Sendable {
  /// What it costs to use the network.
  public enum Network: String, Hashable, Sendable, CaseIterable {
    /// There is no network: nothing is requested.
    case offline
    /// Traffic is paid for, as on a mobile network: an update above `DeviceSettings.meteredLimit` changes only the
    /// manifest, and its files are fetched when pages request them, or once the network is unmetered.
    case metered
    /// Traffic is free, as on a home network.
    case unmetered
  }

  /// What it costs to use the network.
  public var network = Network.unmetered
  /// Whether the user asked the system to save data; treated like a metered network.
  public var savesData = false
  /// Whether the device is in low-power mode; treated like a metered network, since the radio uses most of the battery.
  public var isLowPower = false
  /// Whether the app is in the foreground. In the background, only `Trigger.launch` and `Trigger.push` cause polls.
  public var isForeground = true

  /// An unmetered network, with no need to save data or power.
  public init() {}

  /// Whether there is no network.
  public var isOffline: Bool { network == .offline }

  /// Whether an update may fetch as much as it needs.
  public var allowsLargeUpdates: Bool { network == .unmetered && !savesData && !isLowPower }
}
