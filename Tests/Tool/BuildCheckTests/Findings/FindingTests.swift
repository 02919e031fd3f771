import Manifests
import Testing

@testable import BuildCheck

/// The message for each problem: what is wrong, where, and what to do.
@Suite struct FindingTests {
  private static func finding(
    _ problem: CheckProblem, _ rule: CheckRule = .missing, place: String? = "a.html",
    at position: TextPosition? = TextPosition(of: 0, in: [])
  ) -> Finding {
    Finding(rule: rule, severity: .warning, place: place, position: position, problem: problem)
  }

  private static let cases: [(problem: CheckProblem, message: String)] = [
    (
      .missing(.script, target: "a.js", .unknown),
      "the script a.js is not in the bundle: build again, or correct the reference"
    ),
    (
      .missing(.sourceMap, target: "a.js.map", .unknown),
      "the source map a.js.map is not in the bundle: devices don't request it; build without the comment that names it"
    ),
    (
      .missing(.image, target: "a.png", .excluded),
      "the image a.png is left out by include or exclude: include it, or remove the reference"
    ),
    (
      .missing(.frame, target: "A.html", .otherCase("a.html")),
      "the embedded page A.html is not in the bundle, but a.html is: match the case"
    ),
    (
      .missing(.dynamicImport, target: "a", .ending("a.js")),
      "the module a is not in the bundle, but a.js is: browsers don't add an extension, so write it in full"
    ),
    (
      .missing(.moduleStyle, target: "x/a.css", .elsewhere("a.css")),
      "the style sheet x/a.css is not in the bundle, but a.css is: build with the bundle's base path"
    ),
    (
      .notRead(bundle: "main", files: 1),
      "1 file of bundle main was not checked for references to files this release removes: check it yourself"
    ),
    (
      .notRead(bundle: "main", files: 2),
      "2 files of bundle main were not checked for references to files this release removes: check them yourself"
    ),
    (
      .removed(url: "https://m.example.com/a.js", bundle: "main"),
      "bundle main needs https://m.example.com/a.js, which this release removes: keep the file, or publish main "
        + "without the reference first"
    ),
    (
      .lazy(.script, target: "a.js", page: nil),
      "the script a.js is lazy, so updates leave it out, but the page loads it when it opens, also offline: take it "
        + "out of \"lazy\""
    ),
    (
      .lazy(.staticImport, target: "./b.js", page: "index.html"),
      "the module ./b.js is lazy, so updates leave it out, but index.html loads it when it opens, also offline: take it "
        + "out of \"lazy\""
    ),
    (
      .prefetchPage("https://m.example.com/"),
      "the prefetch config names the page https://m.example.com/, which is in no bundle: publish the page, or remove "
        + "it from the config"
    ),
    (
      .weight(what: "source map", files: 1, bytes: 999, exclude: ["*.js.map"]),
      "1 source map (999 B) is not needed on devices: leave it out with --exclude '*.js.map'; publish --source-maps DIR stores it "
        + "where nobody can download it"
    ),
    (
      .weight(
        what: "source maps", files: 236, bytes: 32_800_000, exclude: ["*.css.map", "*.js.map"],
        mayBeLazy: true),
      "236 source maps (32.8 MB) are not needed on devices: leave them out with --exclude '*.css.map' --exclude "
        + "'*.js.map', or name them in \"lazy\" in xcache.json; publish --source-maps DIR stores them where nobody can "
        + "download them"
    ),
    (
      .idlePattern("a\u{1B}*", at: "bundles / main / include", excludes: false),
      "bundles / main / include: the pattern \"a\\u{1B}*\" matches no published file: correct or remove it"
    ),
    (
      .idlePattern("*.map", at: "bundles / main / exclude", excludes: true),
      "bundles / main / exclude: the pattern \"*.map\" excludes nothing: correct or remove it"
    ),
    (
      .idlePattern("dist/*.map", at: "bundles / main / lazy", excludes: false, below: "dist"),
      "bundles / main / lazy: the pattern \"dist/*.map\" matches no published file: paths begin below dist, without it"
    ),
    (
      .bare("vue\n"), "import \"vue\\n\" doesn't name a file: bundle it, or map it in an import map"
    ),
    (
      .route(
        .moduleScript, target: "./a.js", route: "https://m.example.com/app/a/b",
        url: "https://m.example.com/app/a/a.js", base: "/app/"),
      "the script ./a.js is relative to the address of the page, which is the fallback of "
        + "https://m.example.com/app/a/b, too: there it is https://m.example.com/app/a/a.js, which is not in the "
        + "bundle: put <base href=\"/app/\"> first in <head>, build with the base path /app/, or leave such routes out "
        + "with \"except\""
    ),
    (.notSourceMap, "this is not a source map: rebuild, or exclude it"),
    (.notManifest, "this is not a web app manifest, because it isn't a JSON object: fix it"),
  ]

