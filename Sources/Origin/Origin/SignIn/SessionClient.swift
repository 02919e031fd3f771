import HTTP

/// Where a session is used, as a session's `detail` has it: `console`, `console, Firefox on Linux`, or `cli`.
enum SessionClient {
  static let console = "console"
  static let commandLine = "cli"

  /// The console in the browser that sent a request.
  static func console(of request: borrowing Request) -> String {
    guard let browser = BrowserName.read(request.field(.userAgent)?.text ?? "") else { return console }
    return "\(console), \(browser)"
  }

  /// The two parts of a detail: `console` or `cli`, and the browser's name where it is known.
  static func parts(of detail: String) -> (client: String, browser: String?) {
    guard detail.hasPrefix("\(console), ") else { return (detail, nil) }
    return (console, String(detail.dropFirst(console.utf8.count + 2)))
  }
}

/// A browser's name in a few words, so that a person tells their sessions apart. Nothing of what the browser sent is kept: each word is
/// one of those below, and versions, models and languages aren't looked at.
enum BrowserName {
  /// Products of User-Agent fields (RFC 9110 §10.1.5), those first that also name the others.
  private static let products: [(token: String, name: String)] = [
    ("Edg/", "Edge"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"), ("Firefox/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
  ]
  /// Systems, those first whose fields also name others.
  private static let systems: [(token: String, name: String)] = [
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
  ]
  /// Bytes of a field that are looked at: browsers send fewer than 256.
  private static let limit = 512

  /// Returns words such as `Firefox on Linux`, at most 64 bytes; nil if the browser isn't one of the known ones.
  static func read(_ field: String) -> String? {
    guard field.utf8.count <= limit else { return nil }
    guard let product = products.first(where: { field.contains($0.token) })?.name else { return nil }
    guard let system = systems.first(where: { field.contains($0.token) })?.name else { return product }
    return "\(product) on \(system)"
  }
}
