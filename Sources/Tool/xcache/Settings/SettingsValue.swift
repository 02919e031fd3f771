import Manifests
import Publishing
import Values

/// Parses values of settings, whatever their source.
enum SettingsValue {
  static func url(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> BaseURL
  {
    do {
      return try BaseURL(text)
    } catch {
      throw SettingsError(
        .value(wanted: "an http or https URL; \(message(error.problem, shown(text)))"), in: place, at: keys)
    }
  }

  /// Returns the base URL of a folder; that of a page in it is a mistake.
  static func folderURL(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> BaseURL
  {
    let base = try url(text, in: place, at: keys)
    let parts = base.text.split(separator: "/")
    guard parts.count > 2, let name = parts.last?.lowercased(),
      name.hasSuffix(".html") || name.hasSuffix(".htm")
    else { return base }
    let folder = base.text.dropLast(name.count)
    throw SettingsError(
      .value(wanted: "the URL of a folder; \(base.text) is a page's, in the folder \(folder)"), in: place,
      at: keys)
  }

  /// Returns an invalid URL for a message, without what may be secret: user name, password and query.
  private static func shown(_ text: String) -> String {
    let cut = text.prefix { $0 != "?" && $0 != "#" }
    var shown = String(cut)
    let start = cut.firstRange(of: "://")?.upperBound ?? cut.startIndex
    let authority = cut[start...].prefix { $0 != "/" }
    if let at = authority.lastIndex(of: "@") { shown = cut[..<start] + "…" + cut[at...] }
    return cut.endIndex == text.endIndex ? shown : shown + "\(text[cut.endIndex])…"
  }

  /// Describes what is wrong with the URL of a server or a base URL.
  private static func message(_ problem: ResourceURLError.Problem, _ shown: String) -> String {
    switch problem {
    case .relative: "\(shown) has no scheme: write https://… or http://…"
    // `localhost:8080`, a host with a port.
    case .scheme(let scheme)
    where shown.utf8.dropFirst(scheme.utf8.count + 1).first.map { (0x30...0x39).contains($0) } == true:
      "\(shown) has no scheme: write http://\(shown) or https://\(shown)"
    case .scheme(let scheme): "\(shown) has the scheme \(scheme), and only http and https are possible"
    case .lineBreak: "it has a tab or a line break in it"
    case .userinfo: "\(shown) has a user name or a password in it; write it without"
    case .noHost: "\(shown) has no host"
    case .hostNotASCII: "the host of \(shown) has to be written in its ASCII form (xn--…)"
    case .hostByte: "the host of \(shown) has a character that hosts can't have"
    case .ipv4, .ipv6: "the host of \(shown) is not an IP address"
    case .port: "\(shown) has no valid port"
    case .tooLong(let count): "it has \(count) bytes; the limit is \(ResourceURL.limit)"
    case .baseWithQuery: "\(shown) has a query or a fragment; write it without what follows the ? or #"
    case .path: "the path of \(shown) has an empty part, . or .."
    case .pathNotUTF8: "\(shown) isn't UTF-8"
    }
  }

  static func app(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> AppName
  {
    guard let name = try? AppName(text) else {
      throw SettingsError(
        .value(
          wanted:
            "an app's name (a letter, then letters, digits, - and _, at most 64), not \(text.debugDescription)"
        ),
        in: place, at: keys)
    }
    return name
  }

  static func channel(
    _ text: String, in place: String, at keys: [String] = []
  ) throws(SettingsError) -> ChannelName {
    guard let name = try? ChannelName(text) else {
      throw SettingsError(
        .value(
          wanted:
            "a channel's name (a lowercase letter, then lowercase letters, digits and -, at most 32), not \(text.debugDescription)"
        ),
        in: place, at: keys)
    }
    return name
  }

  static func bundle(
    _ text: String, in place: String, at keys: [String] = []
  ) throws(SettingsError) -> BundleName {
    guard let name = try? BundleName(text) else {
      throw SettingsError(
        .value(
          wanted:
            "a bundle's name (a letter or digit, then letters, digits, ., - and _, at most 128), not \(text.debugDescription)"
        ),
        in: place, at: keys)
    }
    return name
  }
}

/// Why settings are invalid.
struct SettingsError: Error, Hashable, Sendable {
  enum Problem: Hashable, Sendable {
    case unreadable(String)
    /// `at`: the line and column, such as ` at line 3, column 7`; empty if it is about the whole file.
    case notJSON(JSONError, at: String)
    /// `nearest`: the key that was probably meant. `place`: where a key of this name belongs.
    case unknownKey(nearest: String?, place: String? = nil)
    /// A token in a file that is shared.
    case token(id: String)
    /// Others may read or write the file, though it holds secrets.
    case open
    /// Not a valid value for the key: `wanted` describes those.
    case value(wanted: String)
    /// Not a valid fallback.
    case fallback(PageFallbacks.Fault)
    case noFolder(BundleName)
    case noBaseURL(BundleName)
  }

  let problem: Problem
  /// The file, or the environment variable.
  let place: String
  /// The keys from the outermost to the invalid one.
  let keys: [String]

  init(_ problem: Problem, in place: String = "", at keys: [String] = []) {
    self.problem = problem
    self.place = place
    self.keys = keys
  }

  /// Describes an invalid page URL, without repeating a user name, password or query.
  static func message(ofPage page: String, in place: String) -> String {
    let shown = page.contains("@") || page.contains("?") ? "" : " \(page)"
    return "\(place)\(shown) is not an absolute http or https URL without user name and password"
  }

  private static func shown(_ key: String) -> String {
    String(
      String.UnicodeScalarView(
        key.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
  }

  /// What is wrong, where, and what to do.
  var message: String {
    // Keys may come from anybody, so none of their characters may move the cursor.
    let key = keys.map(Self.shown).joined(separator: " / ")
    let spot = key.isEmpty ? place : "\(place): \(key)"
    switch problem {
    case .unreadable(let reason): return "\(place) can't be read: \(reason)"
    case .open: return "\(place) can be read by others, and it holds a secret: run chmod 600 \(place)"
    case .notJSON(let error, let spot):
      return "\(place) isn't JSON: \(SettingsError.message(of: error))\(spot); "
        + (place.hasSuffix("/servers.json") ? "correct it, or delete it and log in again" : "correct it")
    case .token(let id):
      return
        "\(spot): a token doesn't belong in a file that is shared; set XCACHE_TOKEN, and if others may have seen this one, "
        + "revoke it: `xcache token revoke \(id)`"
    case .unknownKey where keys.last == "token":
      return "\(spot): a token doesn't belong in a file that is shared; set XCACHE_TOKEN"
    case .unknownKey(_, let owner?):
      return "\(spot) is not a key here: it belongs in \(owner)"
    case .unknownKey(let nearest, nil):
      let file = place.split(separator: "/").last ?? "the file"
      return "\(spot) is not a key of \(file)\(nearest.map { "; did you mean \($0)?" } ?? "")"
    case .value(let wanted): return "\(spot) should be \(wanted)"
    case .fallback(let fault): return "\(spot): \(fault)"
    case .noFolder(let name):
      return "bundle \(name) has no folder: name one, or give it \"dirs\" in xcache.json"
    case .noBaseURL(let name):
      return "bundle \(name) has no base URL: give --base-url, or \"baseURL\" in xcache.json"
    }
  }

  /// Parses a file of settings.
  /// - Throws: `notJSON`, with the line and column.
  static func parse(_ bytes: [UInt8], in place: String) throws(SettingsError) -> JSONValue {
    // As documents, they may begin with a byte order mark.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    do throws(JSONError) {
      return try JSONValue.parse(bytes)
    } catch {
      let at = error.position(in: bytes).map { " at line \($0.line), column \($0.column)" } ?? ""
      throw SettingsError(.notJSON(error, at: at), in: place)
    }
  }

  private static func message(of error: JSONError) -> String {
    switch error {
    case .ended: "it ends too early,"
    case .unexpected, .trailing: "unexpected character"
    case .tooDeep: "nested too deeply"
    case .tooLarge: "value too long"
    case .tooMany: "too many values"
    case .number: "not a number"
    case .escape: "unknown escape"
    case .encoding: "not UTF-8"
    case .duplicateKey(let key): "the key \(key.debugDescription) appears twice"
    case .member(let key): "\(key.debugDescription) is missing or wrong"
    }
  }
}
