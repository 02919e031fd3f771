import HTTP
import Testing

@Suite struct RequestLimitsTests {
  private let limits = RequestLimits(headBytes: 300, targetBytes: 40, fieldCount: 4)

  private func request(target: Int = 1, fields: Int = 1, padding: Int = 0) -> [UInt8] {
    var text = "GET /" + String(repeating: "a", count: target - 1) + " HTTP/1.1\r\nHost: h\r\n"
    for index in 1..<max(fields, 1) { text += "X-\(index): v\r\n" }
    if padding > 0 { text += "P: " + String(repeating: "p", count: padding) + "\r\n" }
    return [UInt8]((text + "\r\n").utf8)
  }

  private func outcome(_ bytes: [UInt8]) -> String {
    let whole = ParsedRequest.describe(bytes, limits: limits)
    for split in 0...bytes.count {
      #expect(ParsedRequest.describe(bytes, splits: [split], limits: limits) == whole, "split at \(split)")
    }
    #expect(ParsedRequest.describe(bytes, splits: Array(0..<bytes.count), limits: limits) == whole)
    return whole
  }

  @Test(arguments: [(40, true), (41, false), (100, false), (1000, false)])
  func targetLength(_ length: Int, _ fits: Bool) {
    #expect((outcome(request(target: length)) == "failed targetTooLong") == !fits)
  }

  @Test(arguments: [(4, true), (5, false)]) func fieldCount(_ count: Int, _ fits: Bool) {
    #expect((outcome(request(fields: count)) == "failed headTooLarge") == !fits)
  }

  @Test func headLength() {
    let empty = request(padding: 1).count - 1
    #expect(outcome(request(padding: 300 - empty)).hasSuffix("#300"))
    #expect(outcome(request(padding: 301 - empty)) == "failed headTooLarge")
    #expect(outcome(request(padding: 5000)) == "failed headTooLarge")
  }

  @Test func aMethodWithoutEndIsRefused() {
    #expect(outcome([UInt8](repeating: 0x41, count: 2000)) == "failed requestLine")
  }
}
