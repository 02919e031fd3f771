/// Why an app thinks that it's time to look for an update.
public enum Trigger: Hashable, Sendable {
  /// The app was started.
  case launch
  /// A page is opening; the update waits until the page has its first answer, one second at most.
  case pageOpened(OpenPage)
  case pageClosed
  /// The app came back to the foreground.
  case foreground
  /// The app's own signal, such as a push message.
  case push
}

/// What the device may use at present, as the app knows it.
public struct Conditions: Hashable, Sendable {
  /// What bytes cost.
  public enum Network: String, Hashable, Sendable {
    /// Bytes cost nothing.
    case unmetered
    /// Bytes cost the user money.
    case metered
    /// There is no network; nothing is asked for.
    case offline
  }

  /// What bytes cost.
  public var network = Network.unmetered
  /// The user asked apps to use few bytes: counts as metered.
  public var savesData = false
  /// The battery is low: what isn't needed at once waits.
  public var isLowOnPower = false
  /// Whether the app is what the user looks at.
  public var isInForeground = true

  /// An unmetered network, the app in the foreground.
  public init() {}

  /// Whether only what is needed may be fetched.
  public var isFrugal: Bool { network == .metered || savesData }
}
