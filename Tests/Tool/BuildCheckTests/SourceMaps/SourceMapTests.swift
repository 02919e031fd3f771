import System
import Testing
import TestSupport

@testable import BuildCheck

/// Source maps as ECMA-426 says, and whatever else comes in their place.
@Suite struct SourceMapTests {
  private static func read(_ text: String) throws -> SourceMap { try SourceMap(Array(text.utf8)) }

  /// The places in V8's stack of the built script, and those around them.
  @Test(
    arguments: [
      (78, "src/cart.ts", 7, 27, nil), (155, "src/page.ts", 4, 31, "totalOf"),
      (156, "src/page.ts", 4, 31, "totalOf"), (160, "src/page.ts", 7, 1, "renderCart"),
      (7, "src/cart.ts", 4, 8, nil), (9_999, "src/page.ts", 7, 38, nil),
    ] as [(Int, String, Int, Int, String?)])
  func built(column: Int, file: String, line: Int, sourceColumn: Int, name: String?) throws {
    let place = try #require(try Self.read(BuiltScript.map).place(line: 1, column: column))
    #expect(place.file == file && place.line == line && place.column == sourceColumn)
    #expect(place.name == name)
  }

  @Test(arguments: [(1, 6), (2, 1), (0, 78), (1, 0), (-1, -1), (Int.max, Int.max)])
  func nothingIsThere(line: Int, column: Int) throws {
    #expect(try Self.read(BuiltScript.map).place(line: line, column: column) == nil)
  }

  @Test func excerptsAreFiveLines() throws {
    let map = try Self.read(BuiltScript.map)
    let place = try #require(map.place(line: 1, column: 78))
    let excerpt = try #require(map.excerpt(at: place))
    #expect(excerpt.firstLine == 5 && excerpt.lines.count == 5)
    #expect(excerpt.lines[2] == "  if (total > 1000) throw new TypeError('too much: ' + total)")
    // The file begins two lines above, and has escapes.
    let top = try #require(map.place(line: 1, column: 7))
    let first = try #require(map.excerpt(at: top))
    #expect(first.firstLine == 2 && first.lines[1] == "// \"quoted\" comment, and a tab\there")
  }

  /// `AAAA` is line 1, column 1 of the first source; `CAAC` the next column of it, one column later.
  private static func map(
    _ mappings: String = "AAAA", sources: String = #"["a.ts"]"#, more: String = ""
  ) -> String {
    #"{"version":3,"sources":\#(sources),"names":["n"],"mappings":"\#(mappings)"\#(more)}"#
  }

