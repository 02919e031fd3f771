/// Something that a page asks for, as the engine hands it to the runtime.
public struct PageRequest: Sendable {
  /// What the engine wants it for (Fetch §2.2.5, "destination").
  public enum Destination: String, Hashable, Sendable {
    case document, frame, script, style, image, font, audio, video, manifest, worker, fetch, other
  }

  /// How the engine may use the answer (Fetch §2.2.5, "mode").
  public enum Mode: String, Hashable, Sendable {
    case navigate, sameOrigin, noCORS, cors
  }

  /// Absolute, http or https; a fragment doesn't count.
  public var url: String
  /// `GET`, `HEAD`, …
  public var method: String
  /// In the order of the request; names in any case.
  public var headers: [(name: String, value: String)]
  /// What it is for.
  public var destination: Destination
  /// How its answer may be used.
  public var mode: Mode
  /// Whether the request carries cookies.
  public var hasCredentials: Bool
  /// The page that asks; nil where the engine can't tell.
  public var page: OpenPage?

  /// A request for `url`.
  public init(
    _ url: String, method: String = "GET", headers: [(name: String, value: String)] = [],
    destination: Destination = .other, mode: Mode = .noCORS, hasCredentials: Bool = false,
    page: OpenPage? = nil
  ) {
    self.url = url
    self.method = method
    self.headers = headers
    self.destination = destination
    self.mode = mode
    self.hasCredentials = hasCredentials
    self.page = page
  }

  /// The first header of a name, in whatever case.
  func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }
}

/// What becomes of a request.
public enum PageAnswer: Sendable {
  /// The answer, from this device.
  case local(LocalAnswer)
  /// The request is to go to the network as it is.
  case network(PassReason)
}

/// Why a request goes to the network.
public enum PassReason: String, Hashable, Sendable, CaseIterable {
  /// The manifest doesn't list it.
  case notListed
  /// Neither GET nor HEAD, or a URL that is none.
  case notCacheable
  /// A host that the app doesn't name, or a page of one.
  case foreignHost
  /// The policy has interception off for every page.
  case killed
  /// The policy leaves this page alone.
  case bypassed
  /// The page didn't come up twice in a row from what is held.
  case pageFailed
  /// Interception is off after repeated crashes.
  case crashLoop
  /// A condition of the request that a local file can't meet, such as an `If-Match` or credentials for another origin.
  case condition
  /// The file was missing or damaged and couldn't be fetched.
  case unavailable
  /// The task that asked was cancelled while it waited.
  case cancelled
  /// The runtime was closed.
  case closed
}
