import Testing

@testable import BuildCheck

@Suite struct PageScannerTests {
  /// Pages, and the references in them: `kind text`, with a `?` if uncertain.
  static let cases: [(html: String, found: [String])] = [
    ("", []),
    ("<img src=a.png>", ["image a.png"]),
    ("<IMG SRC='a b.png' >", ["image a b.png"]),
    ("<img src = \"a.png\"/>", ["image a.png"]),
    ("<img src=a.png/>", ["image a.png/"]),
    ("<img/src=a.png>", ["image a.png"]),
    ("<img src=a.png src=b.png>", ["image a.png"]),
    ("<img alt='<script src=x.js>' src=a.png>", ["image a.png"]),
    ("<img alt=\"a > b\" src=a.png>", ["image a.png"]),
    ("<img data-src=a.png>", []),
    ("<img src>", ["image "]),
    ("<img src=a.png", []),
    ("< img src=a.png>", []),
    ("<!-- <img src=a.png> -->", []),
    ("<!--><img src=a.png>-->", ["image a.png"]),
    ("<!---><img src=a.png>", ["image a.png"]),
    ("<!-- --!><img src=a.png>", ["image a.png"]),
    ("<!-- - -- > <img src=a.png>", []),
    ("<!--[if IE]><script src=ie.js></script><![endif]-->", []),
    ("<![CDATA[<img src=a.png>]]>", []),
    ("<![CDATA[x><img src=a.png>]]>", ["image a.png"]),
    ("<svg><![CDATA[x><img src=a.png>]]></svg>", []),
    ("<?php echo '<img src=a.png>' ?>", []),
    ("</img src=a.png>", []),
    ("</ img src=a.png>", []),
    ("<title><img src=a.png></title><img src=b.png>", ["image b.png"]),
    ("<textarea><img src=a.png></TEXTAREA ><img src=b.png>", ["image b.png"]),
    ("<noscript><img src=a.png></noscript>", []),
    ("<iframe src=a.html><img src=b.png></iframe>", ["frame a.html"]),
    ("<plaintext><img src=a.png>", []),
    ("<style>body{background:url(a.png)} <img src=b.png></style>", ["styleURL a.png"]),
    ("<style>a{content:'</sty'}</style ><img src=b.png>", ["image b.png"]),
    ("<script>document.write('<img src=a.png>')</script>", []),
    ("<script>x = '</scripty>'; import('./a.js')</script>", ["dynamicImport ./a.js"]),
    ("<script><!-- <script> </script> <img src=a.png> --></script><img src=b.png>", ["image b.png"]),
    ("<script type=module>import './a.js'</script>", ["staticImport ./a.js"]),
    ("<script type=module src=a.js></script>", ["moduleScript a.js"]),
    ("<script src=a.js>import('./b.js')</script>", ["script a.js"]),
    ("<script type='text/javascript; charset=utf-8' src=a.js></script>", ["script a.js"]),
    ("<script type=text/template><img src=a.png></script>", []),
    ("<script type=text/x-handlebars src=a.hbs></script>", []),
    ("<script type=application/ld+json>{\"image\":\"a.png\"}</script>", []),
    ("<link rel=stylesheet href=a.css>", ["stylesheet a.css"]),
    ("<link rel='alternate stylesheet' href=a.css>", ["hint a.css"]),
    ("<link rel='SHORTCUT ICON' href=a.ico>", ["icon a.ico"]),
    ("<link rel=modulepreload href=a.js>", ["preload a.js"]),
    ("<link rel=manifest href=m.json>", ["appManifest m.json"]),
    ("<link rel=canonical href=/x>", []),
    ("<link rel=preconnect href=//fonts.example>", []),
    ("<a href='b.html#x'>b</a><area href=c.html>", ["link b.html#x", "link c.html"]),
    ("<a href='?a=1&amp;b=2&lt;=3&ampx'>", ["link ?a=1&b=2<=3&ampx"]),
    ("<a href='x&copy=1&#46;html&#x2E;&sol;'>", ["link x&copy=1.html./"]),
    ("<a href='caf&eacute;.html'>", []),
    ("<meta http-equiv=refresh content='0; URL=\"next.html\"'>", ["link next.html"]),
    (
      "<img srcset='a.png, b.png 2x,c.png 3x , d.png'>",
      ["image a.png", "image b.png", "image c.png", "image d.png"]
    ),
    (
      "<img srcset='data:image/png;base64,AA== 1x, b.png 2x'>",
      ["image data:image/png;base64,AA==", "image b.png"]
    ),
    ("<source srcset='a.webp 100w'><source src=b.mp4>", ["media b.mp4", "image a.webp"].reversed()),
    ("<video src=a.mp4 poster=b.jpg></video>", ["media a.mp4", "image b.jpg"]),
    ("<object data=a.svg></object><embed src=b.pdf>", ["frame a.svg", "frame b.pdf"]),
    ("<svg><use xlink:href=s.svg#i /><image href=a.png /></svg>", ["image s.svg#i", "image a.png"]),
    ("<svg><title><img src=a.png></title></svg>", ["image a.png"]),
    ("<div style='background:url(&quot;a.png&quot;)'>", ["styleURL a.png"]),
    ("<div style=\"background:url('a.png')\">", ["styleURL a.png"]),
    ("<template><img src=a.png></template><img src=b.png>", ["image a.png?", "image b.png"]),
    ("<div\u{0}><img\tsrc=a.png\n>", ["image a.png"]),
  ]

  @Test(arguments: 0..<cases.count) func references(index: Int) {
    let (html, found) = Self.cases[index]
    #expect(
      PageScanner.content(Array(html.utf8)).references.map(\.shown).sorted() == found.sorted(), "\(html)")
  }

  @Test(arguments: [
    ("<meta charset=utf-8>", true), ("<p>", false), ("\u{FEFF}<p>", true),
    ("<meta http-equiv='Content-Type' content='text/html; charset=gbk'>", true),
    ("<!-- <meta charset=utf-8> -->", false),
    (String(repeating: " ", count: 1100) + "<meta charset=utf-8>", false),
  ]) func charset(html: String, says: Bool) {
    #expect(PageScanner.content(Array(html.utf8)).saysCharset == says, "\(html.suffix(80))")
  }

  @Test func documentsAndPieces() {
    #expect(PageScanner.content(Array("<!DOCTYPE html><p>".utf8)).isDocument)
    #expect(PageScanner.content(Array("<body><p>".utf8)).isDocument)
    #expect(!PageScanner.content(Array("<p><img src=a.png>".utf8)).isDocument)
  }

  @Test(arguments: [
    "<base href='{{ root }}'>", "<script>document.write('<base href=\"' + x + '\">')</script>",
    "<script>document.createElement(\"base\")</script>",
  ]) func basesSetByAScript(html: String) {
    #expect(PageScanner.content(Array(html.utf8)).hasUnknownBase)
  }

  @Test func firstBaseCounts() {
    let content = PageScanner.content(Array("<base target=x><base href=/a/><base href=/b/>".utf8))
    #expect(content.base?.text == "/a/" && !content.hasUnknownBase)
  }

  @Test func places() {
    let html = Array("<p>é\n<img srcset='a.png, b.png 2x'>".utf8)
    let found = PageScanner.content(html).references.map { TextPosition(of: $0.at, in: html) }
    #expect(found.map(\.line) == [2, 2] && found.map(\.column) == [14, 21])
    #expect(TextPosition(of: 6, in: Array("éé\né".utf8)).column == 2)
  }
}

extension Reference {
  /// The form used in the tables.
  var shown: String { "\(kind) \(text)\(isCertain ? "" : "?")" }
}
