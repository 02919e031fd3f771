import HTTP
import Testing

@Suite struct RepresentationTests {
  /// Modified in 1994, requested in 2026.
  private static let changed = LastModified(HTTPDate(784_111_777), now: { 1_795_000_000 })

  private static func representation(weak: Bool = false) -> Representation {
    Representation(
      HeadFields([("Content-Type", "text/plain"), ("Cache-Control", "no-cache")]),
      tag: EntityTag("v1", isWeak: weak), lastModified: changed, body: .bytes(SharedBytes("0123456789")))
  }

  /// The status, the rendered head and the body that a request with `fields` gets.
  private static func answer(
    _ fields: String, method: String = "GET", of representation: Representation = representation()
  ) -> (status: UInt16, head: String, body: String) {
    let bytes = [UInt8]("\(method) / HTTP/1.1\r\nHost: h\r\n\(fields)\r\n".utf8)
    let span = bytes.span.bytes
    var parser = RequestParser()
    guard case .complete = parser.parse(span, limits: RequestLimits()) else { return (0, "", "") }
    let response = representation.response(to: Request(parser.head, in: span, from: .unknown))
    return (response.status.code, response.head.bytes.bytes.text, text(response.body))
  }

  private static func text(_ body: Body) -> String {
    body.part(0..<body.count).map { segment in
      guard case .bytes(let bytes, let range) = segment else { return "" }
      return bytes.bytes.extracting(range).text
    }.joined()
  }

