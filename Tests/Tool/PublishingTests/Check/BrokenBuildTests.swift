import BuildCheck
import Manifests
import Testing
import TestSupport
import Values

@testable import Publishing

/// Broken builds with all of their findings, in Tests/Golden/broken-builds.txt, and intact builds, which have none.
@Suite struct BrokenBuildTests {
  struct Build {
    let name: String
    let files: [String: String]
    var base = "https://m.example.com/shop/"
    var exclude: [String] = []
    var options = CheckOptions.all

    init(
      _ name: String, base: String = "https://m.example.com/shop/", exclude: [String] = [],
      checks options: CheckOptions = .all, _ files: [String: String]
    ) {
      self.name = name
      self.base = base
      self.exclude = exclude
      self.options = options
      self.files = files
    }
  }

  private static func page(_ body: String) -> String {
    "<!doctype html>\n<meta charset=\"utf-8\">\n\(body)\n"
  }

  private static let broken: [Build] = [
    Build(
      "a script that isn't there", ["index.html": page("<p>\n  <script src=\"assets/app.js\"></script>")]),
    Build(
      "a style sheet in other letters",
      ["index.html": page("<link rel=stylesheet href=assets/App.css>"), "assets/app.css": "a{}"]),
    Build("a folder in other letters", ["index.html": page("<img src=Img/a.png>"), "img/a.png": "x"]),
    Build(
      "an image that is missing three times",
      ["index.html": page("<img src=a.png>\n<img src=./a.png srcset='a.png 2x'>")]),
    Build(
      "a module that imports what isn't there",
      [
        "index.html": page("<script type=module src=app.js></script>"),
        "app.js": "import {a} from './lib.js'\na()",
      ]),
    Build(
      "a chunk that is loaded later and isn't there",
      [
        "index.html": page("<script type=module src=a.js></script>"), "a.js": "import './b.js'",
        "b.js": "export const c = () => import(\"./chunk.3f1c.js\")",
      ]),
    Build(
      "a style sheet that a later import needs",
      [
        "index.html": page("<script type=module src=js/a.js></script>"),
        "js/a.js":
          "const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=[\"./a.js\",\"../css/b.css\"])))=>i.map(i=>d[i])",
        "css/a.css": "@font-face{src:url(x.woff2),url(y.woff),url(z.ttf)}", "css/y.woff": "x",
      ]),
    Build(
      "a module named without its ending",
      [
        "index.html": page("<script type=module src=app.js></script>"), "app.js": "import './lib'\n",
        "lib.js": "1",
      ]),
    Build("the same where no page loads it", ["app.js": "import './lib.js'\nimport('./x')", "x.js": "1"]),
    Build(
      "an import by a bare name in a page", ["index.html": page("<script type=module>import 'vue'</script>")]),
    Build(
      "a style sheet that imports another and an image",
      [
        "a.css": "@import \"b.css\";\n\n.x {\n  background: url(img/x.png);\n}"
      ]),
    Build(
      "a font of which no alternative is there",
      [
        "a.css":
          "@font-face{src:url(f.eot);src:url(f.eot?#iefix) format('embedded-opentype'),url(f.woff2),url(f.woff)}"
      ]),
    Build(
      "a font that is asked for with a query",
      [
        "a.css": "@font-face{src:url(f.woff2?v=4.7.0),url(f.woff?v=4.7.0)}", "f.woff2": "x", "f.woff": "x",
      ]),
    Build(
      "a page built for the host's root",
      [
        "index.html": page("<script src=/assets/app.js></script><link rel=stylesheet href=/assets/app.css>"),
        "assets/app.js": "1", "assets/app.css": "a{}",
      ]),
    Build(
      "a page whose base the server would replace",
      ["index.html": page("<script src=/BASE_PLACEHOLDER/assets/app.js></script>"), "assets/app.js": "1"]),
    Build(
      "a page built for another folder",
      [
        "index.html": page("<script src=static/assets/app.js></script>"), "assets/app.js": "1",
      ]),
    Build(
      "a base that leads astray",
      [
        "help/index.html": page("<base href=/shop/old/>\n<script src=app.js></script>"), "help/app.js": "1",
      ]),
    Build(
      "an excluded file that is needed", exclude: ["*.png"],
      ["index.html": page("<img src=a.png>"), "a.png": "x"]),
    Build("an empty index page", ["index.html": "", "assets/logo.svg": ""]),
    Build(
      "an empty page that another links, and an empty script",
      [
        "index.html": page("<a href=help.html>help</a><script src=a.js></script>"), "help.html": "",
        "a.js": "",
        "piece.html": "", ".nojekyll": "",
      ]),
    Build("a page without a charset", ["index.html": "<!doctype html>\n<title>x</title>"]),
    Build(
      "http inside https",
      [
        "index.html": page(
          "<script src=http://cdn.example.com/a.js></script>\n<img src=http://cdn.example.com/a.png>\n"
            + "<script src=http://localhost:3000/dev.js></script><a href=http://other.example/>x</a>"),
        "a.css": "@import url(http://cdn.example.com/b.css);",
      ]),
    Build(
      "names that break in URLs",
      [
        "a b.png": "x", "50%.png": "x", "what?.png": "x", "c#.js": "1", "d\\e.css": "a{}", "f\u{1}.txt": "x",
        "é.png": "x",
      ]),
    Build("two names in different letters", ["img/Logo.png": "x", "img/logo.png": "y"]),
    Build(
      "links to pages that aren't there",
      [
        "index.html": page("<a href=about.html>a</a><a href=/shop/route/1>b</a><a href=help/>c</a>")
      ]),
    Build(
      "icons and hints that aren't there",
      [
        "index.html": page(
          "<link rel=icon href=favicon.ico><link rel=manifest href=app.webmanifest><link rel=modulepreload href=x.js>"
        )
      ]),
    Build(
      "a web app manifest with wrong addresses",
      [
        "app.webmanifest": "{\"start_url\": \"start.html\",\n \"icons\": [{\"src\": \"icon-192.png\"}]}"
      ]),
    Build("a web app manifest that is none", ["app.webmanifest": "<!doctype html>"]),
    Build(
      "source maps that are missing or none",
      [
        "a.js": "1\n//# sourceMappingURL=a.js.map", "b.js": "1\n//# sourceMappingURL=b.js.map",
        "c.js": "1\n//# sourceMappingURL=c.js.map", "c.js.map": "<html>",
      ]),
    Build(
      "dead weight",
      [
        "a.js": "1", "a.js.map": "{}", "a.js.gz": "zz", "a.js.br": "zzz", "data.gz": "kept", "._a.js": "x",
        "Thumbs.db": "x", "a.js~": "1", "b.css.orig": "a{}",
      ]),
    Build(
      "pieces and templates, of which nothing is certain",
      [
        "piece.html": "<img src=a.png>", "index.html": page("<template><img src=b.png></template>"),
      ]),
    Build(
      "a script that can't be read as one",
      [
        "index.html": page("<script type=module src=a.js></script>"), "a.js": "x = 'open\nimport('./b.js')",
      ]),
    Build(
      "names at the host's root", base: "https://m.example.com/", ["index.html": page("<img src=/img/a.png>")]
    ),
    Build("a server's answers", ["index.html": page("<img src=captcha><script src=config.php></script>")]),
    Build(
      "rules that are off", checks: CheckOptions(off: [.charset, .missing]),
      ["index.html": "<html><img src=a.png><img src=A.html>"]),
    Build(
      "references that are ignored",
      checks: CheckOptions(ignore: ["old/*", "*.gif"].compactMap { Glob($0) }),
      ["index.html": page("<img src=old/a.png><img src=x/b.gif><img src=new/a.png>")]),
  ]

