import Testing
import Values

@testable import BuildCheck

/// Checks of whole builds: what each rule finds, and what it doesn't. The messages are in Tests/Golden/broken-builds.txt.
@Suite struct SiteCheckTests {
  /// The findings for the given files, which aren't written to disk: rule, file, line and column.
  private static func findings(
    _ files: [String: String], base: String = "https://m.example.com/shop/", options: CheckOptions = .all,
    live: Set<String> = [], changed: Set<String>? = nil, lazy: Set<String> = []
  ) throws -> [String] {
    let base = try BaseURL(base)
    let listed = try files.keys.sorted().map { path in
      var file = CheckedBundle.File(
        url: try ResourceURL("\(base.text)/\(path)"), ctype: .of(fileName: path), location: path, path: path,
        size: Int64(files[path]?.utf8.count ?? 0))
      file.isLazy = lazy.contains(path)
      return file
    }
    let check = SiteCheck([CheckedBundle(listed, bases: [base], filter: FileFilter())], options) {
      files[$0].map { Array($0.utf8) }
    }
    let report = check.report(try check.read(changed: changed), live: live)
    #expect(report.files == files.count)
    return report.findings.map { finding in
      let at = finding.position.map { ":\($0.line):\($0.column)" } ?? ""
      return "\(finding.severity.rawValue) \(finding.rule.rawValue) \(finding.place ?? "-")\(at)"
    }
  }

  private static func page(_ body: String) -> String {
    "<!doctype html>\n<meta charset=\"utf-8\">\n\(body)\n"
  }

  @Test func intactBuild() throws {
    let files = [
      "index.html": Self.page(
        "<link rel=stylesheet href=a.css><script type=module src=./js/a.js></script><a href=about/>about</a>"),
      "about/index.html": Self.page("<img src=../img/a.png srcset='../img/a.png 1x, /shop/img/b.png 2x'>"),
      "a.css": "@import 'b.css'; a { background: url(img/a.png) }", "b.css": "b{}",
      "js/a.js": "import './b.js'",
      "js/b.js": "import('./c.js')", "js/c.js": "new URL('../img/a.png', import.meta.url)", "img/a.png": "x",
      "img/b.png": "y",
    ]
    #expect(try Self.findings(files).filter { $0.hasPrefix("error") } == [])
  }

  @Test(arguments: [
    ("<script src=app.js></script>", "error missing index.html:3:13"),
    ("<link rel=stylesheet href=no.css>", "error missing index.html:3:27"),
    ("<img src=A.png>", "error case index.html:3:10"),
    ("<script src=http://m.example.com/shop/a.png></script>", "error mixed index.html:3:13"),
  ])
  func errorsHaveAPlace(body: String, finding: String) throws {
    let found = try Self.findings(["index.html": Self.page(body), "a.png": "x"])
    #expect(found.first == finding, "\(found)")
  }

  /// What a page loads when it opens has to come with updates; what it may ask for later needn't.
  @Test(arguments: [
    ("<script src=a.js></script>", ["warning lazy index.html:3:13"]),
    ("<script type=module src=a.js></script>", ["warning lazy index.html:3:25"]),
    ("<link rel=stylesheet href=a.css>", ["warning lazy index.html:3:27"]),
    ("<img src=a.png><script>import('./a.js')</script><a href=a.js>", []), ("<script src=b.js></script>", []),
  ])
  func lazyFilesThatAPageLoads(body: String, findings: [String]) throws {
    let files = ["index.html": Self.page(body), "a.js": "1", "a.css": "a{}", "a.png": "x", "b.js": "1"]
    #expect(try Self.findings(files, lazy: ["a.js", "a.css", "a.png"]) == findings)
    #expect(try Self.findings(files) == [])
  }

