import Manifests
import Testing
import Values

@testable import BuildCheck

/// Builds with a page that answers routes.
@Suite struct RouteTests {
  private static let base = "https://m.example.com/app"
  private static let rule = [(prefix: "/app/", except: ["/app/api/*"])]

  /// The findings for files, of which `index.html` is the fallback page.
  private static func findings(
    _ files: [String: String], _ rules: [(prefix: String, except: [String])] = rule, indexed: Bool = false
  ) throws -> [String] {
    let fallbacks = try PageFallbacks(
      rules.map { try PageFallbacks.Rule(prefix: $0.prefix, except: $0.except) })
    func file(_ path: String, _ url: String) throws -> CheckedBundle.File {
      CheckedBundle.File(
        url: try ResourceURL("\(base)/\(url)"), ctype: .of(fileName: path), location: path, path: path,
        size: Int64(files[path]?.utf8.count ?? 0))
    }
    var listed: [CheckedBundle.File] = indexed ? [try file("index.html", "")] : []
    for path in files.keys.sorted() {
      var file = try file(path, path)
      if path == "index.html" { file.fallbacks = fallbacks }
      listed.append(file)
    }
    let check = SiteCheck([CheckedBundle(listed, bases: [try BaseURL(base)], filter: FileFilter())]) {
      files[$0].map { Array($0.utf8) }
    }
    return check.report(try check.read()).findings.map {
      "\($0.severity.rawValue) \($0.rule.rawValue) \($0.spot)\($0.repeats)"
    }
  }

  private static func page(_ body: String) -> String { "<!doctype html><meta charset=utf-8>\n\(body)" }

  @Test(
    "Links and frames that the page answers aren't broken; those that it leaves out, and other files, are",
    arguments: [
      ("<a href=/app/runs.html>", []), ("<iframe src=/app/runs.html></iframe>", []),
      ("<a href=/app/api/runs.html>", ["warning link index.html:2:9: 0"]),
      ("<img src=/app/runs.png>", ["error missing index.html:2:10: 0"]),
      ("<script src=/app/runs.html></script>", ["error missing index.html:2:13: 0"]),
    ] as [(String, [String])])
  func links(_ body: String, _ expected: [String]) throws {
    #expect(try Self.findings(["index.html": Self.page(body)]) == expected)
  }

  @Test(
    "What the page loads by a URL that depends on the route is found once, with how much else there is",
    arguments: [
      ("<script src=a.js></script><img src=b.png>", ["error route index.html:2:13: 1"]),
      ("<script src=/app/a.js></script><img src=/app/b.png>", []),
      ("<base href=/app/><script src=a.js></script><img src=b.png>", []),
      ("<base href=./><script src=a.js></script>", ["error route index.html:2:27: 0"]),
      ("<link rel=icon href=b.png><a href=x></a>", ["warning route index.html:2:21: 0"]),
      ("<script>document.write('<base href=\"/app/\">')</script><script src=a.js></script>", []),
    ] as [(String, [String])])
  func relative(_ body: String, _ expected: [String]) throws {
    for indexed in [false, true] {
      let files = ["index.html": Self.page(body), "a.js": "1", "b.png": "1"]
      #expect(try Self.findings(files, indexed: indexed) == expected, "index: \(indexed)")
    }
  }

  @Test("Relative URLs hold where deeper routes are left out, or the bundle has what they lead to")
  func shallow()
    throws
  {
    let page = Self.page("<script src=a.js></script>")
    #expect(try Self.findings(["index.html": page, "a.js": "1"], [("/app/", ["/app/*/*"])]) == [])
    #expect(try Self.findings(["index.html": page, "a.js": "1", "a/a.js": "1"]) == [])
    let above = try Self.findings(["index.html": page, "a.js": "1"], [("/", ["/app/*"])])
    #expect(above == ["error route index.html:2:13: 0"])
  }

  @Test("The longest prefix wins, then the page whose URL comes first; other origins and types don't count")
  func choice() throws {
    func page(_ url: String, _ prefixes: String..., ctype: String = "text/html;charset=UTF-8") throws
      -> (url: ResourceURL, ctype: String, fallbacks: PageFallbacks)
    {
      (try ResourceURL(url), ctype, try PageFallbacks(prefixes.map { try PageFallbacks.Rule(prefix: $0) }))
    }
    let pages = FallbackTable([
      try page("https://a.example/z.html", "/", "/app/"), try page("https://a.example/b.html", "/app/"),
      try page("https://a.example/c.html", "/app/c/"),
      try page("https://a.example/d.js", "/app/d/", ctype: "text/javascript"),
    ])
    for (url, expected) in [
      ("https://a.example/x", "https://a.example/z.html"),
      ("https://a.example/app/x?y", "https://a.example/b.html"),
      ("https://a.example/%61pp/c/1", "https://a.example/c.html"),
      ("https://a.example/app/d/1", "https://a.example/b.html"), ("https://b.example/app/x", nil),
      ("http://a.example/app/x", nil),
    ] {
      #expect(pages[try ResourceURL(url)]?.text == expected, "\(url)")
    }
  }

  @Test(
    "A router sets the path, and hears when the user goes back",
    arguments: [
      ("history.pushState(a,b,c);addEventListener('popstate',f)", true), ("history.pushState(a,b,c)", false),
      ("addEventListener('popstate',f)", false), ("", false),
      // Jison's lexers
      ("popState:function(){},pushState:function(c){this.begin(c)}", false),
    ])
  func routers(_ text: String, _ expected: Bool) {
    #expect(RouteText.hasRouter(Array(text.utf8)) == expected)
  }
}
