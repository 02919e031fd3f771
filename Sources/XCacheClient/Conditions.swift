/// What an app knows of the moment: how much of the network and of the battery an update may take.
///
/// What a page asks for is fetched in any of them, as it would be without this library.
public struct Conditions: Hashable, Sendable {
  /// What it costs to use the network.
  public enum Network: String, Hashable, Sendable, CaseIterable {
    /// There is none: no update asks for anything.
    case offline
    /// Its bytes are paid for, such as a phone's: an update above `DeviceSettings.meteredLimit` changes the manifest alone,
    /// and its files come when pages ask for them, or once the network costs nothing.
    case metered
    /// Its bytes cost nothing, such as those of a network at home.
    case unmetered
  }

  /// What it costs to use the network.
  public var network = Network.unmetered
  /// The user asked the system for less traffic; as with a metered network.
  public var savesData = false
  /// The battery is to be spared: as with a metered network, since it is the radio that takes most of it.
  public var isLowPower = false
  /// Whether the user sees the app. While not, polls are made at `Trigger.launch` and `Trigger.push` alone.
  public var isForeground = true

  /// An unmetered network, and nothing to spare.
  public init() {}

  /// Whether there is no network.
  public var isOffline: Bool { network == .offline }

  /// Whether an update may fetch as much as it needs.
  public var allowsLargeUpdates: Bool { network == .unmetered && !savesData && !isLowPower }
}