  /// Scripts and style sheets lead on to what they load themselves; what is only preloaded doesn't.
  @Test(arguments: [
    ("<script type=module src=m.js></script>", ["warning lazy m.js:1:8"]),
    ("<script type=module>import './m.js'</script>", ["warning lazy m.js:1:8"]),
    ("<script type=module>import './b.js'</script>", ["warning lazy index.html:3:28"]),
    ("<script type=module src=n.js></script>", ["warning lazy m.js:1:8"]),
    ("<link rel=stylesheet href=s.css>", ["warning lazy s.css:1:9"]),
    ("<style>@import 's.css'</style>", ["warning lazy s.css:1:9"]),
    ("<link rel=modulepreload href=c.js>", ["warning lazy index.html:3:30"]),
    ("<link rel=preload as=font href=f.woff2>", ["warning lazy index.html:3:32"]),
    ("<link rel=preload as=font media=print href=f.woff2><link rel=prefetch href=c.js>", []),
    ("<link rel=modulepreload href=m.js><script>import('./m.js')</script>", []),
    ("<template><script type=module src=m.js></script></template>", []),
    ("<link rel=stylesheet href=font.css>", []),
  ])
  func lazyFilesThatAPageLoadsIndirectly(body: String, findings: [String]) throws {
    let files = [
      "index.html": Self.page(body), "m.js": "import './b.js'; import('./c.js')",
      "n.js": "export * from './m.js'",
      "b.js": "1", "c.js": "1", "s.css": "@import 't.css';", "t.css": "t{}", "f.woff2": "f",
      "font.css": "@font-face{src:url(f.woff2)}",
    ]
    #expect(try Self.findings(files, lazy: ["b.js", "c.js", "t.css", "f.woff2"]) == findings)
    #expect(try Self.findings(files) == [])
  }