  static let conditions: [(String, UInt16)] = [
    ("", 200),
    ("If-None-Match: \"v1\"\r\n", 304), ("If-None-Match: W/\"v1\"\r\n", 304), ("If-None-Match: *\r\n", 304),
    ("If-None-Match: \"v0\", \"v1\"\r\n", 304), ("If-None-Match: \"v0\"\r\nIf-None-Match: \"v1\"\r\n", 304),
    ("If-None-Match: \"v0\"\r\n", 200), ("If-None-Match: v1\r\n", 200),
    ("If-None-Match: \"a,\\\"v1\\\"\"\r\n", 200),
    // A backslash is a byte of a tag like any other (§8.8.3).
    ("If-None-Match: \"a\\\", \"v1\"\r\n", 304), ("If-Match: \"a\\\", \"v1\"\r\n", 200),
    ("If-Match: \"v1\"\r\n", 200), ("If-Match: *\r\n", 200), ("If-Match: \"v0\"\r\n", 412),
    ("If-Match: W/\"v1\"\r\n", 412),
    ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 304),
    ("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 200),
    ("If-Modified-Since: nonsense\r\n", 200),
    // A two-digit year that appears to be over 50 years ahead is in the past: 1977, not 2077 (§5.6.7).
    ("If-Modified-Since: Sunday, 06-Nov-77 08:49:37 GMT\r\n", 200),
    ("If-Unmodified-Since: Sunday, 06-Nov-77 08:49:37 GMT\r\n", 412),
    ("If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n", 304),
    ("If-Modified-Since: Sunday, 06-Nov-26 08:49:37 GMT\r\n", 304),
    // A repeated field is ignored.
    (
      "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
      200
    ),
    (
      "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n",
      200
    ),
    ("Range: bytes=0-3\r\nIf-Range: \"v1\"\r\nIf-Range: \"v0\"\r\n", 200),
    ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 200),
    ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 412),
    // If-None-Match overrides If-Modified-Since, and If-Match overrides If-Unmodified-Since.
    ("If-None-Match: \"v0\"\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 200),
    ("If-Match: \"v1\"\r\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n", 200),
    // If-Match is evaluated first.
    ("If-Match: \"v0\"\r\nIf-None-Match: \"v1\"\r\n", 412),
    ("If-Match: \"v1\"\r\nIf-None-Match: \"v1\"\r\n", 304),
    ("Range: bytes=0-3\r\n", 206), ("Range: bytes=20-\r\n", 416), ("Range: lines=1-2\r\n", 200),
    ("Range: bytes=0-3\r\nIf-Range: \"v1\"\r\n", 206), ("Range: bytes=0-3\r\nIf-Range: \"v0\"\r\n", 200),
    ("Range: bytes=20-\r\nIf-Range: \"v0\"\r\n", 200), ("Range: bytes=0-3\r\nIf-Range: W/\"v1\"\r\n", 200),
    ("Range: bytes=0-3\r\nIf-Range: Sun, 06 Nov 1994 08:49:37 GMT\r\n", 206),
    ("Range: bytes=0-3\r\nIf-Range: Sun, 06 Nov 1994 08:49:38 GMT\r\n", 200),
    ("Range: bytes=0-3\r\nIf-None-Match: \"v1\"\r\n", 304),
    ("Range: bytes=0-3\r\nRange: bytes=0-3\r\n", 200),
  ]

  @Test(arguments: conditions) func statusOfGet(_ fields: String, _ status: UInt16) {
    #expect(Self.answer(fields).status == status)
  }

  @Test(arguments: conditions) func headOnlyIgnoresRanges(_ fields: String, _ status: UInt16) {
    #expect(Self.answer(fields, method: "HEAD").status == (status == 206 || status == 416 ? 200 : status))
  }

  @Test func completeResponse() {
    let answer = Self.answer("")
    #expect(
      answer.head == """
        HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-cache\r\nETag: "v1"\r
        Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nAccept-Ranges: bytes\r\nContent-Length: 10\r\n
        """)
    #expect(answer.body == "0123456789")
  }

  @Test func notModifiedHasNoContentFields() {
    let head = Self.answer("If-None-Match: \"v1\"\r\n").head
    #expect(head.hasPrefix("HTTP/1.1 304 Not Modified\r\n"))
    #expect(!head.contains("Content-") && head.contains("ETag: \"v1\"") && head.contains("Cache-Control"))
  }

  @Test(arguments: [("0-3", "0123", "0-3"), ("-2", "89", "8-9"), ("9-", "9", "9-9")])
  func singleRanges(_ range: String, _ body: String, _ sent: String) {
    let answer = Self.answer("Range: bytes=\(range)\r\n")
    #expect(answer.body == body)
    #expect(answer.head.contains("Content-Range: bytes \(sent)/10\r\nContent-Length: \(body.utf8.count)\r\n"))
  }

  @Test func unsatisfiableRanges() {
    let answer = Self.answer("Range: bytes=10-\r\n")
    #expect(answer.head.contains("Content-Range: bytes */10\r\n") && answer.body.isEmpty)
  }

  /// An error must not be cached in place of the resource.
  @Test(arguments: ["If-Match: \"v0\"\r\n", "Range: bytes=20-\r\n"]) func errorsAreNotStored(_ fields: String)
  {
    let forever = Representation(
      HeadFields([
        ("Content-Type", "text/plain"), ("Cache-Control", "public, max-age=31536000, immutable"),
        ("Access-Control-Allow-Origin", "*"), ("Use-As-Dictionary", "match=\"/a/*\""),
        ("CDN-Cache-Control", "max-age=10"), ("Surrogate-Control", "max-age=10"),
      ]), tag: EntityTag("v1"), body: .bytes(SharedBytes("0123456789")))
    let head = Self.answer(fields, of: forever).head
    #expect(head.hasPrefix("HTTP/1.1 41"))
    #expect(head.contains("\r\nCache-Control: no-store\r\n") && !head.contains("immutable"))
    #expect(!head.contains("max-age") && !head.contains("Use-As-Dictionary"))
    #expect(head.contains("Access-Control-Allow-Origin: *"))
  }

  @Test func otherFieldsWithTheSameBody() {
    let other = Self.representation().with { $0.without("cache-control").adding("Cache-Tag", "t") }
    let (answer, again) = (
      Self.answer("", of: other), Self.answer("If-None-Match: \"v1\"\r\n", of: other)
    )
    #expect(answer.body == "0123456789" && answer.head.contains("Content-Length: 10\r\n"))
    for head in [answer.head, again.head] {
      #expect(head.contains("Cache-Tag: t\r\n") && !head.contains("Cache-Control"))
      #expect(head.contains("ETag: \"v1\"\r\n") && head.ranges(of: "ETag").count == 1)
    }
    #expect(again.status == 304 && Self.answer("Range: bytes=0-3\r\n", of: other).body == "0123")
  }

  @Test func suffixRangesOfEmptyBodiesGiveTheWhole() {
    let empty = Representation(HeadFields(), tag: nil, body: .none)
    #expect(Self.answer("Range: bytes=-5\r\n", of: empty).status == 200)
  }

  @Test func multipleRanges() throws {
    let answer = Self.answer("Range: bytes=0-1,8-9\r\n")
    let boundary = try #require(answer.head.split(separator: "boundary=").last?.prefix { $0 != "\r\n" })
    #expect(
      answer.body == """
        --\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r
        --\(boundary)\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r
        --\(boundary)--\r\n
        """)
    #expect(answer.head.contains("Content-Length: \(answer.body.utf8.count)\r\n"))
  }

  @Test func weakTagsOnlyMatchWeakly() {
    let weak = Self.representation(weak: true)
    #expect(Self.answer("If-None-Match: \"v1\"\r\n", of: weak).status == 304)
    #expect(Self.answer("If-Match: W/\"v1\"\r\n", of: weak).status == 412)
  }

  @Test func lineBreaksInValuesAreReplaced() {
    let fields = HeadFields([("X", "a\r\nSet-Cookie: b\u{0}")])
    #expect(fields.lines.span.bytes.text == "X: a  Set-Cookie: b \r\n")
  }
}
