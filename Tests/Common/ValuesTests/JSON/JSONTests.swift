import Testing
import TestSupport

@testable import Values

@Suite struct JSONTests {
  /// Text and its canonical form.
  @Test(arguments: [
    ("null", "null"), (" true ", "true"), ("\t\r\nfalse\n", "false"), ("[ ]", "[]"), ("{ }", "{}"),
    ("[1,2 , 3]", "[1,2,3]"), ("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"),
    ("{\"é\":1,\"z\":2,\"Z\":3,\"\":4}", "{\"\":4,\"Z\":3,\"z\":2,\"é\":1}"),
    (
      "[0,-0,1.50,1E5,1e+05,-1.0e-10,1e999,123456789012345678901234567890]",
      "[0,-0,1.50,1E5,1e+05,-1.0e-10,1e999,123456789012345678901234567890]"
    ),
    (#""\"\\\/\b\f\n\r\t\u0041\u00e9\u65E5\ud83d\ude00""#, #""\"\\/\b\f\n\r\tAé日😀""#),
    (#""\u0000\u001F\u007f\u2028""#, "\"\\u0000\\u001f\u{7F}\u{2028}\""),
    // By UTF-8 bytes U+FFFF comes before U+10000; by UTF-16 it would come after.
    ("{\"\u{10000}\":1,\"\u{FFFF}\":2}", "{\"\u{FFFF}\":2,\"\u{10000}\":1}"),
    // Two spellings of one character are two keys.
    ("{\"\u{E9}\":1,\"e\u{301}\":2}", "{\"e\u{301}\":2,\"\u{E9}\":1}"),
  ])
  func canonicalForm(_ text: String, _ expected: String) throws {
    let value = try JSONValue.parse(Array(text.utf8))
    #expect(value.canonical.elementsEqual(expected.utf8))
    #expect(try JSONValue.parse(value.canonical) == value)
  }

  @Test(
    arguments: [
      ("", .ended), (" ", .ended), ("[", .ended), ("[1", .ended), ("[1,", .ended), ("{\"a\"", .ended),
      ("\"a", .ended), ("tru", .ended), ("-", .number(at: 0)), ("\"\\", .ended), ("\"\\u00", .ended),
      ("nul1", .unexpected(at: 3)), ("[1,]", .unexpected(at: 3)), ("{,}", .unexpected(at: 1)),
      ("{\"a\":1,}", .unexpected(at: 7)), ("{a:1}", .unexpected(at: 1)), ("{\"a\" 1}", .unexpected(at: 5)),
      ("[1 2]", .unexpected(at: 3)), ("'a'", .unexpected(at: 0)), ("\u{FEFF}1", .unexpected(at: 0)),
      ("\"\n\"", .unexpected(at: 1)), ("\"\\n\u{1}\"", .unexpected(at: 3)), ("]", .unexpected(at: 0)),
      ("/**/1", .unexpected(at: 0)), ("NaN", .unexpected(at: 0)), ("+1", .unexpected(at: 0)),
      (".5", .unexpected(at: 0)), ("01", .number(at: 0)), ("-01", .number(at: 0)), ("1.", .number(at: 0)),
      ("1.e5", .number(at: 0)), ("1e", .number(at: 0)), ("1e+", .number(at: 0)), ("[-a]", .number(at: 1)),
      ("1 2", .trailing(at: 2)), ("{}}", .trailing(at: 2)), ("0x1", .trailing(at: 1)),
      (#""\x""#, .escape(at: 1)), (#""\u00g0""#, .escape(at: 5)), (#""\ud800""#, .escape(at: 1)),
      (#""\udc00""#, .escape(at: 1)), (#""\ud800\u0041""#, .escape(at: 1)), (#""\ud800\n""#, .escape(at: 1)),
      (#"{"a":1,"b":2,"\u0061":3}"#, .duplicateKey("a")), (#"[{"a":1,"a":1}]"#, .duplicateKey("a")),
    ] as [(String, JSONError)])
  func invalidTextsAreRefused(_ text: String, _ error: JSONError) {
    #expect(throws: error) { try JSONValue.parse(Array(text.utf8)) }
  }

  @Test(
    arguments: [
      [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
    ] as [[UInt8]])
  func invalidUTF8IsRefused(_ bytes: [UInt8]) {
    #expect(throws: JSONError.encoding(at: 1)) { try JSONValue.parse([0x22] + bytes + [0x22]) }
    #expect(throws: JSONError.encoding(at: 1)) { try JSONValue.parse([0x22] + bytes + Array("\\n\"".utf8)) }
  }

  @Test func depthIsLimited() throws {
    func nested(_ levels: Int) -> [UInt8] {
      Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
    }
    _ = try JSONValue.parse(nested(64))
    #expect(throws: JSONError.tooDeep(at: 64)) { try JSONValue.parse(nested(65)) }
    #expect(throws: JSONError.tooDeep(at: 64)) {
      try JSONValue.parse(Array(repeating: 0x5B, count: 1_000_000))
    }
    // Siblings don't count.
    _ = try JSONValue.parse(
      Array(("[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]").utf8))
  }

  @Test(
    arguments: [
      ("0", 0), ("-1", -1), ("9007199254740991", 1 << 53 - 1), ("-9007199254740991", 1 - 1 << 53),
      ("9007199254740992", nil), ("-9007199254740992", nil), ("9223372036854775807", nil), ("-0", nil),
      ("1.0", nil), ("1e2", nil),
      ("9223372036854775808", nil), ("\"1\"", nil),
    ] as [(String, Int64?)])
  func integers(_ text: String, _ number: Int64?) throws {
    #expect(try JSONValue.parse(Array(text.utf8)).integer == number)
  }

  @Test func membersAreFoundAndSet() {
    var object = JSONObject()
    for key in ["m", "a", "z", "é", ""] { object[key] = .string(key) }
    #expect(object.members.map(\.key) == ["", "a", "m", "z", "é"])
    object["m"] = nil
    object["nothing"] = nil
    object["a"] = 1
    #expect(JSONValue.object(object) == ["": "", "a": 1, "z": "z", "é": "é"])
    #expect(object["m"] == nil)
  }

  /// A device keeps what a manifest says beside the bytes in a set: with one hash for all, 20,000 pages with fallbacks took a minute.
  @Test func objectsWithTheSameKeysHaveOtherHashes() {
    let hashes = (0..<1000).map { number in
      let fallback: JSONValue = [["prefix": .string("/p\(number)/")]]
      return JSONObject([.init(key: "fallback", value: fallback)]).hashValue
    }
    #expect(Set(hashes).count > 990)
    let (a, b) = (
      JSONObject([.init(key: "a", value: [1, "é"])]), JSONObject([.init(key: "a", value: [1, "é"])])
    )
    #expect(a == b && a.hashValue == b.hashValue)
  }

  @Test func mutatedTextsRoundTripOrAreRefused() {
    var random = SplitMix(seed: 3)
    let good = Array(#"{"a":[1,-2.5e3,true,null,"x\u00e9\n日"],"b":{"c":{},"d":[]},"e":"\ud83d\ude00"}"#.utf8)
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        default: bytes.insert(good.randomElement(using: &random) ?? 0, at: at)
        }
      }
      guard let value = try? JSONValue.parse(bytes) else { continue }
      #expect((try? JSONValue.parse(value.canonical)) == value)
    }
  }
}
