import Publishing
import Values

/// The settings of a worker.
struct WebSettings {
  let json: JSONValue
  /// The origin that browsers poll.
  let server: BaseURL

  init(_ arguments: Arguments) throws {
    let file = try Settings.file(from: ".")
    guard
      let app = try arguments.value("app").map({ try SettingsValue.app($0, in: arguments.source("app")) })
        ?? file.app
    else {
      throw UsageError("no app given: use --app NAME, set XCACHE_APP, or add \"app\" to xcache.json")
    }
    let server =
      try arguments.value("server").map { try SettingsValue.url($0, in: arguments.source("server")) }
      ?? file.server ?? Profiles(arguments.environment).only?.server
    guard let server else {
      throw UsageError(
        "no server given: use --server URL, add \"server\" to xcache.json, or log in to exactly one: "
          + "xcache login URL")
    }
    if server.isExposed {
      arguments.remark(
        "warning: https pages can't load from \(server): give browsers an https URL")
    }
    if server.isLoopback {
      arguments.remark(
        "warning: only this machine reaches \(server): give the origin's URL as browsers reach it with --server"
      )
    }
    self.server = server
    var settings = JSONObject()
    settings["app"] = .string(app.text)
    let channel =
      try arguments.value("channel").map { try SettingsValue.channel($0, in: arguments.source("channel")) }
      ?? file.channel
    settings["channel"] = channel.map { .string($0.text) }
    settings["fallback"] = try arguments.value("fallback").map {
      .string(try SettingsValue.url($0, in: arguments.source("fallback")).text)
    }
    let hosts = arguments.all("host")
    if !hosts.isEmpty {
      guard let list = try? HostList(hosts), !list.names.contains("*") else {
        throw UsageError("--host \(hosts.joined(separator: " ")): hosts are names, or *.example.com")
      }
      settings["hosts"] = .strings(list.names)
    }
    if let text = try arguments.value("limit") {
      guard let bytes = Bytes.parse(text) else {
        throw UsageError("--limit \(text) is not a size such as 50MB")
      }
      // With less, a browser would keep next to nothing, and nobody means that.
      guard bytes >= 1_000_000 else {
        throw UsageError("--limit \(text) is too small for a site; expected at least 1MB")
      }
      settings["limit"] = .integer(bytes)
    }
    if let text = try arguments.value("stale-after") {
      guard let days = Int(text), (0...3650).contains(days) else {
        throw UsageError("--stale-after \(text) is not a number of days from 0 to 3650")
      }
      settings["staleAfter"] = .integer(days)
    }
    settings["server"] = .string(server.text)
    json = .object(settings)
  }
}
