import Glibc
import Testing

@testable import XCacheRuntime

/// Parsing HTTP/1.1 answers, without a connection, in pieces of several sizes.
@Suite struct AnswerParserTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: String
    var isHEAD = false
    /// Whether the connection ends after the bytes.
    var ends = false
    /// Whether it ends because it broke.
    var breaks = false
    /// `200 body`, or the error's reason; nil: the answer is incomplete.
    let outcome: String?
    var keeps = true
    /// Whether bytes follow the answer.
    var hasMore = false
  }

  static let cases: [Case] = [
    Case(
      testDescription: "a length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      outcome: "200 hello"),
    Case(testDescription: "no reason", bytes: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", outcome: "200 "),
    Case(
      testDescription: "lines that end with LF", bytes: "HTTP/1.1 200 OK\nContent-Length: 2\n\nab",
      outcome: "200 ab"),
    Case(testDescription: "an empty line first", bytes: "\r\nHTTP/1.1 204 No\r\n\r\n", outcome: "204 "),
    Case(
      testDescription: "chunks",
      bytes:
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n",
      outcome: "200 abcde"),
    Case(
      testDescription: "chunks and a length",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
      outcome: "200 a", keeps: false),
    Case(
      testDescription: "until the end", bytes: "HTTP/1.1 200 OK\r\n\r\nall of it", ends: true,
      outcome: "200 all of it", keeps: false),
    Case(
      testDescription: "until it breaks off", bytes: "HTTP/1.1 200 OK\r\n\r\nhalf of it", ends: true,
      breaks: true, outcome: "the connection broke off before the answer ended", keeps: false),
    Case(
      testDescription: "nothing until it breaks off", bytes: "HTTP/1.0 200 OK\r\n\r\n", ends: true,
      breaks: true, outcome: "the connection broke off before the answer ended", keeps: false),
    Case(
      testDescription: "a length before it breaks off",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ends: true, breaks: true,
      outcome: "200 hello"),
    Case(
      testDescription: "an open end", bytes: "HTTP/1.1 200 OK\r\n\r\nall of it", outcome: nil, keeps: false),
    Case(
      testDescription: "HEAD", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", isHEAD: true,
      outcome: "200 "),
    Case(
      testDescription: "304 with a length", bytes: "HTTP/1.1 304 Not\r\nContent-Length: 5\r\n\r\n",
      outcome: "304 "),
    Case(
      testDescription: "1xx before it",
      bytes:
        "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
      outcome: "200 x"),
    Case(
      testDescription: "close",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: foo, Close\r\n\r\n", outcome: "200 ",
      keeps: false),
    Case(
      testDescription: "HTTP/1.0", bytes: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", outcome: "200 ",
      keeps: false),
    Case(
      testDescription: "HTTP/1.0 that keeps",
      bytes: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
      outcome: "200 "),
    Case(
      testDescription: "bytes after the answer",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK", outcome: "200 x",
      hasMore: true),
    Case(
      testDescription: "the same length twice",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", outcome: "200 x"),
    Case(
      testDescription: "two lengths",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
      outcome: "the answer's length is invalid"),
    Case(
      testDescription: "a negative length", bytes: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      outcome: "the answer's length is invalid"),
    Case(
      testDescription: "a length out of range",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      outcome: "the answer's length is invalid"),
    Case(
      testDescription: "cut", bytes: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", ends: true,
      outcome: "the connection ended before the answer did"),
    Case(
      testDescription: "cut chunks",
      bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ends: true,
      outcome: "the connection ended before the answer did"),
    Case(
      testDescription: "a wrong chunk", bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      outcome: "a chunk of the answer is invalid"),
    Case(
      testDescription: "a cut head", bytes: "HTTP/1.1 200 OK\r\nConte", ends: true,
      outcome: "the connection ended before there was an answer"),
    Case(
      testDescription: "nothing", bytes: "", ends: true,
      outcome: "the connection ended before there was an answer"),
    Case(testDescription: "not HTTP", bytes: "SSH-2.0-x\r\n\r\n", outcome: "the answer isn't HTTP/1.1"),
    Case(testDescription: "HTTP/2", bytes: "HTTP/2 200\r\n\r\n", outcome: "the answer isn't HTTP/1.1"),
    Case(
      testDescription: "no status", bytes: "HTTP/1.1 2x0 OK\r\n\r\n", outcome: "the answer isn't HTTP/1.1"),
    Case(
      testDescription: "a header without a name",
      bytes: "HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 1\r\n\r\na", outcome: "200 a", keeps: false),
    Case(
      testDescription: "a header without a colon",
      bytes: "HTTP/1.1 200 OK\r\nabc\r\nContent-Length: 1\r\n\r\na", outcome: "200 a", keeps: false),
    Case(
      testDescription: "a folded header without a colon",
      bytes: "HTTP/1.1 200 OK\r\nX: 1\r\nabc\r\n d: e\r\nContent-Length: 1\r\n\r\na", outcome: "200 a",
      keeps: false),
    Case(
      testDescription: "a blank in a name", bytes: "HTTP/1.1 200 OK\r\nX : 1\r\nContent-Length: 1\r\n\r\na",
      outcome: "200 a", keeps: false),
    Case(
      testDescription: "a folded first line",
      bytes: "HTTP/1.1 200 OK\r\n X: 1\r\nContent-Length: 1\r\n\r\na", outcome: "200 a", keeps: false),
    Case(
      testDescription: "a length with a blank",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na", outcome: "the answer isn't HTTP/1.1"),
    Case(
      testDescription: "a coding without a colon",
      bytes: "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING chunked\r\nContent-Length: 1\r\n\r\na",
      outcome: "the answer isn't HTTP/1.1"),
    Case(
      testDescription: "a length folded after no header",
      bytes: "HTTP/1.1 200 OK\r\nabc\r\n Content-Length: 1\r\n\r\na", outcome: "the answer isn't HTTP/1.1"),
    Case(
      testDescription: "another protocol", bytes: "HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n",
      outcome: "the server changed the protocol"),
    Case(
      testDescription: "a head without an end",
      bytes: "HTTP/1.1 200 OK\r\nX: " + String(repeating: "a", count: 300_000),
      outcome: "the answer's head is too long"),
  ]

  /// Reads `bytes` in pieces of `size`.
  private func read(
    _ parser: inout AnswerParser, _ bytes: [UInt8], by size: Int, ends: Bool, breaks: Bool
  ) -> String? {
    var status = ""
    var body: [UInt8] = []
    var offset = 0
    while true {
      switch parser.next() {
      case .more:
        if offset < bytes.count {
          parser.add(bytes.dropFirst(offset).prefix(size))
          offset += size
        } else if ends, !parser.isOver {
          parser.close(isBroken: breaks)
        } else {
          return nil
        }
      case .head(let head): status = "\(head.status)"
      case .body(let piece): body += piece
      case .end: return "\(status) \(String(decoding: body, as: UTF8.self))"
      case .malformed(let reason): return reason
      }
    }
  }

  @Test(arguments: cases) func answersAreParsed(_ own: Case) {
    let bytes = Array(own.bytes.utf8)
    for size in [bytes.count + 1, 1, 2, 3, 7] where bytes.count < 10_000 || size > 1_000 {
      var parser = AnswerParser(isHEAD: own.isHEAD)
      let outcome = read(&parser, bytes, by: size, ends: own.ends, breaks: own.breaks)
      #expect(outcome == own.outcome, "by \(size)")
      guard own.outcome?.first?.isNumber ?? true else { continue }
      #expect(parser.keepsConnection == own.keeps)
      if size > bytes.count { #expect(parser.hasMore == own.hasMore) }
    }
  }

  @Test func headersAreKeptAsSent() throws {
    var parser = AnswerParser(isHEAD: false)
    parser.add(
      "HTTP/1.1 200 OK\r\nSet-Cookie: a=1, b\r\nX-Own:  v w \t\r\nSet-Cookie: c\r\n folded\r\nEmpty:\r\n\r\n"
        .utf8)
    guard case .head(let head) = parser.next() else { Issue.record("no head"); return }
    #expect(
      head.fields.values("set-cookie") == ["a=1, b", "c folded"] && head.fields.values("x-own") == ["v w"])
    #expect(
      head.fields.values("empty") == [""] && parser.isTidy
        && head.fields.members("set-cookie") == ["a=1", "b", "c folded"])
  }

  /// Lines that engines don't read are dropped. Combining characters after a colon or a blank don't matter in HTTP.
  @Test func linesThatAreNotHeadersAreIgnored() throws {
    var parser = AnswerParser(isHEAD: false)
    parser.add(
      "HTTP/1.1 200 \u{301}\r\nA:\u{301}b\r\nabc\r\n d: e\r\n: f\r\nG h: i\r\nJ\u{7F}: k\r\nL: m\r\n \u{301}n\r\n\r\n"
        .utf8)
    guard case .head(let head) = parser.next() else { Issue.record("no head"); return }
    #expect(head.fields.map(\.name) == ["A", "L"] && !parser.isTidy && head.reason == "\u{301}")
    #expect(
      head.fields.values("a") == ["\u{301}b"]
        && head.fields.values("l").map { Array($0.utf8) } == [Array("m \u{301}n".utf8)])
  }

  /// Parsing takes linear time, also byte by byte and with folded lines: four times the lines cost four times the work, not sixteen.
  @Test func headsAreParsedInLinearTime() throws {
    let few = try processorTime(ofFoldedLines: 4_000)
    let many = try processorTime(ofFoldedLines: 16_000)
    #expect(many < 8 * few, "\(few) s for 4,000 lines, \(many) s for 16,000")
  }

  /// The seconds that this thread computes to parse a head whose one field goes on over `count` lines. Other threads don't count.
  private func processorTime(ofFoldedLines count: Int) throws -> Double {
    var parser = AnswerParser(isHEAD: false)
    let text = "HTTP/1.1 200 OK\r\nX: a\r\n" + String(repeating: " b\r\n", count: count)
    let start = threadSeconds()
    for byte in text.utf8 {
      parser.add(CollectionOfOne(byte))
      guard parser.next() == .more else { throw AnswerParserTestError.isEarly }
    }
    parser.add("\r\n".utf8)
    guard case .head(let head) = parser.next() else { throw AnswerParserTestError.isMissing }
    let end = threadSeconds()
    #expect(head.fields.values("x").first?.utf8.count == 1 + 2 * count)
    return end - start
  }

  private func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// What is wrong with the head that should come when all of it was added.
private enum AnswerParserTestError: Error { case isEarly, isMissing }
