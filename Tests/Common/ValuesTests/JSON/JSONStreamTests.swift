import Testing

@testable import Values

@Suite struct JSONStreamTests {
  private static let division = JSONDivision.members([
    "list": .elements(), "rows": .elements(.members(["set": .members()])),
  ])

  /// The parts of a text that arrives in pieces of `size` bytes.
  private static func parts(_ text: String, size: Int) throws(JSONError) -> [JSONStream.Part] {
    var stream = JSONStream(division)
    var parts: [JSONStream.Part] = []
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      stream.append(piece.span.bytes)
      while let part = try stream.next() { parts.append(part) }
    }
    try stream.finish()
    return parts
  }

  static let texts: [(String, [JSONStream.Part])] = [
    ("{}", [.begin(nil), .end]),
    (" { \"a\" : 1 , \"b\":[ 2, {}] }\n", [.begin(nil), .value("a", 1), .value("b", [2, [:]]), .end]),
    ("{\"list\":[]}", [.begin(nil), .begin("list"), .end, .end]),
    (
      "{\"list\":[1,\"]\\\"}\",null,[{\"x\":[]}]],\"z\":true}",
      [
        .begin(nil), .begin("list"), .value(nil, 1), .value(nil, "]\"}"), .value(nil, .null),
        .value(nil, [["x": []]]), .end, .value("z", true), .end,
      ]
    ),
    (
      "{\"rows\":[{\"set\":{\"u\":{\"n\":1.50}},\"y\":0},{}]}",
      [
        .begin(nil), .begin("rows"), .begin(nil), .begin("set"), .value("u", ["n": .number("1.50")]), .end,
        .value("y", 0), .end, .begin(nil), .end, .end, .end,
      ]
    ),
    // Values of an unexpected shape are returned whole.
    ("{\"list\":{\"a\":1},\"rows\":7}", [.begin(nil), .value("list", ["a": 1]), .value("rows", 7), .end]),
    ("{\"\\u006cist\":[1]}", [.begin(nil), .begin("list"), .value(nil, 1), .end, .end]),
  ]

  @Test(arguments: texts, [1, 2, 3, 7, 1000])
  func parts(_ text: (String, [JSONStream.Part]), _ size: Int) throws {
    #expect(try Self.parts(text.0, size: size) == text.1)
  }

  @Test(
    arguments: [
      ("", .ended), (" ", .ended), ("{", .ended), ("{\"list\":[1", .ended), ("{\"a\":1", .ended),
      ("{\"a", .ended),
      ("[]", .unexpected(at: 0)), ("1", .unexpected(at: 0)), ("{} {}", .trailing(at: 3)),
      ("{,}", .unexpected(at: 1)), ("{\"a\":1,}", .unexpected(at: 7)), ("{\"a\":}", .unexpected(at: 5)),
      ("{\"a\" 1}", .unexpected(at: 5)), ("{\"a\":1 \"b\":2}", .unexpected(at: 7)),
      ("{a:1}", .unexpected(at: 1)),
      ("{\"list\":[,]}", .unexpected(at: 9)), ("{\"list\":[1,]}", .unexpected(at: 11)),
      ("{\"list\":[1}}", .unexpected(at: 10)), ("{\"list\":[1 2]}", .unexpected(at: 11)),
      ("{\"list\":[01]}", .number(at: 9)), ("{\"list\":[\"\\x\"]}", .escape(at: 10)),
      ("{\"list\":[{\"a\":1,\"a\":2}]}", .duplicateKey("a")), ("{\"list\":[tru]}", .ended),
      ("{\"a\":[1}]}", .unexpected(at: 7)),
    ] as [(String, JSONError)], [1, 4, 1000])
  func invalidTextsAreRefused(_ text: (String, JSONError), _ size: Int) {
    #expect(throws: text.1) { try Self.parts(text.0, size: size) }
  }

  /// Every prefix of a valid text is incomplete, which is only found at its end.
  @Test func truncatedTextsAreIncomplete() throws {
    let text = "{\"list\":[1,\"a\\\\\",{\"b\":[]}],\"rows\":[{\"set\":{\"u\":{}}}]}"
    for count in 0..<text.utf8.count {
      #expect(throws: JSONError.ended) { try Self.parts(String(text.prefix(count)), size: 3) }
    }
    #expect(throws: Never.self) { try Self.parts(text, size: 3) }
  }

  /// The size of a part is limited, the size of the text isn't.
  @Test func sizesOfPartsAreLimited() throws {
    let long = String(repeating: "x", count: JSONStream.partLimit)
    // White space counts like a part; counting begins anew with each part.
    let space = String(repeating: " ", count: JSONStream.partLimit)
    for text in ["{\(space) }", "\(space)\n{}", "{}\(space)\t", "{\"a\":\(space) 1}"] {
      #expect { try Self.parts(text, size: 1000) } throws: {
        if case JSONError.tooLarge = $0 { true } else { false }
      }
    }
    let spaced = "\(space){\(space)\"a\"\(space):\(space)1\(space)}\(space)"
    #expect(try Self.parts(spaced, size: 60_000) == [.begin(nil), .value("a", 1), .end])
    for text in ["{\"a\":\"\(long)\"}", "{\"\(long)\":1}", "{\"list\":[\"\(long)"] {
      #expect {
        try Self.parts(text, size: 1000)
      } throws: {
        if case JSONError.tooLarge = $0 { true } else { false }
      }
    }
    let list = Array(repeating: "\"\(long.dropFirst(2))\"", count: 10).joined(separator: ",")
    #expect(try Self.parts("{\"list\":[\(list)]}", size: 100_000).count == 14)
  }
}
