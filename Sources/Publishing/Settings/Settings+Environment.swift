import Manifests

extension Settings {
  /// What `XCACHE_SERVER`, `XCACHE_TOKEN`, `XCACHE_APP` and `XCACHE_CHANNEL` say; an empty value says nothing.
  package static func environment(_ variables: [String: String]) throws(SettingsError) -> Settings {
    let value = { (name: String) in variables[name].flatMap { $0.isEmpty ? nil : $0 } }
    var settings = Settings()
    if let text = value("XCACHE_SERVER") {
      settings.server = try SettingsValue.url(text, in: "XCACHE_SERVER")
    }
    settings.token = value("XCACHE_TOKEN")
    if let text = value("XCACHE_APP") { settings.app = try SettingsValue.app(text, in: "XCACHE_APP") }
    if let text = value("XCACHE_CHANNEL") {
      settings.channel = try SettingsValue.channel(text, in: "XCACHE_CHANNEL")
    }
    return settings
  }
}

/// Texts as the values they stand for, wherever they were given.
package enum SettingsValue {
  package static func url(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
    -> BaseURL
  {
    do {
      return try BaseURL(text)
    } catch {
      throw SettingsError(.value(wanted: "an http or https URL; \(error.words)"), in: place, at: keys)
    }
  }

  package static func app(_ text: String, in place: String, at keys: [String] = []) throws(SettingsError)
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

  package static func channel(
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

  package static func bundle(
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
