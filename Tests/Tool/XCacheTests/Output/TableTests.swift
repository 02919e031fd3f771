import Manifests
import Testing
import Values

@testable import xcache

@Suite struct TableTests {
  @Test func columnWidths() {
    var table = Table(["bundle", "files", "size"], rightAligned: [1])
    #expect(table.isEmpty)
    table.add(["main", "12", "1.0 KB"])
    table.add(["a-long-name", "3", ""])
    #expect(!table.isEmpty)
    #expect(
      table.lines == [
        "bundle       files  size",
        "main            12  1.0 KB",
        "a-long-name      3",
      ])
  }

  /// Untrusted text must not look like a row of its own, nor leave its column.
  @Test func rowsWithLineBreaksAndTooFewCells() {
    var table = Table(["who", "why"])
    table.add(["ci", "first\nsecond\r\nthird"])
    table.add(["me"])
    #expect(table.lines == ["who  why", "ci   first ⏎ second ⏎ third", "me"])
  }

  @Test(
    arguments: [
      (0, 10, 0), (5, 10, 12), (10, 10, 24), (11, 10, 24), (-1, 10, 0), (.max, .max, 24),
      (1, 1000, 0),
    ] as [(Int64, Int64, Int)])
  func bars(done: Int64, all: Int64, filled: Int) {
    let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: 24 - filled)
    var meter = ProgressMeter()
    #expect(meter.line("sending", done, of: all, .bytes, "x", now: 0) == "sending [\(bar)] x")
  }

  @Test(arguments: [(0, "0 files"), (1, "1 file"), (2, "2 files"), (-1, "-1 files")])
  func counts(count: Int, text: String) { #expect(Count.text(count, "file") == text) }

  @Test(
    arguments: [
      ([], ""), ([7], "7"), ([1, 2, 3], "1–3"), ([9, 1, 3, 2, 4, 7], "1–4, 7, 9"), ([5, 6], "5–6"),
    ] as [([Int64], String)])
  func ranges(numbers: [Int64], text: String) {
    #expect(numbers.map { ManifestVersion($0) }.ranges == text)
  }

  @Test func progressIsOnlyForTerminals() {
    let pipe = CapturedTerminal()
    pipe.terminal().progress("half")
    pipe.terminal().endProgress()
    #expect(pipe.error.isEmpty && pipe.output.isEmpty)
    let screen = CapturedTerminal()
    screen.terminal(isInteractive: true).progress("half")
    #expect(screen.error == "\r\u{1B}[Khalf")
    screen.terminal(isInteractive: true).note("done")
    #expect(screen.error == "\r\u{1B}[Khalf\r\u{1B}[Kdone\n" && screen.output.isEmpty)
  }

  @Test func pipesHaveNoColours() {
    let captured = CapturedTerminal()
    #expect(captured.terminal().colour("red", .red) == "red")
    #expect(
      SafeText.escaped(captured.terminal(usesColour: true).colour("red", .red)) == "\u{1B}[31mred\u{1B}[0m")
  }

  /// Arrays and objects of plain values stay on one line while they fit.
  @Test(arguments: [
    ("[]", "[]"), ("{}", "{}"), (#"{"a":1}"#, #"{"a": 1}"#), (#"{"a":[1,2]}"#, "{\n  \"a\": [1, 2]\n}"),
    (#"[{"k":{"x":"é\n"}}]"#, "[\n  {\n    \"k\": {\"x\": \"é\\n\"}\n  }\n]"),
  ])
  func json(compact: String, pretty: String) throws {
    #expect(PrettyJSON.text(try JSONValue.parse(Array(compact.utf8))) == pretty)
  }

  @Test func longArraysAreWrapped() throws {
    let text = PrettyJSON.text(.strings((0..<20).map { "value \($0)" }))
    #expect(text.hasPrefix("[\n  \"value 0\",\n") && text.hasSuffix("\"value 19\"\n]"))
  }
}