  /// However many files load it, and in modules that import each other.
  @Test func aLazyFileIsReportedOnce() throws {
    let files = [
      "a.html": Self.page("<script type=module src=a.js></script>"),
      "b.html": Self.page("<script type=module src=a.js></script><link rel=modulepreload href=b.js>"),
      "a.js": "import './b.js'; import './c.js'", "b.js": "import './a.js'; import './c.js'", "c.js": "1",
    ]
    #expect(try Self.findings(files, lazy: ["c.js"]) == ["warning lazy a.js:1:25"])
    #expect(
      try Self.findings(files, lazy: ["b.js", "c.js"])
        == ["warning lazy a.js:1:25", "warning lazy b.html:3:68"])
  }

  /// Of a few changed files, it isn't known whether a page loads them.
  @Test func lazyFilesAmongChangedOnes() throws {
    let files = [
      "index.html": Self.page("<script type=module src=a.js></script>"), "a.js": "import './b.js'",
      "b.js": "1",
      "b.js.map": "{}",
    ]
    let found = ["warning lazy a.js:1:8"]
    func url(_ name: String) -> String { "https://m.example.com/shop/\(name)" }
    for name in ["a.js", "b.js"] {
      #expect(try Self.findings(files, changed: [url(name)], lazy: ["b.js", "b.js.map"]) == found)
    }
    #expect(try Self.findings(files, changed: [url("b.js.map")], lazy: ["b.js", "b.js.map"]) == [])
  }

  /// Devices don't get source maps that are lazy.
  @Test func lazySourceMapsAreNoWeight() throws {
    let files = ["index.html": Self.page("<script src=a.js></script>"), "a.js": "1", "a.js.map": "{}"]
    #expect(try Self.findings(files).filter { $0.contains("weight") } == ["warning weight -"])
    #expect(try Self.findings(files, lazy: ["a.js.map"]).filter { $0.contains("weight") } == [])
  }

  /// References to other hosts, those made by scripts, and text that isn't a reference.
  @Test(arguments: [
    "<script src=https://cdn.example.net/lib.js></script>", "<a href='mailto:a@b.c'>",
    "<img src='data:image/png,'>",
    "<!-- <script src=none.js></script> -->", "<template><img src={{photo}}></template>", "<a href='#top'>",
    "<img data-src=later.png>", "<script>const s = '<img src=none.png>'</script>", "<noscript></noscript>",
  ])
  func noErrors(body: String) throws {
    #expect(try Self.findings(["index.html": Self.page(body)]).filter { $0.hasPrefix("error") } == [])
  }

  @Test func fileOfAnotherLiveBundleIsNotMissing() throws {
    let files = ["index.html": Self.page("<script src=/other/lib.js></script><script src=none.js></script>")]
    let key = try ResourceURL("https://m.example.com/shop/none.js").matchKey
    #expect(try Self.findings(files).contains("error missing index.html:3:48"))
    #expect(try !Self.findings(files, live: [key]).contains { $0.hasPrefix("error") })
  }

  /// A base path that is another's, or a placeholder that the server replaces.
  @Test(arguments: [
    ("/assets/a.js", ["warning outside index.html:3:13"]), ("/a.js", ["warning outside index.html:3:13"]),
    ("/APP_BASE_PLACEHOLDER/assets/a.js", ["warning outside index.html:3:13"]),
    ("/static/app/assets/a.js?v=1", ["warning outside index.html:3:13"]),
    // Names that others may have, too.
    ("/lib/a.js", []), ("/live/assets/a.js", []), ("/help/assets/a.js", []),
    ("https://cdn.example.net/x/assets/a.js", []), ("/none/assets/b.js", []), ("/a.js/", []),
  ])
  func otherBasePaths(source: String, findings: [String]) throws {
    let files = ["index.html": Self.page("<script src=\(source)></script>"), "assets/a.js": "1", "a.js": "1"]
    var options = CheckOptions.all
    options.others = [try BaseURL("https://m.example.com/help")]
    let live = try ResourceURL("https://m.example.com/live/assets/a.js").matchKey
    #expect(try Self.findings(files, options: options, live: [live]) == findings)
    #expect(try Self.findings(files, base: "https://bundle.invalid/of/this/folder", options: options) == [])
  }

  @Test func rulesCanBeTurnedOff() throws {
    let files = ["index.html": Self.page("<script src=none.js></script>"), "a.js.map": "{}", "empty.js": ""]
    let all = try Self.findings(files)
    #expect(Set(all.map { $0.split(separator: " ")[1] }).isSuperset(of: ["missing", "empty", "weight"]))
    #expect(try Self.findings(files, options: .none) == [])
    let rest = try Self.findings(files, options: CheckOptions(off: [.missing]))
    #expect(rest == all.filter { !$0.contains(" missing ") } && rest != all)
    let ignored = CheckOptions(ignore: [try #require(Glob("none.js"))])
    #expect(try Self.findings(files, options: ignored) == rest)
  }

  /// Only changed files are read, unless one of them lacks something: then the files that load it matter, too.
  @Test func onlyChangedFilesAreRead() throws {
    let files = [
      "old.html": Self.page("<script src=gone.js></script>"), "new.html": Self.page("<p>"),
      "broken.html": Self.page("<script src=gone.js></script>"),
    ]
    func url(_ name: String) -> String { "https://m.example.com/shop/\(name)" }
    #expect(try Self.findings(files, changed: [url("new.html")]).filter { $0.hasPrefix("error") } == [])
    #expect(
      try Self.findings(files, changed: [url("broken.html")]).filter { $0.hasPrefix("error") } == [
        "error missing broken.html:3:13", "error missing old.html:3:13",
      ])
  }

  @Test func findingsAfterTheLimitAreCounted() throws {
    let body = (0..<40).map { "<img src=none.png>\($0)" }.joined(separator: "\n")
    let found = try Self.findings(["index.html": Self.page(body)])
    #expect(found.filter { $0.hasPrefix("error missing") }.count == 1)
  }

  @Test func namesThatDifferOnlyInCase() throws {
    let found = try Self.findings(["a/Logo.png": "x", "a/logo.png": "y"])
    #expect(found == ["warning case a/logo.png"] || found == ["warning case a/Logo.png"], "\(found)")
  }
}
