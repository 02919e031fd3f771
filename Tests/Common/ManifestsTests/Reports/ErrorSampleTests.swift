import Testing

@testable import Manifests
@testable import Values

/// Examples of how pages failed, as devices send them.
@Suite struct ErrorSampleTests {
  private func report(_ text: String) throws -> SampleReport {
    try SampleReport(json: .parse(Array(text.utf8)))
  }

  @Test func samplesRoundTrip() throws {
    let sample = ErrorSample(
      .script, message: "TypeError: undefined is not an object (evaluating 'a.b')",
      page: "https://m.example.com/ares/?user=ann#cart", engine: "WebKit 605.1.15",
      stack: ["render@https://m.example.com/ares/app.js:1:23911", "@https://m.example.com/ares/app.js:1:7"])
    #expect(sample.page == "https://m.example.com/ares/?user=" && sample.engine == "WebKit 605.1")
    let report = SampleReport(version: ManifestVersion(553), sample: sample)
    #expect(try SampleReport(json: .parse(report.body)) == report)
    #expect(
      String(decoding: report.body, as: UTF8.self)
        == #"{"sample":{"engine":"WebKit 605.1","kind":"script","message":"TypeError: undefined is not an object (evaluating 'a.b')","page":"https://m.example.com/ares/?user=","stack":["render@https://m.example.com/ares/app.js:1:23911","@https://m.example.com/ares/app.js:1:7"]},"version":"553"}"#
    )
    let frame = StackFrame(sample.stack[0])
    #expect(frame.function == "render" && frame.url == "https://m.example.com/ares/app.js")
    #expect(frame.line == 1 && frame.column == 23_911)
    let none = StackFrame("map@")
    #expect(none.function == "map" && none.url.isEmpty && none.line == 0 && none.column == 0)
  }

  /// The largest sample stays below what a report may have.
  @Test func sizesAreLimited() throws {
    let long = String(repeating: "\"é\\", count: 500)
    let frames = [String](repeating: "\(long)@https://m.example.com/\(long):1:2", count: 30)
    let sample = ErrorSample(
      .rejection, message: long, page: "https://m.example.com/\(long)", engine: long, stack: frames)
    #expect(sample.message.utf8.count <= 512 && sample.page.utf8.count <= 1024 && sample.engine.isEmpty)
    #expect(sample.stack.count == 10 && sample.stack.allSatisfy { $0.utf8.count <= 300 })
    #expect(sample.stack.allSatisfy { $0.hasSuffix(":1:2") })
    let body = SampleReport(version: ManifestVersion(1 << 53 - 1), sample: sample).body
    #expect(body.count < 12_000)
    #expect(try SampleReport(json: .parse(body)).sample.page == sample.page)
  }

  @Test(arguments: [
    #"{"sample":{"kind":"script","message":"","page":"https://m.example.com/"}}"#,
    #"{"sample":{"kind":"script","message":"","page":"https://m.example.com/"},"version":7}"#,
    #"{"sample":{"kind":"script","message":"","page":"https://m.example.com/"},"version":"99999999999999999999"}"#,
    #"{"sample":{"kind":"other","message":"","page":"https://m.example.com/"},"version":"7"}"#,
    #"{"sample":{"kind":"script","message":7,"page":"https://m.example.com/"},"version":"7"}"#,
    #"{"sample":{"kind":"script","message":"","page":"/ares/"},"version":"7"}"#,
    #"{"sample":{"kind":"script","message":"","page":"file:///home/ann/x.html"},"version":"7"}"#,
    #"{"sample":{"kind":"script","message":"","page":"https://"},"version":"7"}"#,
    #"{"sample":{"kind":"script","message":"","page":"https://m.example.com/","stack":[7]},"version":"7"}"#,
    #"{"sample":[],"version":"7"}"#, #"{"sample":null,"version":"7"}"#, #"{"version":"7"}"#,
  ])
  func invalidSamplesAreRefused(_ text: String) { #expect(throws: (any Error).self) { try report(text) } }

  @Test func membersMayBeMissing() throws {
    let sample = try report(
      #"{"more":1,"sample":{"kind":"process","message":"","page":"https://m.example.com/"},"version":"7"}"#
    ).sample
    #expect(sample.kind == .process && sample.message.isEmpty && sample.engine.isEmpty)
    #expect(sample.stack.isEmpty)
  }

  /// An engine is a name and a version; whatever else is sent in its place isn't kept.
  @Test(
    arguments: [
      ("Chromium 141.0.7390.37", "Chromium 141"), ("WebKit 605.1.15", "WebKit 605.1"),
      ("Firefox 128", "Firefox 128"),
      ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0)", "Mozilla"), ("Chromium 99999", "Chromium"), ("", ""),
      ("ann@example.com", "ann"), ("\u{202E}X 1", ""), ("WebKit", "WebKit"), ("  A B  1", "A B 1"),
    ] as [(String, String)])
  func engines(_ text: String, _ wanted: String) { #expect(SampleText.engine(text) == wanted) }

  /// No text takes more than linear time: each of these has a million characters, and would take hours otherwise.
  @Test(arguments: [
    "@", "a@", "@a:", "data:", "://", "a", "1", "%4", "%40/", "&", " ", "\"", "http://", "@.", ":1:1", "é",
  ])
  func hostileTexts(_ part: String) {
    let text = String(repeating: part, count: 1_000_000 / part.count)
    #expect(SampleText.message(text).utf8.count <= 512)
    #expect(SampleText.url("https://h/" + text).utf8.count <= 1024)
    #expect(SampleText.url("https://h/?" + text).utf8.count <= 1024)
    #expect(SampleText.frame("f@https://h/" + text).utf8.count <= 300)
    #expect(SampleText.frame(text).utf8.count <= 300)
  }

  /// Whatever a text is made of: none of an address, a long number or a hidden character is left.
  @Test func randomTexts() {
    var random = SystemRandomNumberGenerator()
    let parts = [
      "ann@example.com", "1234567", "\u{202E}", "\n", " ", "https://m.example.com/", "?a=secret", "#secret",
      "'", "x", "/", "é",
      "6f1c2d3e-4a5b-4c6d-8e7f-001122334455",
    ]
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in
        parts.randomElement(using: &random) ?? ""
      }
      .joined()
      for out in [SampleText.message(text), SampleText.url(text), SampleText.frame(text)] {
        #expect(!out.contains("ann@example.com") && !out.contains("1234567"), "\(text.debugDescription)")
        #expect(
          !out.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E }, "\(text.debugDescription)")
      }
    }
  }
}
