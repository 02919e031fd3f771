import System
import Testing
import Values

/// `smoke --record` and `--fixtures`, with a stand-in for the engine.
@Suite("Recorded API calls of pages") struct FixtureTests {
  private static func page(_ api: String) -> String {
    "<!doctype html><title>Shop</title><body>hello<!--api \(api)-->"
  }

  @Test("API answers are recorded, and pages get them without a network") func recorded() throws {
    try Site.with { api in
      // Any server would do; an origin's documents are JSON.
      let (url, gone) = ("\(api.url)/healthz", "\(api.url)/gone.json")
      let bench = try SmokeTests.Bench(["index.html": Self.page(url) + "<!--api \(gone)-->"])
      let without = try bench.smoke("--json")
      #expect(try Self.sources(without) == ["device", "failed", "failed"], "\(without.output)")

      let record = try bench.smoke("--record", "fixtures")
      #expect(
        record.exitCode == 0 && record.errors.contains("recorded 1 answer in fixtures"), "\(record.errors)")
      #expect(record.errors.contains("not recorded") && record.errors.contains(gone))
      let index = try JSONValue.parse(
        DurableFile.read("\(bench.scratch.path)/fixtures/fixtures.json") ?? [])
      let file = try #require(index[url]?["file"]?.string)
      let body = try DurableFile.read("\(bench.scratch.path)/fixtures/\(file)")
      #expect(try body == api.web.ask("/healthz").body && index[gone] == nil)

      let with = try bench.smoke("--fixtures", "fixtures", "--json")
      #expect(try Self.sources(with) == ["device", "device", "missing"], "\(with.output)")
      let settings = try JSONValue.parse(Array(bench.note("settings").utf8))
      #expect(settings["confined"]?.bool == true && settings["hosts"]?.array?.contains("127.0.0.1") == true)
      // From the project's settings, as for publish and CI jobs.
      try bench.scratch.write(
        "xcache.json",
        #"{"bundles":{"main":{"dirs":["dist"],"baseURL":"\#(Site.base)"}},"smoke":{"fixtures":"fixtures"}}"#)
      let settled = try Outcome(bench.start("smoke", "--json"), seconds: 120)
      #expect(
        try Self.sources(settled) == ["device", "device", "missing"], "\(settled.output)\(settled.errors)")
      try bench.expectNothingLeft()
    }
  }

  private static func sources(_ outcome: Outcome) throws -> [String] {
    let json = try JSONValue.parse(Array(outcome.output.utf8))
    return json["pages"]?.array?.first?["requests"]?.array?.compactMap { $0["source"]?.string } ?? []
  }

  @Test("An invalid fixtures folder is reported with a remedy") func mistakes() throws {
    let bench = try SmokeTests.Bench(["index.html": SmokeTests.page])
    let none = try bench.smoke("--fixtures", "nowhere")
    #expect(
      none.exitCode == 1 && none.errors.contains("--record nowhere instead of --fixtures"), "\(none.errors)")
    for (index, words) in [
      ("{\n  \"https://a.example/x\": }", "line 2, column 26"), ("[]", "an object"),
      (#"{"/api": {"ctype": "text/plain", "file": "1"}}"#, "an absolute http or https URL"),
      (#"{"https://a.example/x": {"ctype": "text/plain", "file": "../1"}}"#, "the name of a file"),
      (#"{"https://a.example/x": {"ctype": "text/plain", "file": "1.json"}}"#, "no such file: f/1.json"),
    ] {
      try bench.scratch.write("f/fixtures.json", index)
      let outcome = try bench.smoke("--fixtures", "f")
      #expect([1, 2].contains(outcome.exitCode) && outcome.errors.contains(words), "\(outcome.errors)")
    }
    #expect(try bench.smoke("--fixtures", "f", "--record", "g").exitCode == 2)
  }
}
