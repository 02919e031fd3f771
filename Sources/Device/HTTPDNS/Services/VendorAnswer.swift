import Values

/// The JSON of a vendor's service: `{"host":"m.example.com","ips":["192.0.2.1"],"ipsv6":[],"ttl":60}`, or several of
/// these in `{"dns":[…]}`.
enum VendorAnswer {
  /// Returns the answers about the hosts that were asked for; ignores everything else.
  static func read(
    _ body: [UInt8], for hosts: [HostName]
  ) throws(LookupError) -> [HostName: LookupAnswer] {
    guard let document = try? JSONValue.parse(body), document.object != nil else { throw .badAnswer }
    guard document["dns"] != nil || document["host"] != nil else { throw .badAnswer }
    var answers: [HostName: LookupAnswer] = [:]
    for item in document["dns"]?.array ?? [document] {
      guard let host = item["host"]?.string.flatMap({ HostName($0) }), hosts.contains(host) else { continue }
      let texts = strings(item["ipsv6"]) + strings(item["ips"])
      guard let answer = LookupAnswer(texts.compactMap { IPAddress($0) }, seconds: seconds(item)) else {
        continue
      }
      answers[host] = answer
    }
    return answers
  }

  private static func seconds(_ item: JSONValue) -> Int? {
    guard let number = item["ttl"]?.integer else { return nil }
    return Int(clamping: max(0, number))
  }

  /// Reads no more of a list than is ever used, so that a long one costs nothing.
  private static func strings(_ value: JSONValue?) -> [String] {
    (value?.array ?? []).prefix(LookupAnswer.limit).compactMap(\.string)
  }

  /// Reads the service's addresses from a document such as `{"service_ip":["192.0.2.1"],"service_ipv6":[]}`.
  static func services(_ body: [UInt8]) -> [IPAddress] {
    guard let document = try? JSONValue.parse(body) else { return [] }
    let texts = strings(document["service_ip"]) + strings(document["service_ipv6"])
    return LookupAnswer(texts.compactMap { IPAddress($0) }, seconds: nil)?.addresses ?? []
  }
}
