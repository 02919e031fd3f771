import System

/// DNS over HTTPS (RFC 8484).
struct DoHService: NameSource {
  let endpoint: ServiceEndpoint

  /// Queries both kinds of address at once. If one query fails, or its answer is later than the other's by more than RFC
  /// 8305 §3 allows, the other answer is used alone.
  func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer {
    typealias Outcome = Result<LookupAnswer, LookupError>
    let outcomes = Monitor<[DNSQuery.Kind: Outcome]>([:])
    let ask: @Sendable (DNSQuery.Kind) -> Void = { kind in
      let outcome = Outcome { () throws(LookupError) in try self.ask(DNSQuery(host: host, kind: kind)) }
      outcomes.broadcasting { $0[kind] = outcome }
    }
    for kind in [DNSQuery.Kind.v6, .v4] {
      // If the system has no thread left, query them one after another.
      if (try? OSThread(name: "dns over https", { ask(kind) })) == nil { ask(kind) }
    }
    let isWhole = { (outcomes: [DNSQuery.Kind: Outcome]) in outcomes.count == 2 }
    outcomes.waiting { outcomes in
      let hasAnswer = outcomes.values.contains { (try? $0.get()) != nil }
      return hasAnswer || isWhole(outcomes) ? () : nil
    }
    _ = outcomes.waiting(for: Self.resolutionDelay) { isWhole($0) ? () : nil }
    let known = outcomes.withLock { $0 }
    return try merged(known[.v6], known[.v4])
  }

  func networkChanged() { endpoint.networkChanged() }

  /// "recommended value of 50 milliseconds" (RFC 8305 §8).
  private static let resolutionDelay = Duration.milliseconds(50)

  private func merged(
    _ v6: Result<LookupAnswer, LookupError>?, _ v4: Result<LookupAnswer, LookupError>?
  ) throws(LookupError) -> LookupAnswer {
    let answers = [v6, v4].compactMap { try? $0?.get() }
    let times = answers.compactMap(\.seconds)
    if let answer = LookupAnswer(answers.flatMap(\.addresses), seconds: times.min()) { return answer }
    // Of two failures, the one other than "no address of this kind" says more.
    for case .failure(let error)? in [v4, v6] where error != .noAddress { throw error }
    throw .noAddress
  }

  private func ask(_ query: DNSQuery) throws(LookupError) -> LookupAnswer {
    // "without padding", in the alphabet for URLs (RFC 8484 §6).
    let text = Base64.encode(query.bytes).utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    let message = try endpoint.get(
      "?dns=\(String(decoding: text, as: UTF8.self))", accept: "application/dns-message",
      limit: DNSAnswer.limit)
    return try DNSAnswer.read(message, for: query)
  }
}
