import Glibc
import System
import Testing
import TestSupport
import Values

/// Small files by path.
typealias Files = [String: String]

/// An origin for one test: the real program on a port chosen by the kernel, with a data folder that is removed afterwards.
final class Site {
  let scratch: Scratch
  let data: String
  private(set) var server: Child
  private(set) var port: UInt16
  /// Options of `serve` besides its folder and address. A change takes effect at the next start.
  var options: [String]
  /// Words before the program, such as `unshare -m …`.
  private let launcher: [String]
  /// The descriptors that the server had open before the first request.
  private var idle: [String] = []

  var web: Web { Web(port: port) }
  var url: String { "http://127.0.0.1:\(port)" }

  /// The first admin token. It is read through /proc, since the folder may be mounted for the process alone.
  let token: String

  /// - Parameter options: options of `serve` besides its folder and address.
  init(_ options: [String] = [], launcher: (String) -> [String] = { _ in [] }) throws {
    scratch = try Scratch()
    data = scratch.path + "/data"
    self.options = options
    self.launcher = launcher(data)
    let words = Site.words(data, port: 0, options, self.launcher)
    server = try Child(words, environment: Site.environment(scratch), in: scratch.path)
    port = try Site.port(of: server)
    let file = try DurableFile.read("/proc/\(server.id)/root\(data)/admin.token")
    token = String(decoding: file ?? [], as: UTF8.self).filter { !$0.isWhitespace }
    settle()
  }

  /// Runs `body` with a new origin, and stops it: no descriptor may be left open, and SIGTERM must end it with exit code 0.
  static func with<Result>(
    _ options: [String] = [], launcher: (String) -> [String] = { _ in [] },
    _ body: (Site) throws -> Result
  ) throws -> Result {
    let site = try Site(options, launcher: launcher)
    let result = try body(site)
    try site.stop()
    return result
  }

