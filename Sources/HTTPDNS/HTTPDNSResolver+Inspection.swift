import System

/// What one source says of a host, for tools.
public struct LookupReport: Sendable {
  /// `system` or `service`.
  public let source: String
  /// What it said.
  public let outcome: Result<LookupAnswer, LookupError>
  /// How long that took.
  public let milliseconds: Double
}

extension HTTPDNSResolver {
  /// Asks the system, and the service where there is one, each by itself, and keeps nothing. The call blocks until both
  /// have answered.
  public func inspect(_ host: String) -> [LookupReport] {
    guard let host = HostName(host) else { return [] }
    return [LookupPlan.Source.system, .service].compactMap { kind in
      guard let source = sources[kind] else { return nil }
      let start = Clock.monotonicNanoseconds()
      let outcome = Result { () throws(LookupError) in try source.lookUp(host) }
      return LookupReport(
        source: kind == .system ? "system" : "service", outcome: outcome,
        milliseconds: Double(Clock.monotonicNanoseconds() - start) / 1e6)
    }
  }
}