  @Test(arguments: cases.indices) func words(index: Int) {
    let (problem, message) = Self.cases[index]
    #expect(Self.finding(problem).message == message)
  }

  @Test func repeats() {
    var finding = Self.finding(.notSourceMap, .sourcemap)
    finding.repeats = 2
    #expect(finding.message == "this is not a source map: rebuild, or exclude it (and 2 more)")
    finding = Self.finding(.empty, .empty)
    finding.repeats = 1
    #expect(finding.message == "the file is empty: build again, or exclude it (1 more in this file)")
  }

  /// Editors parse the form of a place; a line break in a name must not look like a second finding.
  @Test func spots() {
    #expect(Self.finding(.empty).spot == "a.html:1:1: ")
    #expect(Self.finding(.empty, at: nil).spot == "a.html: ")
    #expect(Self.finding(.empty, place: nil).spot.isEmpty)
    #expect(Self.finding(.empty, place: "a\nb\u{1B}[31m\"\\", at: nil).spot == "a\\nb\\u{1B}[31m\\\"\\\\: ")
    #expect(Self.finding(.empty, place: "ä \"b\".html", at: nil).spot == "ä \"b\".html: ")
    #expect(
      Self.finding(.empty, .empty).text
        == "a.html:1:1: warning: the file is empty: build again, or exclude it [empty]")
  }

  /// Sorted by file, line and column; findings without a file come last.
  @Test func orderOfAReport() {
    let text = Array("a\nbc\n".utf8)
    var report = CheckReport()
    report.add([
      Self.finding(.empty, place: nil, at: nil), Self.finding(.empty, place: "b", at: nil),
      Self.finding(.empty, place: "a", at: TextPosition(of: 3, in: text)),
      Self.finding(.empty, .charset, place: "a", at: TextPosition(of: 2, in: text)),
    ])
    report.add([
      Self.finding(.empty, .case, place: "a", at: TextPosition(of: 2, in: text)),
      Finding(rule: .name, severity: .error, place: "a", position: nil, problem: .empty),
    ])
    #expect(
      report.findings.map { "\($0.place ?? "-") \($0.line ?? 0) \($0.column ?? 0) \($0.rule)" } == [
        "a 0 0 name", "a 2 1 case", "a 2 1 charset", "a 2 2 missing", "b 0 0 missing", "- 0 0 missing",
      ])
    #expect(report.errors == 1 && report.warnings == 5)
  }

  @Test func asJSON() throws {
    var report = CheckReport()
    report.files = 3
    report.bytesRead = 7
    report.add([Self.finding(.empty, .empty), Self.finding(.notManifest, .manifest, place: nil, at: nil)])
    #expect(
      String(decoding: report.json.canonical, as: UTF8.self)
        == #"{"bytesRead":7,"errors":0,"files":3,"findings":[{"column":1,"file":"a.html","line":1,"#
        + #""message":"the file is empty: build again, or exclude it","rule":"empty","severity":"warning"},"#
        + #"{"column":null,"file":null,"line":null,"message":"this is not a web app manifest, because it isn't a "#
        + #"JSON object: fix it","rule":"manifest","severity":"warning"}],"warnings":2}"#)
  }

  @Test func ignoredFindings() throws {
    var options = CheckOptions(off: [.empty], ignore: [try #require(Glob("old/*"))])
    #expect(
      !options.wants(Self.finding(.empty, .empty)) && options.wants(Self.finding(.notManifest, .manifest)))
    #expect(!options.wants(Self.finding(.missing(.image, target: "old/a.png", .unknown))))
    #expect(options.wants(Self.finding(.missing(.image, target: "new/a.png", .unknown))))
    #expect(!options.isOff)
    options.off = Set(CheckRule.optional)
    #expect(options.isOff && CheckOptions.none.isOff && !CheckOptions.all.isOff)
  }

  /// The names are used in `--no-check` and xcache.json, and must not change.
  @Test func ruleNames() {
    #expect(
      CheckRule.list
        == "missing, case, empty, name, charset, mixed, removed, prefetch, query, outside, bare, link, route, "
        + "lazy, sourcemap, manifest, template, weight, pattern")
    #expect(CheckRule(rawValue: "secret") == .secret && !CheckRule.list.contains("secret"))
    #expect(Set(CheckRule.allCases.map(\.summary)).count == CheckRule.allCases.count)
  }
}
