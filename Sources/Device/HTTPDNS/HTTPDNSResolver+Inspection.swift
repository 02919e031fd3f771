import System

/// What one source answers about a host, for tools.
public struct LookupReport: Sendable {
  /// `system` or `service`.
  public let source: String
  /// The answer or error.
  public let outcome: Result<LookupAnswer, LookupError>
  /// How long the lookup took.
  public let milliseconds: Double
}

extension HTTPDNSResolver {
  /// Asks the system, and the service if there is one, independently of each other, and keeps nothing. The call blocks
  /// until both have answered.
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