  private static let whole: [Build] = [
    Build(
      "a build of today's bundlers",
      [
        "index.html": page(
          """
          <link rel="icon" href="./favicon.png"><script type="module" crossorigin src="./assets/index-3f1c.js"></script>
          <link rel="stylesheet" crossorigin href="./assets/index-81d2.css"><div id="root"></div>
          """),
        "favicon.png": "x",
        "assets/index-3f1c.js":
          "const __vite__mapDeps=(i,m=__vite__mapDeps,d=(m.f||(m.f=[\"./gone.js\"])))=>i.map(i=>d[i]);"
          + "p(()=>import(\"./b-1.js\"),__vite__mapDeps([0]),import.meta.url);new URL(\"\"+new URL(\"a.svg\",import.meta.url).href)",
        "assets/b-1.js": "import{a as b}from\"./index-3f1c.js\";export{b as default};",
        "assets/a.svg": "<svg/>",
        "assets/index-81d2.css":
          "@font-face{src:url(data:font/woff2;base64,AA==)}a{background:url(./a.svg#x)}",
      ]),
    Build(
      "addresses elsewhere",
      [
        "index.html": page(
          "<script src=https://cdn.example.com/x.js></script><img src=//other.example/x.png><img src=/shopping/x.png>"
            + "<img src=data:,x><a href=javascript:x()>y</a><a href=mailto:a@b.example>z</a><img src=''><a href='?p=2'>"
            + "<img src=blob:x><img src=about:blank><a href='tel:1'>t</a><img src='#x'>")
      ]),
    Build(
      "placeholders",
      [
        "index.html": page(
          "<script src='{{ root }}app.js'></script><script src='<%= a %>'></script><img src='%PUBLIC_URL%/a.png'>"
            + "<img src='__BASE__/a.png'><img src=\"${x}.png\">")
      ]),
    Build(
      "a base that only a script knows",
      [
        "index.html": page(
          "<script>document.write('<base href=\"' + root + '\">')</script><script src=app.js></script>")
      ]),
    Build(
      "a base elsewhere",
      ["index.html": page("<base href=https://cdn.example.com/app/><script src=a.js></script>")]),
    Build(
      "an import map",
      [
        "index.html": page(
          "<script type=importmap>{\"imports\":{\"vue\":\"./vue.js\",\"lib/\":\"./l/\"}}</script>"
            + "<script type=module>import 'vue'; import 'lib/a.js'</script>"), "vue.js": "1",
      ]),
    Build(
      "a font whose first alternative is there",
      [
        "a.css": "@font-face{src:url(f.eot);src:url(f.eot?#iefix),url(f.woff2),url(f.woff),url(f.svg#f)}",
        "f.woff2": "x",
        "b.css":
          "@font-face{src:url({{a}}),url(g.woff)}@font-face{src:url(data:font/woff2;base64,AA),url(h.woff)}",
      ]),
    Build(
      "names with escapes",
      [
        "index.html": page(
          "<img src='a%20b.png'><img src='c&amp;d.png'><img src=%E4%BD%A0.png><img src='img/../%7Ex.png'>"),
        "a b.png": "x", "c&d.png": "x", "你.png": "x", "~x.png": "x",
      ]),
    Build(
      "sources for a bundler", ["lib/a.js": "import {b} from './b'; import c from 'react'", "lib/b.js": "1"]),
    Build(
      "text that is no reference",
      [
        "a.js":
          "x='import \"./gone.js\"';y=/import '.\\/gone.js'/;// import './gone.js'\n`import './gone.js'`",
        "a.css": "/* url(gone.png) */ a{content:'url(gone.png)'}",
        "index.html": page(
          "<!-- <img src=gone.png> --><script>x='<img src=gone.png>'</script><textarea><img src=gone.png></textarea>"
        ),
      ]),
    Build(
      "a folder's index",
      ["index.html": page("<a href=help/>h</a><iframe src=help/></iframe>"), "help/index.html": page("")]),
  ]

