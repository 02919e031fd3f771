import Manifests
import Publishing

/// Texts as the values they stand for, wherever they were given.
enum SettingsValue {
  static func url(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> BaseURL
  {
    do {
      return try BaseURL(text)
    } catch {
      throw SettingsError(.value(wanted: "an http or https URL; \(error.words)"), in: place, at: keys)
    }
  }

  static func app(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> AppName
  {
    guard let name = try? AppName(text) else {
      throw SettingsError(
        .value(
          wanted:
            "an app's name (a letter, then letters, digits, - and _, 64 at most), not \(text.debugDescription)"
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
            "a channel's name (a small letter, then small letters, digits and -, 32 at most), not \(text.debugDescription)"
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
            "a bundle's name (a letter or digit, then letters, digits, ., - and _, 128 at most), not \(text.debugDescription)"
        ),
        in: place, at: keys)
    }
    return name
  }
}

/// Why settings can't be used.
struct SettingsError: Error, Hashable, Sendable {
  enum Problem: Hashable, Sendable {
    case unreadable(String)
    case notJSON(JSONError)
    case unknownKey
    /// Others than its owner may read or write it, though it holds secrets.
    case open
    /// Not what the key takes: `wanted` says what that is.
    case value(wanted: String)
    case noFolder(BundleName)
    case noBaseURL(BundleName)
  }

  let problem: Problem
  /// The file, or the environment variable.
  let place: String
  /// From the outermost key to the one that is wrong.
  let keys: [String]

  init(_ problem: Problem, in place: String = "", at keys: [String] = []) {
    self.problem = problem
    self.place = place
    self.keys = keys
  }

  /// What is wrong, where, and what to do.
  var words: String {
    let key = keys.joined(separator: " / ")
    let spot = key.isEmpty ? place : "\(place): \(key)"
    switch problem {
    case .unreadable(let reason): return "\(place) can't be read: \(reason)"
    case .open: return "\(place) may be read by others, and it holds a secret: run chmod 600 \(place)"
    case .notJSON(let error): return "\(place) isn't JSON: \(SettingsError.words(of: error))"
    case .unknownKey where keys.last == "token":
      return "\(spot): a token doesn't belong in a file that is shared; set XCACHE_TOKEN"
    case .unknownKey: return "\(spot) is not a key that xcache.json has"
    case .value(let wanted): return "\(spot) should be \(wanted)"
    case .noFolder(let name):
      return "bundle \(name) has no folder: name one, or give it \"dirs\" in xcache.json"
    case .noBaseURL(let name):
      return "bundle \(name) has no base URL: give --base-url, or \"baseURL\" in xcache.json"
    }
  }

  private static func words(of error: JSONError) -> String {
    switch error {
    case .ended: "it ends too early"
    case .unexpected(let at), .trailing(let at): "unexpected character at byte \(at)"
    case .tooDeep(let at): "too many levels at byte \(at)"
    case .tooLarge(let at): "too long a value at byte \(at)"
    case .number(let at): "not a number at byte \(at)"
    case .escape(let at): "unknown escape at byte \(at)"
    case .encoding(let at): "not UTF-8 at byte \(at)"
    case .duplicateKey(let key): "the key \(key.debugDescription) comes twice"
    case .member(let key): "\(key.debugDescription) is missing or wrong"
    }
  }
}
