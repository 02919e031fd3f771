import Testing

@testable import XCacheRuntime

/// What pages say of their errors, read as what anybody might have written.
@Suite struct StackTextTests {
  @Test(
    arguments: [
      ("", []), ("TypeError: x", []), ("at", []), ("@", []), (":1:2", []), ("https://h/a.js", []),
      // V8.
      (
        "TypeError: x\n    at f (https://h/a.js:1:2)\n    at https://h/b.js:3:4",
        ["f@https://h/a.js:1:2", "@https://h/b.js:3:4"]
      ),
      ("    at async Promise.all (index 0)\n    at async g (https://h/a.js:1:2)", ["g@https://h/a.js:1:2"]),
      ("  at async https://h/a.js:1:2", ["@https://h/a.js:1:2"]),
      ("  at new Foo (https://h/a(1).js:1:2)", []),
      ("  at Foo.bar [as baz] (https://h/a.js:1:2)\r\n", ["Foo.bar [as baz]@https://h/a.js:1:2"]),
      ("  at eval (eval at f (https://h/a.js:1:2), <anonymous>:1:1)", []),
      ("  at Array.map (<anonymous>)\n  at native", []),
      // WebKit.
      (
        "f@https://h/a.js:1:2\nglobal code@https://h/a.js:9:9\nmap@[native code]",
        ["f@https://h/a.js:1:2", "global code@https://h/a.js:9:9"]
      ),
      ("https://h/pkg@1.2/a.js:1:2", ["@https://h/pkg@1.2/a.js:1:2"]),
      ("f@https://h/@scope/a.js:1:2", ["f@https://h/@scope/a.js:1:2"]),
      // Gecko.
      ("f/<@https://h/a.js:1:2\n@https://h/a.js:3:4\n", ["f/<@https://h/a.js:1:2", "@https://h/a.js:3:4"]),
      ("f@https://h/a.js line 3 > eval:1:2", []),
      ("async*g@https://h/a.js:1:2", ["async*g@https://h/a.js:1:2"]),
      // Neither.
      ("f@https://h/a.js:1234567890:1", []), ("f@https://h/a.js:-1:2", []), ("f@https://h/a.js:1:", []),
      ("f@/a.js:1:2", []),
      ("f@https://h/a.js:1:2:3", ["f@https://h/a.js:1:2:3"]),
      ("f@data:text/javascript,x:1:2", ["f@data:text/javascript,x:1:2"]),
    ] as [(String, [String])])
  func framesAreReadOfEachEngine(stack: String, frames: [String]) {
    #expect(StackText.frames(stack, atMost: 10) == frames)
  }

  @Test func aStackHasItsFirstFrames() {
    let lines = (1...300).map { "f@https://h/a.js:\($0):1" }
    #expect(StackText.frames(lines.joined(separator: "\n"), atMost: 10) == Array(lines.prefix(10)))
    let late = Array(repeating: "no frame", count: 100) + lines
    #expect(
      StackText.frames(late.joined(separator: "\n"), atMost: 10).isEmpty, "so many lines aren't looked at")
    let marks = String(repeating: "@", count: 16_000)
    #expect(StackText.frames(marks + "\n" + lines[0], atMost: 10) == [lines[0]])
  }

  @Test(
    arguments: [
      ("failed 12", "failed 12 -"), ("failed 12 {", "failed 12 -"), ("failed x", "failed nil -"),
      ("failed", nil), ("", nil),
      ("Failed 12", nil), ("failed 12 {\"message\":\"a b\",\"stack\":\"f\"}", "failed 12 a b|f"),
      (" failed  7 {\"message\":\"a\"}", "failed 7 a|"),
      ("rejected 1 {\"message\":\"a\",\"stack\":[1]}", "rejected 1 a|"),
      ("failed 1 {\"message\":\"a\",\"message\":\"b\"}", "failed 1 -"),
      ("failed 1 {\"message\":\"\\ud800\"}", "failed 1 -"), ("failed 1 {\"message\":\"a\"} {}", "failed 1 -"),
      ("failed 1 {\"message\":\"a\",\"more\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}", "failed 1 -"),
      ("failed 99999999999999999999", "failed nil -"),
    ] as [(String, String?)])
  func messagesAreReadStrictly(text: String, wanted: String?) {
    let read = PageMessage(text).map { message in
      "\(message.signal) \(message.milliseconds.map { "\($0)" } ?? "nil") "
        + (message.error.map { "\($0.message)|\($0.stack)" } ?? "-")
    }
    #expect(read == wanted)
  }

  @Test func longMessagesAreCutBeforeTheyAreRead() throws {
    let long = String(repeating: "x", count: PageMessage.longest)
    let message = try #require(PageMessage("failed 12 {\"message\":\"\(long)\"}"))
    #expect(message.signal == .failed && message.milliseconds == 12 && message.error == nil)
    #expect(PageMessage(long) == nil)
    #expect(PageMessage.text(json: "\"a \\\"b\\\"\"") == "a \"b\"")
    for json in ["", "a", "{}", "[\"a\"]", "\"a\" 1", "\"\(long)\(long)\""] {
      #expect(PageMessage.text(json: json) == nil)
    }
  }

  /// Half an address isn't known as one any more, so a word that was cut isn't kept.
  @Test func errorsAreCutBetweenWords() {
    let error = PageError(
      message: String(repeating: "word ", count: 409) + "ann@example.com and more",
      stack: String(repeating: "x", count: 99_999))
    #expect(error.message == String(repeating: "word ", count: 409).dropLast())
    #expect(error.stack == "")
    #expect(PageError(message: "a b", stack: "c\nd") == PageError(message: "a b", stack: "c\nd"))
    #expect(
      PageError(message: String(repeating: "é ", count: 5_000)).message.utf8.count <= PageError.longestMessage
    )
  }
}