  /// All findings, with files named relative to the build's folder.
  private func report(_ build: Build) throws -> [String] {
    let folder = try Scratch()
    for (name, text) in build.files { try folder.write("b/\(name)", text) }
    let bundle = BundleSource(
      try BundleName("main"),
      folders: [.init("\(folder.path)/b", baseURL: try BaseURL(build.base))],
      filter: FileFilter(exclude: build.exclude.compactMap { Glob($0) }))
    let report = try LocalCheck.report([bundle], build.options)
    #expect(report.errors + report.warnings == report.findings.count && report.files <= build.files.count)
    return report.findings.map { finding in
      finding.text.hasPrefix(folder.path)
        ? String(finding.text.dropFirst(folder.path.utf8.count + 3)) : finding.text
    }
  }

  @Test func messages() throws {
    var text = ""
    for build in Self.broken {
      let findings = try report(build)
      if build.name != "rules that are off" { #expect(!findings.isEmpty, "\(build.name)") }
      text += "# \(build.name)\n" + findings.map { "\($0)\n" }.joined() + "\n"
    }
    #expect(try Golden.differences(text, "broken-builds.txt") == [])
  }

  @Test(arguments: 0..<whole.count) func intactBuildHasNoFindings(index: Int) throws {
    let build = Self.whole[index]
    // Names with spaces have to be escaped in URLs, and these are warned of as template expressions.
    let others = ["[name]", "[template]"]
    #expect(
      try report(build).filter { line in !others.contains { line.hasSuffix($0) } } == [], "\(build.name)")
  }

  @Test func bundlesOfOneReleaseAndOthers() throws {
    let folder = try Scratch()
    try folder.write(
      "a/index.html", Self.page("<script src=../b/app.js></script><script src=../c/app.js></script>"))
    try folder.write("b/app.js", "1")
    let bundles = try ["a", "b"].map { name in
      BundleSource(
        try BundleName(name),
        folders: [.init("\(folder.path)/\(name)", baseURL: try BaseURL("https://m.example.com/\(name)"))])
    }
    #expect(try LocalCheck.report(bundles).findings.isEmpty)
    var root = [bundles[0]]
    root[0].folders = [.init("\(folder.path)/a", baseURL: try BaseURL("https://m.example.com"))]
    #expect(try LocalCheck.report(root).errors == 2)
    var options = CheckOptions.all
    options.others = [try BaseURL("https://m.example.com/b"), try BaseURL("https://m.example.com/c/")]
    #expect(try LocalCheck.report(root, options).findings.isEmpty)
  }
}
