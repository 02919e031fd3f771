import System
import Testing

@testable import Manifests
@testable import Values

/// The limits on what reading a document may cost, whoever sent it (docs/protocol.md §1).
@Suite struct BudgetTests {
  private func skip(_ text: String) throws {
    // A budget of 0 values: skipping builds none.
    var reader = JSONReader(Array(text.utf8), values: 0)
    try reader.skip()
    try reader.end()
  }

  @Test(arguments: [
    "null", " true ", "[ ]", "{ }", "[1,2 , [3,{\"a\":[]}]]", #"{"é":"日\n😀","z":-1.5e+3}"#,
    #""\"\\\/\b\f\n\r\tA😀""#,
    #"{"a":1,"a":2}"#,
  ])
  func valuesAreSkipped(text: String) throws { try skip(text) }

  @Test(
    arguments: [
      ("", .ended), ("[1,", .ended), ("{\"a\"", .ended), ("\"a", .ended), ("tru", .ended),
      ("[1,]", .unexpected(at: 3)),
      ("{a:1}", .unexpected(at: 1)), ("{\"a\" 1}", .unexpected(at: 5)), ("\"\n\"", .unexpected(at: 1)),
      ("01", .number(at: 0)), ("1.", .number(at: 0)), ("1 2", .trailing(at: 2)), (#""\x""#, .escape(at: 1)),
      (#""\ud800""#, .escape(at: 1)), (#"{"a":"\u00g0"}"#, .escape(at: 10)),
    ] as [(String, JSONError)])
  func skippedValuesMustBeJSON(text: String, error: JSONError) { #expect(throws: error) { try skip(text) } }

  @Test func skippedValuesMustBeUTF8() throws {
    // Characters cross the borders of the pieces in which a long string is checked.
    for shift in 0..<4 {
      try skip("\"" + String(repeating: "a", count: shift) + String(repeating: "日é😀", count: 2000) + "\"")
    }
    for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x80, 0x80, 0x80, 0x80, 0x80]] as [[UInt8]] {
      for prefix in [0, 4095, 5000] {
        let text = [0x22] + [UInt8](repeating: 0x61, count: prefix) + bytes + [0x22]
        var reader = JSONReader(text)
        #expect(throws: JSONError.encoding(at: 1)) { try reader.skip() }
      }
    }
  }

  @Test func depthIsLimited() throws {
    let levels = JSONReader.depthLimit
    try skip(String(repeating: "[", count: levels) + String(repeating: "]", count: levels))
    #expect(throws: JSONError.tooDeep(at: levels)) { try skip(String(repeating: "[", count: levels + 1)) }
  }

  private func answer(_ members: String) throws -> ConfigureAnswer {
    try .parse(Array(#"{"code":200,"data":{\#(members),"update":false,"version":"1"}}"#.utf8))
  }

  /// Each zero is two bytes of text, but would take forty in memory.
  @Test func unknownMembersCostNoValues() throws {
    let zeros = "[" + String(repeating: "0,", count: DocumentBudget.values) + "0]"
    guard case .upToDate = try answer(#""more":\#(zeros)"#) else {
      Issue.record("another answer")
      return
    }
  }

  @Test(arguments: ["version", "digest", "base", "policy", "interval", "reports", "rollback"])
  func scalarMembersAreOneValue(name: String) {
    #expect(throws: JSONError.self) { try answer(#""\#(name)":[[[]],[]]"#) }
  }

  private func patch(_ changes: String) throws -> ConfigureAnswer {
    let digest = String(repeating: "ab", count: 32)
    return try .parse(
      Array(
        #"{"code":200,"data":{"base":"1","digest":"\#(digest)","patch":{\#(changes)},"update":true,"version":"2"}}"#
          .utf8))
  }

  @Test func valuesOfAnEntryAreLimited() throws {
    let most = DocumentBudget.entryValues - 2
    let values = Array(repeating: "0", count: most).joined(separator: ",")
    _ = try patch(#""https://m.test/":{"x":[\#(values)]}"#)
    #expect { try patch(#""https://m.test/":{"x":[\#(values),0]}"#) } throws: { error in
      if case JSONError.tooMany = error { true } else { false }
    }
  }

  @Test func changesOfAPatchAreLimited() throws {
    func changes(_ count: Int) -> String {
      (0..<count).map { #""https://m.test/\#($0)":null"# }.joined(separator: ",")
    }
    _ = try patch(changes(1000))
    #expect { try patch(changes(DocumentBudget.entries + 1)) } throws: { error in
      if case JSONError.tooMany = error { true } else { false }
    }
  }

  @Test func textsShareABudget() throws {
    var left = 7
    _ = try JSONValue.parse(Array("[1,2]".utf8), atMost: 3, of: &left)
    #expect(left == 4)
    #expect(throws: JSONError.self) { try JSONValue.parse(Array("[1,2,3]".utf8), atMost: 3, of: &left) }
    _ = try JSONValue.parse(Array("[1,2,3]".utf8), atMost: 10, of: &left)
    #expect(left == 0)
    #expect(throws: JSONError.self) { try JSONValue.parse(Array("1".utf8), atMost: 10, of: &left) }
  }

  @Test func patternsAndScriptsOfAPolicyAreLimited() throws {
    let patterns = (0..<40_000).map { "\"https://m.test/\($0)\"" }.joined(separator: ",")
    let scripts = (0..<500).map {
      #"{"name":"s\#($0)","download":"https://m.test/s","sha256":"\#(SHA256.of([1]))","signature":"c2ln"}"#
    }
    let text = #"{"bypass":[\#(patterns)],"intercept":true,"scripts":[\#(scripts.joined(separator: ","))]}"#
    let policy = Policy(reading: try JSONValue.parse(Array(text.utf8)))
    #expect(policy.bypass.map(\.pattern.text) == (0..<DocumentBudget.patterns).map { "https://m.test/\($0)" })
    #expect(policy.scripts.map(\.name) == (0..<DocumentBudget.scripts).map { "s\($0)" })
  }

  /// Of two equal patterns, the later one counts, at the position of the earlier one.
  @Test func repeatedPatterns() throws {
    let text =
      #"{"bypass":["https://A.test/","https://b.test/","https://a.test/"],"bypassUntil":{"https://A.test/":"2026-12-01T00:00:00Z"},"intercept":true}"#
    let policy = Policy(reading: try JSONValue.parse(Array(text.utf8)))
    #expect(policy.bypass.map(\.pattern.text) == ["https://a.test/", "https://b.test/"])
    #expect(policy.bypass.map { $0.until == nil } == [true, true])
  }

  @Test func callsOfAPageAreLimited() throws {
    let calls = (0..<100).map { #"{"api":"https://m.test/\#($0)","method":"GET"}"# }.joined(separator: ",")
    let text = #"[{"interfaces":[\#(calls)],"url":"https://m.test/"}]"#
    let config = PrefetchConfig(reading: try JSONValue.parse(Array(text.utf8)))
    #expect(config.pages[0].calls.map(\.api.path) == (0..<DocumentBudget.calls).map { "/\($0)" })
  }
}
