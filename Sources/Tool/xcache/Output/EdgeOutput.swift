import OriginAPI
import System
import Values

/// Formats what is known of the shared caches between devices and the origin.
enum EdgeOutput {
  /// Describes how old the answers of shared caches may be.
  static func words(_ edge: EdgeBound, _ interval: Int?) -> String {
    let oldest =
      switch (edge.oldest, edge.purged) {
      case (let oldest?, nil): "within \(oldest) s"
      case (let oldest?, _): "within \(oldest) s if a purge fails"
      case (nil, nil):
        "after \(edge.ttl) s and as long as their configuration lets them answer with what is older"
      case (nil, _): "if a purge fails, after \(edge.ttl) s and as long as their configuration allows"
      }
    let purged = edge.purged.map { "within \($0) s by purge, " } ?? ""
    return "devices ask caches, which have a change \(purged)\(oldest); devices see it with their next poll, "
      + "every \(interval ?? 30) s"
  }

  /// The lines of the caches that haven't taken a purge of the channel in time, as `status` has them without an app.
  static func late(_ overview: ChannelOverview, _ terminal: Terminal) -> [String] {
    let age =
      overview.edge?.oldest.map { "up to \($0) s old" } ?? "as old as the cache's configuration allows"
    return (overview.edges ?? []).compactMap { edge in
      guard let since = edge.lateSince else { return nil }
      let fault = edge.fault.map { " The last attempt: \($0.onOneLine)" } ?? ""
      return
        "\(terminal.colour("EDGE", .yellow)): The edge \(edge.name.onOneLine) has not taken this channel's purge since "
        + "\(since.formatted); devices may get answers that are \(age).\(fault)"
    }
  }

  /// How long is waited until caches have been told, in milliseconds.
  private static let patience: Int64 = 2000

  /// Says after an act which caches know of it: devices that ask another one get the state before. Nothing without such caches.
  static func remark(_ arguments: Arguments, _ terminal: Terminal) {
    // The act itself is done, whatever becomes of this.
    guard !terminal.isQuiet, !arguments.has("json"), let remote = try? RemoteOrigin(arguments) else { return }
    let end = Clock.continuousMilliseconds() + patience
    while let edges = try? remote.api.overview(of: try remote.address).value.edges, let words = told(edges) {
      if edges.allSatisfy(\.isTold) || Clock.continuousMilliseconds() >= end {
        return terminal.remark(words)
      }
      Clock.sleep(for: .milliseconds(100))
    }
  }

  /// How many caches know the channel's last change, and which don't; nil if none is told.
  static func told(_ edges: [ChannelEdge]) -> String? {
    if edges.isEmpty { return nil }
    let left = edges.filter { !$0.isTold }.map { edge in
      edge.name.onOneLine + (edge.fault.map { " (\($0.onOneLine))" } ?? "")
    }
    let sum = "\(edges.count - left.count) of \(Count.text(edges.count, "cache")) told"
    return left.isEmpty ? sum : "\(sum); not told yet: \(left.joined(separator: ", "))"
  }
}
