import System

/// The system's name resolution. It may hang for any length of time.
struct SystemNames: NameSource {
  func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer {
    let addresses = HostAddresses.of(host.text).compactMap { IPAddress(bytes: $0) }
    guard let answer = LookupAnswer(addresses, seconds: nil) else { throw .noAddress }
    return answer
  }
}