  func stop() throws {
    #expect(
      Wait.until(10) { openCount <= idle.count },
      "left open: \(server.descriptors.filter(Site.counts).filter { !idle.contains($0) })")
    server.signal(SIGTERM)
    let exitCode = try server.wait(seconds: 15)
    #expect(exitCode == 0, "\(server.standardError)")
    #expect(server.standardError.hasSuffix("stopped\n"))
  }

  // MARK: - The server's process

  private static func words(_ data: String, port: UInt16, _ options: [String], _ launcher: [String])
    -> [String]
  {
    launcher + [Binary.path, "serve", "--data", data, "--listen", "127.0.0.1:\(port)", "--threads", "2"]
      + options
  }

  private static func environment(_ scratch: Scratch) -> [String: String] {
    ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": scratch.path, "SWIFT_BACKTRACE": "enable=no"]
  }

  /// The port in the line that the server prints when it listens.
  private static func port(of server: Child) throws -> UInt16 {
    var port: UInt16?
    _ = Wait.until(30) {
      let line = server.standardError.split(separator: "\n").first { $0.contains(" listens on http") }
      port = line?.split(separator: ":").last?.split(separator: ",").first.flatMap { UInt16($0) }
      return port != nil || server.hasEnded
    }
    guard let port else { throw Child.Failed(description: "no server: \(server.standardError)") }
    return port
  }

  /// Starts the server again on the same port.
  func start() throws {
    let words = Site.words(data, port: port, options, launcher)
    server = try Child(words, environment: Site.environment(scratch), in: scratch.path)
    port = try Site.port(of: server)
    settle()
  }

  /// Kills the server, and starts it again.
  func crash() throws {
    server.signal(SIGKILL)
    _ = try server.wait()
    try start()
  }

  /// Records the open descriptors once all threads have started.
  private func settle() {
    repeat {
      idle = server.descriptors.filter(Site.counts)
      Clock.sleep(for: .milliseconds(30))
    } while openCount != idle.count
  }

  /// The number of open descriptors, without the files that an origin keeps open on purpose (databases and served files) and those that
  /// threads keep from their start (event counters and a spare descriptor).
  var openCount: Int { server.descriptors.count(where: Site.counts) }

  private static func counts(_ target: String) -> Bool {
    !["/xcache.db", "/derived.db", "/blobs/", "/derived/", "anon_inode:", "/dev/null"].contains {
      target.contains($0)
    }
  }

  // MARK: - Commands

  /// Runs `xcache` with `token`; with an empty one if it is nil.
  /// - Parameter folder: the working directory, also for the home and caches; nil: the site's own.
  func start(
    _ words: [String], token: String? = nil, launcher: [String] = [], in folder: Scratch? = nil
  ) throws -> Child {
    let scratch = folder ?? scratch
    var environment = Site.environment(scratch)
    environment["XDG_CACHE_HOME"] = scratch.path + "/cache"
    environment["XCACHE_SERVER"] = url
    environment["XCACHE_TOKEN"] = token ?? self.token
    return try Child(launcher + [Binary.path] + words, environment: environment, in: scratch.path)
  }

  func run(_ words: String..., token: String? = nil) throws -> Outcome {
    try Outcome(try start(words, token: token))
  }

  /// Publishes small files as one bundle, and returns the `--json` output.
  @discardableResult
  func publish(
    _ files: Files, as bundle: String = "main", app: String = "shop", base: String = Site.base,
    _ more: String..., token: String? = nil
  ) throws -> JSONValue {
    let folder = try scratch.folder("site-\(app)-\(bundle)", files)
    let words = [
      "publish", "--create", folder, "--app", app, "--bundle", bundle, "--base-url", base, "--now", "--json",
    ]
    let outcome = try Outcome(try start(words + more, token: token))
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
    return try JSONValue.parse(Array(outcome.output.utf8))
  }

  static let base = "https://m.example.com/shop"

  /// Updates the device in the folder `device`, and returns the `--json` output.
  @discardableResult
  func pull(_ device: String, app: String = "shop", _ more: String...) throws -> JSONValue {
    let words = ["pull", "--to", "\(scratch.path)/\(device)", "--app", app, "--force", "--json"]
    let outcome = try Outcome(try start(words + more))
    try #require(outcome.exitCode == 0, "\(outcome.errors)")
    return try JSONValue.parse(Array(outcome.output.utf8))
  }

  /// The files of a device's tree.
  func tree(of device: String) throws -> [String: [UInt8]] {
    try Scratch.contents("\(scratch.path)/\(device)/tree")
  }

  /// A poll's answer.
  func poll(_ query: String = "", app: String = "shop") throws -> JSONValue {
    let answer = try web.ask("/configure.json?app=\(app)\(query.isEmpty ? "" : "&\(query)")")
    try #require(answer.status == 200, "\(answer.text)")
    return try JSONValue.parse(answer.body)
  }

  /// The entry of a URL in the newest manifest.
  func entry(_ path: String, app: String = "shop", base: String = Site.base) throws -> JSONValue? {
    try poll(app: app)["data"]?["resourcemap"]?["\(base)/\(path)"]
  }

  /// The path of an entry's download, as clients request it.
  static func path(of entry: JSONValue?) -> String {
    guard let url = entry?["download"]?.string, let host = url.firstRange(of: "://") else { return "/none" }
    return String(url[host.upperBound...].drop { $0 != "/" })
  }

  /// Calls the publishing API.
  func api(
    _ method: String, _ path: String, _ body: JSONValue? = nil, token: String? = nil
  ) throws -> (status: Int, json: JSONValue) {
    let answer = try web.ask(
      "/api/v1/\(path)", method, ["Authorization": "Bearer \(token ?? self.token)"], body: body?.canonical)
    return (answer.status, answer.body.isEmpty ? .null : try JSONValue.parse(answer.body))
  }
}

extension [String: [UInt8]] {
  /// The same as text.
  var texts: Files { mapValues { String(decoding: $0, as: UTF8.self) } }
}
