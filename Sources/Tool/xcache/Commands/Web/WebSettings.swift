import Manifests
import Publishing
import System
import Trust
import Values

/// The settings of a worker.
struct WebSettings {
  let json: JSONValue
  /// The origin that browsers poll.
  let server: BaseURL
  /// The root that the site is built with; nil without one.
  let root: Signed<TrustRoot>?

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
    if !arguments.has("no-go-back") { settings["goesBack"] = .bool(true) }
    root = try arguments.value("root").map { try Self.root($0, of: app) }
    // In the worker's own bytes, so that browsers notice another one.
    settings["root"] = root?.envelope.json
    settings["server"] = .string(server.text)
    json = .object(settings)
  }

  private static func root(_ file: String, of app: AppName) throws -> Signed<TrustRoot> {
    guard let bytes = try DurableFile.read(file) else {
      throw Failure("--root \(file): no such file", name: "no-files")
    }
    let root: Signed<TrustRoot>
    do throws(TrustFormError) {
      root = try Signed(parsing: bytes)
    } catch {
      throw Failure("--root \(file) is no signed root: \(error)", code: .refused)
    }
    let document = root.document
    guard document.app == app else {
      throw Failure(
        "--root \(file) is the root of the app \(document.app.text), and this is \(app.text)", code: .refused)
    }
    let signers = root.signers(among: document.roots.keys, keys: document.keys, by: SystemVerifier())
    guard document.roots.isMet(by: signers) else {
      throw Failure(
        "--root \(file) isn't signed by enough of its own root keys; give the envelope that `xcache trust init` wrote",
        code: .refused)
    }
    return root
  }

  /// What `--json` says of the root.
  var rootSummary: JSONValue? {
    root.map { root in
      var object = JSONObject()
      object["environment"] = root.document.environment.map { .string($0.text) }
      object["number"] = .string(root.document.number.text)
      object["sha256"] = .string(root.digest.hex)
      return .object(object)
    }
  }
}
