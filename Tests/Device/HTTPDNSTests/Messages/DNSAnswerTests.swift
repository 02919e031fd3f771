import Testing

@testable import HTTPDNS

@Suite struct DNSAnswerTests {
  let v4 = DNSQuery(host: .of("m.example.com"), kind: .v4)
  let v6 = DNSQuery(host: .of("m.example.com"), kind: .v6)

  private func outcome(_ bytes: [UInt8], _ query: DNSQuery) -> Result<LookupAnswer, LookupError> {
    Result { () throws(LookupError) in try DNSAnswer.read(bytes, for: query) }
  }

  private func outcome(_ query: DNSQuery, _ change: (inout DNSMessage) -> Void)
    -> Result<LookupAnswer, LookupError>
  {
    var message = DNSMessage(query)
    change(&message)
    return outcome(message.bytes, query)
  }

  @Test func queriesHaveTheFormOfRFC8484() {
    // RFC 8484 §4.1.1: the example's query for www.example.com.
    let query = DNSQuery(host: .of("www.example.com"), kind: .v4)
    #expect(
      query.bytes == [0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3] + Array("www".utf8) + [7]
        + Array("example".utf8) + [3] + Array("com".utf8) + [0, 0, 1, 0, 1])
  }

  @Test func addressesOfBothKinds() {
    #expect(
      outcome(v4) {
        $0.records = [
          DNSMessage.record(type: 1, ttl: 120, [192, 0, 2, 1]),
          DNSMessage.record(type: 1, ttl: 60, [192, 0, 2, 2]),
          // A record of another kind, one of another class, and one of another host.
          DNSMessage.record(type: 16, [3, 1, 2, 3]), DNSMessage.record(type: 1, group: 3, [192, 0, 2, 3]),
          DNSMessage.record(DNSMessage.name("evil.test"), type: 1, [192, 0, 2, 4]),
        ]
      } == .success(.of("192.0.2.1", "192.0.2.2", seconds: 60)))
    let address: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
    #expect(
      outcome(v6) { $0.records = [DNSMessage.record(type: 28, address)] }
        == .success(.of("2001:db8::1", seconds: 300)))
  }

  @Test func aliasesAreFollowedInAnyOrder() {
    let found = outcome(v4) {
      $0.records = [
        DNSMessage.record(DNSMessage.name("C.CDN.test"), type: 1, ttl: 200, [192, 0, 2, 9]),
        DNSMessage.record(DNSMessage.name("b.cdn.test"), type: 5, ttl: 7, DNSMessage.name("c.cdn.test")),
        DNSMessage.record(type: 5, ttl: 100, DNSMessage.name("b.cdn.test")),
      ]
    }
    #expect(found == .success(.of("192.0.2.9", seconds: 7)))
  }

  @Test func negativeTTLsAre0() {
    let found = outcome(v4) { $0.records = [DNSMessage.record(type: 1, ttl: 0x8000_0000, [192, 0, 2, 1])] }
    #expect(found == .success(.of("192.0.2.1", seconds: 0)))
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let error: LookupError
    let change: @Sendable (inout DNSMessage) -> Void
    init(
      _ name: String, _ error: LookupError = .badAnswer,
      _ change: @escaping @Sendable (inout DNSMessage) -> Void
    ) {
      (testDescription, self.error, self.change) = (name, error, change)
    }
  }

  private static let address = DNSMessage.record(type: 1, [192, 0, 2, 1])

  @Test(arguments: [
    Case("no such name", .noAddress) { $0.flags |= 3 },
    Case("the server fails", .refused(2)) { $0.flags |= 2 },
    Case("nothing of this kind", .noAddress) { $0.records = [] },
    Case("a question") { $0.flags &= 0x7FFF },
    Case("cut off") { $0.flags |= 0x0200 },
    Case("another operation") { $0.flags |= 0x0800 },
    Case("the id of another answer") { $0.id = 1 },
    Case("no question") { $0.questions = 0 },
    Case("a question about another host") { $0.question = DNSMessage.name("n.example.com") + [0, 1, 0, 1] },
    Case("a question of another kind") { $0.question = DNSMessage.name("m.example.com") + [0, 28, 0, 1] },
    Case("fewer records than announced") { $0.count = 2 },
    Case("more records than are read") { $0.count = 60_000 },
    Case("an address of three bytes") { $0.records = [DNSMessage.record(type: 1, [192, 0, 2])] },
    Case("an alias of another length than announced") {
      $0.records = [DNSMessage.record(type: 5, DNSMessage.name("a.test") + [0])]
    },
    Case("an alias of itself") { $0.records = [DNSMessage.record(type: 5, [0xC0, 12])] },
    Case("aliases in a circle") {
      $0.records = [
        DNSMessage.record(type: 5, DNSMessage.name("a.test")),
        DNSMessage.record(DNSMessage.name("a.test"), type: 5, DNSMessage.name("m.example.com")),
      ]
    },
    Case("an alias of nothing", .noAddress) {
      $0.records = [DNSMessage.record(type: 5, DNSMessage.name("a.test"))]
    },
    Case("a pointer to itself") { $0.records = [DNSMessage.record([0xC0, 31], type: 1, [192, 0, 2, 1])] },
    Case("a pointer ahead") { $0.records = [DNSMessage.record([0xC0, 60], type: 1, [192, 0, 2, 1])] },
    Case("a pointer out of the message") {
      $0.records = [DNSMessage.record([0xFF, 0xFF], type: 1, [192, 0, 2, 1])]
    },
    Case("a label of an obsolete type") {
      $0.records = [DNSMessage.record([0x41, 0], type: 1, [192, 0, 2, 1])]
    },
    Case("the address of no host", .noAddress) { $0.records = [DNSMessage.record(type: 1, [0, 0, 0, 0])] },
  ])
  func invalidMessagesAreRefused(_ item: Case) {
    let found = outcome(v4) {
      $0.records = [Self.address]
      item.change(&$0)
    }
    #expect(found == .failure(item.error))
  }

  /// Names of more than 255 bytes by pointers, and long chains of pointers.
  @Test func namesAndPointersAreLimited() {
    var message = DNSMessage(v4)
    let label: [UInt8] = [63] + [UInt8](repeating: 97, count: 63)
    message.records = [
      DNSMessage.record(type: 16, label + label + label + [0]),
      DNSMessage.record(label + [0xC0, 43], type: 1, [192, 0, 2, 1]),
    ]
    #expect(outcome(message.bytes, v4) == .failure(.badAnswer))
    // Each pointer points to the one before it.
    let chain = (0..<400).flatMap { place -> [UInt8] in
      let target = place == 0 ? 12 : 43 + 2 * (place - 1)
      return [0xC0 | UInt8(target >> 8), UInt8(target & 255)]
    }
    let last = 43 + 2 * 399
    for (target, isRead) in [(43 + 2 * 20, true), (last, false)] {
      message.records = [
        DNSMessage.record(type: 16, chain),
        DNSMessage.record([0xC0 | UInt8(target >> 8), UInt8(target & 255)], type: 1, [192, 0, 2, 1]),
      ]
      let isFound = (try? outcome(message.bytes, v4).get()) != nil
      #expect(isFound == isRead)
    }
  }

  @Test func truncatedAndDamagedMessagesDoNotTrap() {
    var message = DNSMessage(v4)
    message.records = [
      DNSMessage.record(type: 5, DNSMessage.name("a.test")),
      DNSMessage.record(DNSMessage.name("a.test"), type: 1, [192, 0, 2, 1]),
    ]
    let bytes = message.bytes
    for count in 0..<bytes.count { #expect((try? outcome(Array(bytes[..<count]), v4).get()) == nil) }
    for place in bytes.indices {
      for bit in 0..<8 {
        var wrong = bytes
        wrong[place] ^= 1 << UInt8(bit)
        _ = outcome(wrong, v4)
      }
    }
  }
}
