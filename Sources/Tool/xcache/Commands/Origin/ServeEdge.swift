import Manifests
import Origin
import Store

/// The options of `serve` for shared caches between it and its devices, such as a CDN or Varnish, which take the polls.
enum ServeEdge {
  static let options: [Option] = [
    .value(
      "edge-ttl", "SECONDS",
      "let shared caches, such as a CDN, answer polls for this long (1 to 60) without asking; devices then count their "
        + "polls themselves (default: off)"),
    .value(
      "edge-header", "KIND", choices: EdgePolicy.Header.allCases.map(\.rawValue),
      "with --edge-ttl: the field that tells caches so: cdn-cache-control, s-maxage or surrogate (default: "
        + "cdn-cache-control)"),
  ]

  /// Returns how shared caches keep answers, or nil if none takes polls.
  static func policy(_ arguments: Arguments) throws -> EdgePolicy? {
    let header = try arguments.value("edge-header").map { text throws(UsageError) in
      guard let header = EdgePolicy.Header(rawValue: text.lowercased()) else {
        throw UsageError(
          "\(arguments.source("edge-header")) \(text): expected "
            + EdgePolicy.Header.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return header
    }
    guard let ttl = try arguments.number("edge-ttl", in: EdgePolicy.ttls) else {
      guard header != nil else { return nil }
      throw UsageError("\(arguments.source("edge-header")) needs --edge-ttl SECONDS, such as 10")
    }
    return EdgePolicy(ttl: ttl, header: header ?? .cdnCacheControl)
  }

  /// Refuses to start with shared caches if the devices of a channel report nothing: nobody would know which versions they run, and gc
  /// would drop them.
  static func refuseSilentChannels(_ policy: EdgePolicy?, _ store: Store) throws {
    guard policy != nil else { return }
    let silent = try store.channelsWithExtras().filter { $0.extras.reports == 0 }.map(\.channel)
    guard let first = silent.first else { return }
    let more = silent.count > 1 ? " (and \(silent.count - 1) more)" : ""
    throw Failure(
      "channel \(first.name) of \(first.app)\(more) has its devices send no usage reports, by which alone they are counted "
        + "with --edge-ttl; start without it, run `xcache channel set --reports 1 --app \(first.app) --channel \(first.name)`"
        + ", and start again", name: "reports-needed")
  }
}
