import Values

/// A message from `PageWatch.script`: `SIGNAL MILLISECONDS`, and after another blank what more there is to say about it.
///
/// Scripts of the page don't reach the handler, but what they threw is in the message: it is read as what anybody might have sent.
struct PageMessage {
  /// What the page signals.
  enum Signal: String {
    /// Something is visible.
    case painted
    /// The load event.
    case loaded
    /// A script threw an error. The rest is `{"message":"…","stack":"…"}`; older scripts say nothing about it.
    case failed
    /// A promise was rejected, and nothing handled it. The rest is as above.
    case rejected
    /// The page is in sight, or isn't. The rest is the engine's name and version.
    case hidden, visible
  }

  let signal: Signal
  /// Since the navigation began; nil if it isn't a number.
  let milliseconds: Int64?
  /// What more the message says.
  private let rest: Substring

  /// The most bytes of a message that are read. Above that, only its beginning counts.
  static let longest = 131_072
  /// The most JSON values in one.
  private static let mostValues = 16

  /// Reads a message; nil if it has no signal that is known.
  init?(_ message: String) {
    let isTooLong = message.utf8.count > Self.longest
    let text = isTooLong ? String(decoding: message.utf8.prefix(64), as: UTF8.self) : message
    let words = text.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, let signal = Signal(rawValue: String(words[0])) else { return nil }
    self.signal = signal
    milliseconds = Int64(words[1])
    rest = words.count == 3 && !isTooLong ? words[2] : ""
  }

  /// Returns the string that a JSON text is; nil if it isn't one, or is too long.
  static func text(json: String) -> String? {
    // Escapes make a text longer: by six times, if all of it is control characters.
    guard json.utf8.count <= 2 * longest else { return nil }
    var values = 1
    return (try? JSONValue.parse(Array(json.utf8), atMost: 1, of: &values))?.string
  }

  /// The error that a script or a promise failed with; nil if nothing is known of it.
  var error: PageError? {
    var values = Self.mostValues
    guard !rest.isEmpty,
      let json = try? JSONValue.parse(Array(rest.utf8), atMost: Self.mostValues, of: &values),
      let message = json["message"]?.string
    else { return nil }
    return PageError(message: message, stack: json["stack"]?.string ?? "")
  }

  /// The engine's name and version; nil if the message has none.
  var engine: String? { rest.isEmpty ? nil : String(rest) }
}