  @Test func membersInAnyOrder() throws {
    let text = #"""
      { "x": [{"mappings": "!"}, "]", null, -1.5e3, true], "mappings" : "AAAAA;;CCCC" , "names": ["\u0066\u00e9\ud83d\ude00"],
        "file": "a\/b.js", "sourceRoot": "webpack://app", "version": 3,
        "sources": ["src\\a.ts", null, "b.ts"], "sourcesContent": [null, "one\r\ntwo\u000athree"] }
      """#
    let map = try Self.read(text)
    #expect(map.file == "a/b.js")
    let place = try #require(map.place(line: 1, column: 5))
    #expect(place.file == #"webpack://app/src\a.ts"# && place.name == "fé😀")
    #expect(map.excerpt(at: place) == nil)
    // The second source has no name, and so no place.
    #expect(map.place(line: 3, column: 2) == nil)
    // The prefix that keeps a file from being run.
    #expect(try Self.read(")]}'\n" + text).place(line: 1, column: 1) == map.place(line: 1, column: 1))
  }

  @Test func linesOfASource() throws {
    let text = Self.map(
      "AACA",
      more: #","sourcesContent":["one\r\ntwo\u000athree\r\u0007four \#(String(repeating: "é", count: 150))"]"#
    )
    let map = try Self.read(text)
    let place = try #require(map.place(line: 1, column: 1))
    let excerpt = try #require(map.excerpt(at: place))
    #expect(excerpt.firstLine == 1 && excerpt.lines.prefix(3) == ["one", "two", "three"])
    #expect(excerpt.lines.count == 4 && excerpt.lines[3].utf8.count == 200)
    #expect(excerpt.lines[3].hasPrefix(" four é"))
  }

  @Test func indexMaps() throws {
    let parts = [
      #"{"offset":{"line":1,"column":10},"map":\#(Self.map("AAAA,CAAC", sources: #"["second.ts"]"#))}"#,
      #"{"offset":{"line":0,"column":0},"map":\#(Self.map(sources: #"["first.ts"]"#))}"#,
    ]
    let map = try Self.read(#"{"version":3,"sections":[\#(parts.joined(separator: ","))]}"#)
    #expect(map.place(line: 1, column: 1)?.file == "first.ts")
    #expect(map.place(line: 2, column: 10) == nil)
    #expect(map.place(line: 2, column: 11)?.column == 1)
    #expect(map.place(line: 2, column: 12)?.column == 2)
    #expect(map.place(line: 2, column: 12)?.file == "second.ts")
  }

  /// Segments without a source end what was before them; an escaped slash is a digit.
  @Test func segments() throws {
    let map = try Self.read(Self.map(#"AAAA,E,EAAC,+\/\/AAAA"#))
    #expect(map.place(line: 1, column: 2)?.column == 1)
    #expect(map.place(line: 1, column: 3) == nil)
    #expect(map.place(line: 1, column: 5)?.column == 2)
  }

  /// More than one state is kept, so that no search begins at the start.
  @Test func manySegments() throws {
    let line = String(repeating: "CAAC,", count: 5_000)
    let map = try Self.read(Self.map("\(line);;\(line)"))
    for column in [2, 17, 1_024, 2_500, 4_999, 5_001] {
      #expect(map.place(line: 1, column: column)?.column == column)
      #expect(map.place(line: 3, column: column)?.column == 5_000 + column)
    }
    #expect(map.place(line: 2, column: 4) == nil)
    #expect(map.cost < 2 * 50_000)
  }

  @Test(
    arguments: [
      ("", .notJSON(at: 0)), ("[]", .notJSON(at: 0)), (#"{"version":3"#, .notJSON(at: 12)),
      (#"{"version":3,"mappings":"A"#, .notJSON(at: 26)), (#"{"version":3,"x":]}"#, .notJSON(at: 17)),
      (#"{"version":4,"mappings":""}"#, .notVersion3), (#"{"mappings":""}"#, .notVersion3),
      (#"{"version":"3","mappings":""}"#, .notVersion3), (#"{"version":3}"#, .noMappings),
      (#"{"version":3,"mappings":"AA"}"#, .mappings(at: 27)),
      (#"{"version":3,"mappings":"!"}"#, .mappings(at: 25)),
      (#"{"version":3,"mappings":"D"}"#, .mappings(at: 26)),
      (#"{"version":3,"mappings":"ggggggggA"}"#, .mappings(at: 32)),
      (#"{"version":3,"sections":[{"map":{"sections":[]}}]}"#, .sections),
    ] as [(String, SourceMapError)])
  func malformed(text: String, error: SourceMapError) {
    #expect(throws: error) { try Self.read(text) }
  }

  @Test func largeOnesAreRefused() {
    let bytes = [UInt8](repeating: 0x20, count: SourceMap.sizeLimit + 1)
    #expect(throws: SourceMapError.tooLarge) { try SourceMap(bytes) }
    let section = #"{"offset":{"line":0,"column":0},"map":{}}"#
    let all = [String](repeating: section, count: SourceMap.sectionLimit + 1).joined(separator: ",")
    #expect(throws: SourceMapError.sections) { try Self.read(#"{"version":3,"sections":[\#(all)]}"#) }
  }

  /// A byte of a good map is another one: it is read or refused, and never traps.
  @Test func hostileBytes() {
    var random = SplitMix(seed: 47)
    let good = Array(BuiltScript.map.utf8)
    for _ in 0..<2_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      guard let map = try? SourceMap(bytes) else { continue }
      for column in [1, 78, 160, Int.max] {
        guard let place = map.place(line: 1, column: column) else { continue }
        _ = map.excerpt(at: place)
      }
    }
  }
}
