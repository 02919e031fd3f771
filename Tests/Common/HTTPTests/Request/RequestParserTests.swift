import HTTP
import Testing
import TestSupport

@Suite struct RequestParserTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let request: String
    let result: String
    var testDescription: String { request.debugDescription }

    init(_ request: String, _ result: String) {
      self.request = request
      self.result = result
    }
  }

  static let valid: [Case] = [
    Case("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "get / @a 1.1 keep none #27"),
    Case("HEAD /x HTTP/1.1\r\nHost:a\r\n\r\n", "head /x @a 1.1 keep none #28"),
    Case("PUT /x HTTP/1.1\r\nHost: \t a \t\r\n\r\n", "put /x @a 1.1 keep none #32"),
    Case("DELETE /x HTTP/1.1\r\nHost:\r\n\r\n", "delete /x @ 1.1 keep none #29"),
    Case("FROB /x HTTP/1.1\r\nHost: a\r\n\r\n", "other /x @a 1.1 keep none #29"),
    Case("get /x HTTP/1.1\r\nHost: a\r\n\r\n", "other /x @a 1.1 keep none #28"),
    Case("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "options * @a 1.1 keep none #31"),
    Case("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "get / @a 1.1 keep none #31"),
    Case("GET / HTTP/1.0\r\n\r\n", "get / 1.0 close none #18"),
    Case("GET / HTTP/1.9\r\nHost: a\r\n\r\n", "get / @a 1.1 keep none #27"),
    Case(
      "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
      "get / 1.0 keep none connection=[Keep-Alive] #42"),
    Case(
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, CLOSE\r\nConnection: keep-alive\r\n\r\n",
      "get / @a 1.1 close none connection=[foo, CLOSE] #75"),
    Case("GET /?q=%zz&x=[1] HTTP/1.1\r\nHost: a\r\n\r\n", "get / ?q=%zz&x=[1] @a 1.1 keep none #39"),
    Case("GET /a? HTTP/1.1\r\nHost: a\r\n\r\n", "get /a ? @a 1.1 keep none #29"),
    Case("GET /a?b?c/../d HTTP/1.1\r\nHost: a\r\n\r\n", "get /a ?b?c/../d @a 1.1 keep none #37"),
    Case("GET http://h:80/p?q HTTP/1.1\r\nHost: other\r\n\r\n", "get /p ?q @h:80 1.1 keep none #45"),
    Case("GET HTTPS://h HTTP/1.1\r\nHost: h\r\n\r\n", "get / @h 1.1 keep none #35"),
    Case("GET http://h?q=1 HTTP/1.1\r\nHost: h\r\n\r\n", "get / ?q=1 @h 1.1 keep none #38"),
    Case("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", "other h:443 @h 1.1 keep none #35"),
    Case("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "get / @[::1]:80 1.1 keep none #34"),
    Case("GET / HTTP/1.1\r\nHost: a%41b:8080\r\n\r\n", "get / @a%41b:8080 1.1 keep none #36"),
    Case("GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\n\r\n", "get / @[::ffff:1.2.3.4] 1.1 keep none #42"),
    Case("GET / HTTP/1.1\r\nHost: h:\r\n\r\n", "get / @h: 1.1 keep none #28"),
    Case("GET / HTTP/1.1\r\nHost: a_b.c:65535\r\n\r\n", "get / @a_b.c:65535 1.1 keep none #37"),
    Case("GET / HTTP/1.1\r\nHost: a.b:0000080\r\n\r\n", "get / @a.b:0000080 1.1 keep none #37"),
    Case("GET / HTTP/1.1\r\nHost: a!b,c\r\n\r\n", "get / @a!b,c 1.1 keep none #31"),
    Case(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
      "post / @a 1.1 keep none contentLength=[0] #47"),
    Case(
      "POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 0012\r\n\r\n",
      "post / @a 1.1 keep length(12) contentLength=[0012] #50"),
    Case(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
      "post / @a 1.1 keep chunked transferEncoding=[Chunked] #56"),
    Case(
      "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 9\r\n\r\n",
      "put / @a 1.1 keep length(9) expect contentLength=[9] expect=[100-Continue] #68"),
    Case(
      "GET / HTTP/1.1\r\nHost: a\r\nX-Any: \u{e9}\t(x)\r\nRange: bytes=0-\r\n\r\n",
      "get / @a 1.1 keep none range=[bytes=0-] #59"),
    Case(
      "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"a\"\r\nIf-None-Match: \"b\"\r\n\r\n",
      "get / @a 1.1 keep none ifNoneMatch=[\"a\"] #67"),
    Case("GET / HTTP/1.1\r\nHost: a\r\n", "incomplete"),
    Case("\r\n\r\n\r\n\r\n\r\n", "incomplete"),
    Case("GET / HT", "incomplete"),
    Case("", "incomplete"),
  ]

  static let invalid: [Case] = [
    Case("GET / HTTP/1.1\nHost: a\r\n\r\n", "lineEnd"),
    Case("GET / HTTP/1.1\r\nHost: a\r\n\n", "lineEnd"),
    Case("\n", "lineEnd"),
    Case("GET\r\n", "requestLine"),
    Case("GET /\r\n", "requestLine"),
    Case("GET  / HTTP/1.1\r\n", "requestLine"),
    Case("GET / HTTP/1.1 \r\n", "requestLine"),
    Case("GET /  HTTP/1.1\r\n", "requestLine"),
    Case("GET / a HTTP/1.1\r\n", "requestLine"),
    Case(" GET / HTTP/1.1\r\n", "requestLine"),
    Case("G(T / HTTP/1.1\r\n", "requestLine"),
    Case("GET\t/ HTTP/1.1\r\n", "requestLine"),
    Case("GET / http/1.1\r\n", "requestLine"),
    Case("GET / HTTP/11\r\n", "requestLine"),
    Case("GET / HTTP/1.10\r\n", "requestLine"),
    Case("GET / HTTP/2.0\r\n", "version"),
    Case("GET / HTTP/0.9\r\n", "version"),
    Case("\u{16}\u{3}\u{1}\r\n", "requestLine"),
    Case("GET x HTTP/1.1\r\n", "target"),
    Case("GET * HTTP/1.1\r\n", "target"),
    Case("GET /\u{e9} HTTP/1.1\r\n", "target"),
    Case("GET /a\u{0}b HTTP/1.1\r\n", "requestLine"),
    Case("GET /a#b HTTP/1.1\r\n", "target"),
    Case("GET /a\\b HTTP/1.1\r\n", "target"),
    Case("GET /a?b\u{7f} HTTP/1.1\r\n", "requestLine"),
    Case("GET /%00 HTTP/1.1\r\n", "target"),
    Case("GET /% HTTP/1.1\r\n", "target"),
    Case("GET /%0 HTTP/1.1\r\n", "target"),
    Case("GET /%a HTTP/1.1\r\n", "target"),
    Case("GET http://h/%zz HTTP/1.1\r\n", "target"),
    Case("GET /%2 HTTP/1.1\r\n", "target"),
    Case("GET /%2?x HTTP/1.1\r\n", "target"),
    Case("GET /%zz HTTP/1.1\r\n", "target"),
    Case("GET ftp://h/ HTTP/1.1\r\n", "target"),
    Case("GET http:///x HTTP/1.1\r\n", "target"),
    Case("GET http://h|/x HTTP/1.1\r\n", "target"),
    Case("GET http://u@h/x HTTP/1.1\r\n", "target"),
    Case("GET / HTTP/1.1\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a:b:c\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a]b\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: [zz]\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: [1.2.3.4]\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: %zz\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: a%4\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: x:65536\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: x:0000065536\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: x:18446744073709551617\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: x:99999999999999999999\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: :80\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost: [::1]:x\r\n\r\n", "host"),
    Case("GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", "target"),
    Case("GET http://h/ HTTP/1.1\r\n\r\n", "host"),
    Case("GET / HTTP/1.1\r\nHost : a\r\n", "field"),
    Case("GET / HTTP/1.1\r\n Host: a\r\n", "field"),
    Case("GET / HTTP/1.1\r\nHost: a\r\n b\r\n", "field"),
    Case("GET / HTTP/1.1\r\nHost\r\n", "field"),
    Case("GET / HTTP/1.1\r\n: a\r\n", "field"),
    Case("GET / HTTP/1.1\r\nX\u{e9}: a\r\n", "field"),
    Case("GET / HTTP/1.1\r\nX: a\u{0}b\r\n", "field"),
    Case("GET / HTTP/1.1\r\nX: aaaaaaaaaaaaaaaa\u{1}\r\n", "field"),
    Case("GET / HTTP/1.1\r\nX: aaaa\u{7f}aaaaaaaaaa\r\n", "field"),
    Case("GET / HTTP/1.1\r\nX: a\rb\r\n", "lineEnd"),
    Case("GET / HTTP/1.1\r\nX: a\r\r\n", "lineEnd"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", "framing"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", "framing"),
    Case(
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "framing"),
    Case(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      "framing"),
    Case("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n", "framing"),
    Case("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", "framing"),
    Case("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "framing"),
    Case("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transferCoding"),
    Case("POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", "expectation"),
    Case("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", "repeatedField"),
  ]

  @Test(arguments: valid) func validRequestsAreParsed(_ example: Case) {
    #expect(ParsedRequest.describe(example.request) == example.result)
  }

  @Test(arguments: invalid) func invalidRequestsAreRefused(_ example: Case) {
    #expect(ParsedRequest.describe(example.request) == "failed \(example.result)")
  }

  @Test(arguments: valid + invalid) func resultsDoNotDependOnHowInputIsDivided(_ example: Case) {
    let bytes = [UInt8](example.request.utf8)
    let whole = ParsedRequest.describe(bytes)
    for split in 0...bytes.count {
      #expect(ParsedRequest.describe(bytes, splits: [split]) == whole, "split at \(split)")
    }
    #expect(ParsedRequest.describe(bytes, splits: Array(0..<bytes.count)) == whole, "byte by byte")
  }

  @Test func bytesAfterTheHeadAreIgnored() {
    let head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    #expect(ParsedRequest.describe(head + "GARBAGE\n\n") == ParsedRequest.describe(head))
  }

  @Test func resultsOfMutatedRequestsDoNotDependOnHowInputIsDivided() {
    var random = SplitMix(seed: 42)
    let seeds = (Self.valid + Self.invalid).map { [UInt8]($0.request.utf8) }
    for _ in 0..<4_000 {
      var bytes = seeds[Int(random.next() % UInt64(seeds.count))]
      for _ in 0..<(random.next() % 4) where !bytes.isEmpty {
        let position = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[position] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: position)
        default: bytes.insert(Array("\r\n :%./\0".utf8)[Int(random.next() % 8)], at: position)
        }
      }
      let splits = (0..<3).map { _ in Int(random.next() % UInt64(bytes.count + 1)) }.sorted()
      #expect(ParsedRequest.describe(bytes, splits: splits) == ParsedRequest.describe(bytes), "\(bytes)")
    }
  }
}

@Suite struct RequestLimitsTests {
  /// A proxy forwards targets as browsers send them.
  @Test(arguments: ["/100%", "/%zz", "/%00", "/%2", "/%2?x", "/a%2Fb%"])
  func anyPercentSignIsAllowedIfConfigured(_ target: String) {
    let limits = RequestLimits(takesAnyPercent: true)
    for form in [target, "http://a\(target)"] {
      let bytes = [UInt8]("GET \(form) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      let path = target.replacing("?", with: " ?")
      #expect(ParsedRequest.describe(bytes, limits: limits) == "get \(path) @a 1.1 keep none #\(bytes.count)")
      #expect(ParsedRequest.describe(bytes) == "failed target")
    }
    let other = [UInt8]("GET /a\\b HTTP/1.1\r\n".utf8)
    #expect(ParsedRequest.describe(other, limits: limits) == "failed target")
  }

  /// Control characters in a field's value, except those that could end it.
  @Test func controlCharactersAreAllowedIfConfigured() {
    let limits = RequestLimits(takesControls: true)
    for byte in UInt8.min...UInt8.max {
      let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: b".utf8) + [byte] + Array("c\r\n\r\n".utf8)
      let isControl = (byte < 0x20 && byte != 9) || byte == 0x7F
      let error = byte == 0x0A || byte == 0x0D ? "failed lineEnd" : "failed field"
      let whole = "get / @a 1.1 keep none #\(bytes.count)"
      #expect(
        ParsedRequest.describe(bytes, limits: limits) == ([0, 0x0A, 0x0D].contains(byte) ? error : whole))
      #expect(ParsedRequest.describe(bytes) == (isControl ? error : whole))
    }
    for text in ["X\u{1}: a", "\u{1}: a", "Host\u{1}: b", "Host: b\u{1}", "Content-Length: 1\u{1}"] {
      let bytes = Array("GET / HTTP/1.1\r\n\(text)\r\nHost: a\r\n\r\n".utf8)
      #expect(ParsedRequest.describe(bytes, limits: limits).hasPrefix("failed"))
    }
    let line = Array("GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
    #expect(ParsedRequest.describe(line, limits: limits).hasPrefix("failed"))
  }

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
  func targetLengthIsLimited(_ length: Int, _ fits: Bool) {
    #expect((outcome(request(target: length)) == "failed targetTooLong") == !fits)
  }

  @Test(arguments: [(4, true), (5, false)]) func numberOfFieldsIsLimited(_ count: Int, _ fits: Bool) {
    #expect((outcome(request(fields: count)) == "failed headTooLarge") == !fits)
  }

  @Test func headLengthIsLimited() {
    let empty = request(padding: 1).count - 1
    #expect(outcome(request(padding: 300 - empty)).hasSuffix("#300"))
    #expect(outcome(request(padding: 301 - empty)) == "failed headTooLarge")
    #expect(outcome(request(padding: 5000)) == "failed headTooLarge")
  }

  @Test func endlessMethodsAreRefused() {
    #expect(outcome([UInt8](repeating: 0x41, count: 2000)) == "failed requestLine")
  }
}
