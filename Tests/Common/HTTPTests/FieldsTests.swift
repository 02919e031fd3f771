import Testing

@testable import HTTP

@Suite struct HTTPFieldsTests {
  private static let fields: HTTPFields = [
    ("Set-Cookie", "a=1"), ("Vary", "Origin, Accept"), ("ETag", "\"x\""), ("set-cookie", "b=2"),
    ("vary", "COOKIE,"),
  ]

  @Test(arguments: [
    ("etag", ["\"x\""]), ("ETAG", ["\"x\""]), ("Set-Cookie", ["a=1", "b=2"]),
    ("vary", ["Origin, Accept", "COOKIE,"]),
    ("ETa", []), ("", []), ("\u{212A}", []),
  ])
  func namesInAnyCase(_ name: String, _ values: [String]) {
    #expect(Self.fields.values(name) == values && Self.fields[name] == values.first)
    #expect(Self.fields.contains(name) == !values.isEmpty)
    #expect(Self.fields.combined(name) == (values.isEmpty ? nil : values.joined(separator: ", ")))
  }

  /// "The characters of a token", and no other letters, have case: the Kelvin sign isn't a k (RFC 9110 §5.1).
  @Test func otherLettersHaveNoCase() {
    #expect(HTTPField("K", "").isNamed("k") && !HTTPField("\u{212A}", "").isNamed("k"))
    #expect(!HTTPField("\u{C4}", "").isNamed("\u{E4}") && !HTTPField("[", "").isNamed("{"))
  }

  @Test func membersOfLists() {
    #expect(Self.fields.members("Vary") == ["origin", "accept", "cookie"])
    #expect(HTTPFields([("A", " ,, b c\t,D ")]).members("a") == ["b c", "d"])
    #expect(Self.fields.members("accept").isEmpty)
  }

  @Test func changes() {
    var fields = Self.fields
    fields.set("VARY", "*")
    #expect(fields.map(\.name) == ["Set-Cookie", "ETag", "set-cookie", "VARY"] && fields["vary"] == "*")
    fields.remove("set-Cookie")
    fields.add("A", "1")
    #expect(fields == [("ETag", "\"x\""), ("VARY", "*"), ("A", "1")])
    #expect(fields.without(["etag", "a"]) == [("VARY", "*")])
    #expect(fields.filter { $0.value == "1" } + [("B", "2")] == [("A", "1"), ("B", "2")])
    fields.replaceValues { name, value in name == "a" ? nil : value + "!" }
    #expect(fields == [("ETag", "\"x\"!"), ("VARY", "*!")])
  }

  @Test func foldedLines() {
    var fields: HTTPFields = []
    fields.unfold(" nothing")
    #expect(fields.isEmpty)
    fields.add("X", "")
    for line in ["\t a ", "  ", " b\r\n"] { fields.unfold(line) }
    #expect(fields == [("X", "a b")])
  }

  @Test func dictionaries() {
    #expect(HTTPFields(["A": "1"]) == [("A", "1")])
    #expect(HTTPFields([("A", "1"), ("B", "2"), ("A", "3")]).dictionary == ["A": "1, 3", "B": "2"])
  }

  @Test(arguments: [("3", 3), ("0", 0), ("-1", nil), ("soon", nil), ("Sun, 06 Nov 1994 08:49:37 GMT", nil)])
  func secondsOfRetryAfter(_ text: String, _ seconds: Int?) {
    #expect(HTTPHead(503, [("retry-after", text)]).retryAfter == seconds)
  }
}

/// A request whose fields are text is judged as one of a connection.
@Suite struct StoredRequestTests {
  private static func ranges(_ fields: HTTPFields, _ method: String = "GET", limit: Int = ByteRanges.limit)
    -> ByteRanges?
  {
    guard let asked = StoredRequest(Method(method), fields) else { return nil }
    return ByteRanges(asked.request, length: 10, tag: EntityTag("a"), limit: limit)
  }

  private static func outcome(_ fields: HTTPFields, _ method: String = "GET") -> Preconditions.Outcome? {
    guard let asked = StoredRequest(Method(method), fields) else { return nil }
    let modified = LastModified(HTTPDate(784_111_777), now: { 1_795_000_000 })
    return Preconditions.evaluate(asked.request, tag: EntityTag("a"), lastModified: modified)
  }

  @Test func rangesOfText() {
    #expect(Self.ranges([]) == .whole && Self.ranges([("RANGE", " bytes=1-2 ")]) == .single(1..<3))
    #expect(Self.ranges([("Range", "bytes=1-2")], "HEAD") == .whole)
    #expect(Self.ranges([("Range", "bytes=1-2"), ("range", "bytes=1-2")]) == .whole)
    #expect(Self.ranges([("Range", "bytes=0-0,2-2")]) == .several([0..<1, 2..<3]))
    #expect(Self.ranges([("Range", "bytes=0-0,2-2")], limit: 1) == .whole)
    #expect(Self.ranges([("Range", "bytes=0-0,20-")], limit: 1) == .whole)
    #expect(Self.ranges([("Range", "bytes=0-0"), ("If-Range", "\"a\"")]) == .single(0..<1))
    for tag in ["\"b\"", "W/\"a\"", "a", ""] {
      #expect(Self.ranges([("Range", "bytes=0-0"), ("If-Range", tag)]) == .whole, "\(tag)")
    }
  }

  @Test(
    arguments: [
      ([], .proceed), ([("If-None-Match", "\"a\"")], .notModified), ([("if-none-match", "*")], .notModified),
      ([("If-None-Match", "\"b\", W/\"a\"")], .notModified), ([("If-None-Match", "\"b\"")], .proceed),
      ([("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")], .notModified),
      ([("If-Match", "\"b\"")], .failed), ([("If-Match", "W/\"a\"")], .failed),
      ([("If-Match", "\"a\"")], .proceed),
      ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], .notModified),
      ([("If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], .proceed),
      ([("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:36 GMT")], .failed),
      // The tag decides where both are (RFC 9110 §13.1.3).
      ([("If-None-Match", "\"b\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")], .proceed),
      // A line break doesn't begin another field.
      ([("If-None-Match", "\"b\"\r\nIf-None-Match: \"a\"")], .proceed),
    ] as [(HTTPFields, Preconditions.Outcome)])
  func conditionsOfText(_ fields: HTTPFields, _ wanted: Preconditions.Outcome) {
    #expect(Self.outcome([("Accept", "*/*")] + fields + [("X", "1")]) == wanted)
  }

  @Test func longerThanAHead() {
    let long = String(repeating: "x", count: 1 << 16)
    #expect(StoredRequest(.get, [("If-None-Match", long)]) == nil)
    #expect(StoredRequest(.get, [("Cookie", long)]) != nil)
  }
}
