/// The answer to a query in a DNS message (RFC 1035 §4).
struct DNSAnswer {
  /// The most bytes of a message.
  static let limit = 65_535
  /// The most records that are read; no host has that many.
  private static let maxRecords = 512
  /// The most CNAME records that are followed in a row.
  private static let maxAliases = 16

  private struct Alias {
    let target: [UInt8]
    let seconds: Int
  }

  private var aliases: [[UInt8]: Alias] = [:]
  private var addresses: [[UInt8]: [(address: IPAddress, seconds: Int)]] = [:]

  /// Returns the addresses that `message` gives in answer to `query`, following CNAMEs; the time to live is the shortest on
  /// the way.
  static func read(_ message: [UInt8], for query: DNSQuery) throws(LookupError) -> LookupAnswer {
    guard message.count <= limit else { throw .badAnswer }
    var reader = DNSMessageReader(message)
    let records = try head(&reader, of: query)
    var answer = DNSAnswer()
    for _ in 0..<records {
      guard answer.take(&reader, query.kind) else { throw .badAnswer }
    }
    return try answer.follow(query.host.wire)
  }

  /// Reads the header and the question; returns how many records follow.
  private static func head(
    _ reader: inout DNSMessageReader, of query: DNSQuery
  ) throws(LookupError) -> Int {
    guard let id = reader.word(), id == 0, let flags = reader.word(), let questions = reader.word(),
      let records = reader.word(), reader.take(4) != nil
    else { throw .badAnswer }
    // It has to be an answer to a standard query, and not truncated.
    guard flags & 0x8000 != 0, flags & 0x7800 == 0, flags & 0x0200 == 0 else { throw .badAnswer }
    switch flags & 0x000F {
    case 0: break
    case 3: throw .noAddress
    case let code: throw .refused(Int(code))
    }
    guard questions == 1, reader.name() == query.host.wire, reader.word() == query.kind.rawValue,
      reader.word() == 1, records <= maxRecords
    else { throw .badAnswer }
    return Int(records)
  }

  /// Reads the next record; returns false if it is invalid.
  private mutating func take(_ reader: inout DNSMessageReader, _ kind: DNSQuery.Kind) -> Bool {
    guard let owner = reader.name(), let type = reader.word(), let group = reader.word(),
      let time = reader.long(), let length = reader.word(), reader.bytes.count - reader.offset >= Int(length)
    else { return false }
    // "a received value … having the most significant bit set" counts as zero (RFC 2181 §8).
    let seconds = time > Int32.max ? 0 : Int(time)
    let end = reader.offset + Int(length)
    if group == 1, type == kind.rawValue {
      guard let bytes = reader.take(Int(length)), let address = IPAddress(bytes: bytes),
        address.isV6 == (kind == .v6)
      else { return false }
      addresses[owner, default: []].append((address, seconds))
      return true
    }
    if group == 1, type == Self.cname {
      guard let target = reader.name(), reader.offset == end else { return false }
      aliases[owner] = aliases[owner] ?? Alias(target: target, seconds: seconds)
      return true
    }
    return reader.take(Int(length)) != nil
  }

  private static let cname: UInt16 = 5

  private func follow(_ name: [UInt8]) throws(LookupError) -> LookupAnswer {
    var name = name
    var shortest = Int.max
    for _ in 0..<Self.maxAliases {
      if let found = addresses[name] {
        let seconds = found.reduce(shortest) { min($0, $1.seconds) }
        guard let answer = LookupAnswer(found.map(\.address), seconds: seconds) else { throw .noAddress }
        return answer
      }
      guard let alias = aliases[name] else { throw .noAddress }
      shortest = min(shortest, alias.seconds)
      name = alias.target
    }
    throw .badAnswer
  }
}
