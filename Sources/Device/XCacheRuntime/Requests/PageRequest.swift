import HTTP

/// A request of a page, as the engine hands it to the runtime.
public struct PageRequest: Sendable {
  /// What the engine wants the answer for (Fetch §2.2.5, "destination").
  public enum Destination: String, Hashable, Sendable {
    case document, frame, script, style, image, font, audio, video, manifest, worker, fetch, other
  }

  /// How the engine may use the answer (Fetch §2.2.5, "mode").
  public enum Mode: String, Hashable, Sendable {
    case navigate, sameOrigin, noCORS, cors
  }

  /// Absolute, http or https; a fragment is ignored.
  public var url: String
  /// `GET`, `HEAD`, …
  public var method: String
  /// In the order of the request; names are in any case.
  public var headers: HTTPFields
  /// What the answer is for.
  public var destination: Destination
  /// How the answer may be used.
  public var mode: Mode
  /// Whether the request carries cookies.
  public var hasCredentials: Bool
  /// The page that sent the request; nil if the engine can't tell.
  public var page: OpenPage?

  /// Creates a request for `url`.
  public init(
    _ url: String, method: String = "GET", headers: HTTPFields = [],
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
}

extension PageRequest {
  /// Whether it is for a page: one that isn't listed is looked up without its query.
  var isPage: Bool { destination == .document || destination == .frame }

  /// Whether a page may answer it that answers for routes (docs/protocol.md §11, D-167).
  var isRoute: Bool { isPage && method == "GET" && acceptsHTML }

  private var acceptsHTML: Bool {
    let accepted = headers.values("accept")
    if accepted.isEmpty { return true }
    return accepted.lazy.flatMap { $0.split(separator: ",") }.contains { range in
      let type = range.prefix { $0 != ";" }.lowercased().split { $0 == " " || $0 == "\t" }
      return type.count == 1 && Self.typesOfPages.contains(type[0])
    }
  }

  private static let typesOfPages: Set<Substring> = ["text/html", "application/xhtml+xml", "text/*", "*/*"]
}

/// How a request is to be answered.
public enum PageAnswer: Sendable {
  /// The answer, from this device.
  case local(LocalAnswer)
  /// The request has to go to the network unchanged.
  case network(PassReason)
}

/// Why a request goes to the network.
public enum PassReason: String, Hashable, Sendable, CaseIterable {
  /// The manifest doesn't list it.
  case notListed
  /// Neither GET nor HEAD, or not a valid URL.
  case notCacheable
  /// A host that the app doesn't name, or a page on one.
  case foreignHost
  /// The policy turns interception off for every page.
  case killed
  /// The policy leaves this page alone.
  case bypassed
  /// The page failed to come up twice in a row from the files held.
  case pageFailed
  /// Interception is off after repeated crashes.
  case crashLoop
  /// Another process has taken the device's folder.
  case folderInUse
  /// A condition that a local file can't meet, such as an `If-Match` or credentials for another origin.
  case condition
  /// The file was missing or damaged and couldn't be fetched.
  case unavailable
  /// The file isn't here, and is too large to let the page wait for it.
  case tooLarge
  /// The calling task was cancelled while it waited.
  case cancelled
  /// The runtime was closed.
  case closed
}
