import Manifests
import OriginAPI
import System
import Testing

@testable import xcache

/// What `xcache samples` prints: docs/guide-commands.md has such lines.
@Suite struct SamplesOutputTests {
  private let terminal = CapturedTerminal().terminal()

  private func sample(
    _ message: String, kind: String = "script", count: Int64 = 12,
    engines: [String] = ["WebKit 605.1", "Chromium 141"],
    stack: [SampleList.Frame] = []
  ) -> SampleList.Sample {
    SampleList.Sample(
      kind: kind, message: message, page: "https://m.example.com/shop/", engines: engines, count: count,
      firstAt: Moment(milliseconds: 0), lastAt: Moment(milliseconds: 1_763_553_600_000),
      version: ManifestVersion(553), stack: stack)
  }

  private func lines(_ samples: [SampleList.Sample], others: Int64 = 0, isOn: Bool = true, limit: Int = 20)
    -> [String]
  {
    SamplesCommand.lines(
      SampleList(isOn: isOn, version: ManifestVersion(553), others: others, samples: samples), limit: limit,
      terminal)
  }

  @Test func stacks() {
    let url = "https://m.example.com/shop/app.3f1c.js"
    let source = SourcePosition(file: "src/cart.ts", line: 12, column: 5)
    let frames = [
      SampleList.Frame(
        function: "render", url: url, line: 1, column: 23_911, source: source, text: "render@\(url):1:23911"),
      SampleList.Frame(function: "", url: url, line: 1, column: 7_012, source: nil, text: "@\(url):1:7012"),
      SampleList.Frame(function: "map", url: "", line: 0, column: 0, source: nil, text: "map@"),
      SampleList.Frame(function: "", url: "", line: 0, column: 0, source: nil, text: "@:1"),
    ]
    #expect(
      lines([sample("TypeError: undefined is not an object (evaluating 'a.b')", stack: frames)]) == [
        "12 times  TypeError: undefined is not an object (evaluating 'a.b')", "  https://m.example.com/shop/",
        "  version 553, an error of a script; WebKit 605.1, Chromium 141; last 2025-11-19 12:00:00 UTC",
        "    at render src/cart.ts:12:5 (\(url):1:23911)", "    at \(url):1:7012", "    at map", "    at @:1",
      ])
  }

  @Test func whatIsntThere() {
    let none = lines([sample("", kind: "process", count: 1, engines: [])], others: 1_234)
    #expect(
      none == [
        "once  the page's process ended", "  https://m.example.com/shop/",
        "  version 553; last 2025-11-19 12:00:00 UTC", "",
        "and 1,234 more, of which no examples are kept",
      ])
    #expect(lines([]) == ["version 553: no errors were reported"])
    let none553 = SampleList(isOn: true, version: ManifestVersion(553), others: 0, samples: [])
    #expect(
      SamplesCommand.lines(none553, page: "https://m.example.com/x", limit: 20, terminal)
        == ["version 553: no errors were reported of the page https://m.example.com/x"])
    #expect(lines([], isOn: false)[0].contains("xcache channel set --samples on"))
    #expect(lines([sample("a"), sample("b")], limit: 2).last == "there may be more: --limit 10")
    #expect(lines([sample("a")]).last?.hasPrefix("  version 553") == true)
  }
}
