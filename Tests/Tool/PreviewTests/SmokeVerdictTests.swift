import Manifests
import OriginAPI
import PreviewProtocol
import Testing
import Values

@testable import Preview

@Suite("Problems of a page") struct SmokeVerdictTests {
  private static let base = "https://m.example.com/shop"

  private static func verdict(
    _ requests: [(source: String, kind: String, url: String)] = [], more: String = #""isBlank":false"#,
    isConfined: Bool = true
  ) throws -> SmokeVerdict {
    let list = requests.map {
      #"{"url":"\#($0.url)","source":"\#($0.source)","kind":"\#($0.kind)","status":404,"bytes":0}"#
    }
    let scriptErrors = more.contains("scriptErrors") ? "" : #""scriptErrors":[],"#
    let console = more.contains("console") ? "" : #""console":[],"#
    let text =
      #"{"id":1,\#(console)\#(scriptErrors)"requests":[\#(list.joined(separator: ","))],\#(more)}"#
    let site = SmokeSite(
      try ["index.html", "a.js", "dir/"].map { try ResourceURL("\(base)/\($0)") },
      bases: [try BaseURL(base + "/")],
      fallbacks: FallbackTable([
        (
          url: try ResourceURL("\(base)/index.html"), ctype: "text/html",
          fallbacks: try PageFallbacks([.init(prefix: "/shop/runs/")])
        )
      ]))
    return SmokeVerdict(
      PageAddress(try ResourceURL("\(base)/index.html")),
      try JSONValue.parse(Array(text.utf8)).decode(), site, isConfined: isConfined)
  }

  /// A request, and its verdict: a problem, "note", or nothing.
  static let requests: [(source: String, kind: String, url: String, outcome: String)] = [
    ("device", "script", "\(base)/a.js", ""), ("engine", "image", "data:image/png", ""),
    ("missing", "script", "\(base)/gone.js", "missing"), ("missing", "style", "\(base)/gone.css", "missing"),
    ("missing", "image", "\(base)/gone.png", "missing"), ("missing", "font", "\(base)/gone.woff2", "missing"),
    ("missing", "document", "\(base)/frame.html", "missing"), ("failed", "document", "\(base)/runs/1", ""),
    ("missing", "script", "\(base)/runs/1", "missing"),
    ("failed", "script", "\(base)/gone.js", "missing"),
    // Only the live site has it.
    ("network", "script", "\(base)/gone.js", "missing"),
    ("missing", "fetch", "\(base)/api/user", "note"), ("missing", "other", "\(base)/favicon.ico", "note"),
    ("network", "fetch", "\(base)/api/user", ""),
    ("missing", "script", "https://m.example.com/shopping/a.js", "note"),
    ("failed", "script", "https://cdn.example.org/a.js", "note"),
    ("network", "script", "https://cdn.example.org/a.js", ""),
    // Aborted by the page, or with a query that the build doesn't have.
    ("failed", "script", "\(base)/a.js", ""), ("missing", "document", "\(base)/index.html?a=1#b", ""),
    // For a device, these are two files.
    ("missing", "script", "\(base)/a.js?v=1", "missing"), ("failed", "image", "not a URL", "note"),
  ]

  @Test(
    "A missing file of the build fails the page; what may be an API is a note",
    arguments: requests)
  func requested(_ source: String, _ kind: String, _ url: String, _ outcome: String) throws {
    let verdict = try Self.verdict([(source, kind, url), (source, kind, url)])
    let outcomes = verdict.findings.map { $0.problem?.rawValue ?? "note" }
    #expect(outcomes == (outcome.isEmpty ? [] : [outcome]), "\(verdict.findings)")
  }

  /// Members of a report, and the problems they mean.
  static let reports: [(more: String, problems: [String])] = [
    (#""isBlank":false"#, []), (#""isBlank":true"#, ["blank"]),
    (#""isBlank":true,"failure":"timed out""#, ["load"]), (#""failure":"crashed""#, ["load"]),
    (#""isBlank":true,"status":404"#, ["load", "blank"]), (#""isBlank":false,"status":404"#, ["load"]),
    (#""isBlank":false,"status":304"#, []),
    (#""isBlank":false,"scriptErrors":[{"text":"a"},{"text":"b"}]"#, ["script", "script"]),
  ]

  @Test("Script errors, blank pages and failed loads are failures", arguments: reports)
  func reported(_ more: String, _ problems: [String]) throws {
    #expect(try Self.verdict(more: more).failures.compactMap { $0.problem?.rawValue } == problems)
  }

  @Test("A console message about a file already reported as missing isn't repeated") func console() throws {
    let console = ["<img> could not be loaded: \(Self.base)/gone.png", "oops"].map {
      #"{"level":"error","text":"\#($0)"}"#
    }
    let verdict = try Self.verdict(
      [("missing", "image", "\(Self.base)/gone.png")],
      more: #""isBlank":false,"console":[\#(console.joined(separator: ","))]"#)
    #expect(verdict.failures.count == 1 && verdict.notes.map(\.text) == ["console: oops"])
  }

  @Test("A missing answer is reported with its cause: no network was used, or what it answered") func notes()
    throws
  {
    let api = [("missing", "fetch", "https://m.example.com/api")]
    #expect(
      try Self.verdict(api).notes.first?.text
        == "fetch https://m.example.com/api: not sent: a smoke test contacts no server")
    #expect(
      try Self.verdict(api, isConfined: false).notes.first?.text
        == "fetch https://m.example.com/api: status 404")
  }
}
