import HTTP
import Server
import System

/// The options of `serve` for client limits and the access log.
enum ServeLimits {
  static let options: [Option] = [
    .value("max-connections", "N", "limit open connections (default: 20000)"),
    .value(
      "max-connections-per-address", "N",
      "limit open connections per address or IPv6 /64, except loopback and proxies (default: 256)"),
    .value("max-requests", "N", "limit requests per connection (default: 10000)"),
    .value("max-head", "BYTES", "limit a request's head (default: 16384)"),
    .value("max-fields", "N", "limit a request's header fields (default: 100)"),
    .value("max-target", "BYTES", "limit a request's path and query (default: 8192)"),
    .value("max-upload", "BYTES", "limit the size of a published file (default: 64 GiB)"),
    .value("idle-timeout", "SECONDS", "close connections that are idle for this long (default: 75)"),
    .value("head-timeout", "SECONDS", "the time a request's head may take (default: 15)"),
    .value("body-timeout", "SECONDS", "the time an upload may stall (default: 30)"),
    .value("write-timeout", "SECONDS", "the time a download may stall (default: 60)"),
    .value("min-rate", "BYTES", "bytes per second below which a transfer counts as stalled (default: 256)"),
    .value(
      "trust-proxy", "CIDR", "take client addresses from X-Forwarded-For of this proxy; repeatable"),
    .value("access-log", "FILE", "append a line per request to this file, or - for standard output"),
    .value("access-log-format", "FORMAT", choices: ["common", "json"], "common or json (default: common)"),
  ]

  static func apply(_ arguments: Arguments, to configuration: inout ServerConfiguration) throws(UsageError) {
    func take<N: BinaryInteger>(_ name: String, _ range: ClosedRange<Int>, _ target: inout N, times: Int = 1)
      throws(UsageError)
    {
      if let number = try arguments.number(name, in: range) { target = N(number * times) }
    }
    try take("max-connections", 1...1_000_000, &configuration.limits.connections)
    try take("max-connections-per-address", 1...1_000_000, &configuration.limits.connectionsPerAddress)
    try take("max-requests", 1...1_000_000_000, &configuration.limits.requestsPerConnection)
    try take("max-head", 256...60_000, &configuration.limits.request.headBytes)
    try take("max-fields", 1...10_000, &configuration.limits.request.fieldCount)
    try take("max-target", 64...60_000, &configuration.limits.request.targetBytes)
    let second = Int(Timeouts.second)
    try take("idle-timeout", 1...86_400, &configuration.timeouts.idle, times: second)
    try take("head-timeout", 1...3_600, &configuration.timeouts.head, times: second)
    try take("body-timeout", 1...3_600, &configuration.timeouts.body, times: second)
    try take("write-timeout", 1...3_600, &configuration.timeouts.write, times: second)
    try take("min-rate", 1...1_000_000, &configuration.timeouts.minimumRate)
    for text in try arguments.list("trust-proxy") {
      guard let range = AddressRange(text) else {
        throw UsageError(
          "\(arguments.source("trust-proxy")) \(text) is not an address range such as 10.0.0.0/8")
      }
      configuration.trustedProxies.append(range)
    }
  }

  static func accessLog(_ arguments: Arguments, _ log: @escaping @Sendable (String) -> Void) throws
    -> AccessLog?
  {
    let format: AccessLog.Format
    switch try arguments.value("access-log-format") {
    case nil, "common"?: format = .common
    case "json"?: format = .json
    case let text?:
      throw UsageError("\(arguments.source("access-log-format")) \(text): expected common or json")
    }
    guard let path = try arguments.value("access-log") else { return nil }
    return try AccessLog(path == "-" ? standardOutput() : file(path), format: format) {
      log("error: the access log \(path) can't be written: \($0.reason)")
    }
  }

  /// Reopens the access log, after logrotate has renamed it.
  static func reopen(
    _ server: Server, _ arguments: Arguments, _ log: @escaping @Sendable (String) -> Void
  ) throws {
    guard let path = try arguments.value("access-log"), path != "-" else { return }
    do throws(SystemError) {
      server.reopenAccessLog(in: try file(path))
      log("reopened the access log \(path)")
    } catch {
      log("error: the access log \(path) can't be reopened; still writing to the old file: \(error.reason)")
    }
  }

  private static func standardOutput() throws -> Descriptor {
    do {
      return try StandardStream.output.duplicate()
    } catch {
      throw Failure("the access log can't go to standard output, which is closed; give --access-log FILE")
    }
  }

  private static func file(_ path: String) throws(SystemError) -> Descriptor {
    // Signals are waited for by the thread that opens it, so it must never block.
    try Kernel.openForAppending(path)
  }
}
