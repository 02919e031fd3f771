import System

/// The protocol of HTTPDNS vendors: `GET /ACCOUNT/d?host=…` returns JSON with addresses and a time to live.
struct VendorService: NameSource {
  let endpoint: ServiceEndpoint
  /// Nil if the service requires no signature.
  let secret: String?
  /// The path that returns the list of the service's addresses, such as `ss`; nil if there is none.
  let list: String?
  /// Milliseconds since 1970.
  let now: @Sendable () -> Int64

  let batch = 5

  func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer {
    let answers = try ask("d", [host])
    guard let answer = answers[host] else { throw .noAddress }
    return answer
  }

  func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer] {
    try ask("resolve", hosts)
  }

  private func ask(_ verb: String, _ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer] {
    let names = hosts.map(\.text).joined(separator: ",")
    let body = try endpoint.get(
      "/\(secret == nil ? "" : "sign_")\(verb)?host=\(names)&query=4,6\(signature(of: names))",
      accept: "application/json", limit: Self.limit)
    return try VendorAnswer.read(body, for: hosts)
  }

  /// The most bytes of an answer.
  private static let limit = 1 << 16

  /// Returns the signature that proves the query comes from an app of the account; valid for ten minutes.
  private func signature(of names: String) -> String {
    guard let secret else { return "" }
    let end = now() / 1000 + 600
    return "&t=\(end)&s=\(MD5.of(Array("\(names)-\(secret)-\(end)".utf8)).hex)"
  }

  func networkChanged() { endpoint.networkChanged() }

  /// Fetches the service's list of addresses; keeps the current list if that fails.
  func refresh(_ isCurrent: () -> Bool) {
    guard let list,
      let body = try? endpoint.get("/\(list)", accept: "application/json", limit: Self.limit)
    else { return }
    let addresses = VendorAnswer.services(body)
    if !addresses.isEmpty, isCurrent() { endpoint.take(addresses) }
  }
}
