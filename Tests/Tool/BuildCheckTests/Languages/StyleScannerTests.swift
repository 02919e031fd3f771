import Testing

@testable import BuildCheck

@Suite struct StyleScannerTests {
  static let cases: [(css: String, found: [String])] = [
    ("a{b:url(x.png)}", ["styleURL x.png"]),
    ("a{b:URL( 'x y.png' )}", ["styleURL x y.png"]),
    ("a{b:url(\"x.png\")url(y.png)}", ["styleURL x.png", "styleURL y.png"]),
    ("a{b:url(x\\29 y.png)}", ["styleURL x)y.png"]),
    ("a{b:url(x\\).png)}", ["styleURL x).png"]),
    ("a{b:url('x\\\ny.png')}", ["styleURL xy.png"]),
    ("/* url(x.png) */", []),
    ("/* a */ b{c:url(x.png)}", ["styleURL x.png"]),
    ("a{content:'url(x.png)'}", []),
    ("a{content:\"\\\"url(x.png)\"}", []),
    ("a{b:my-url(x.png)}", []),
    ("a{b:url (x.png)}", []),
    ("@import 'x.css';", ["styleImport x.css"]),
    ("@IMPORT url(x.css) screen;", ["styleImport x.css"]),
    ("@import url('x.css');a{b:url(y.png)}", ["styleImport x.css", "styleURL y.png"]),
    ("@charset 'x.css';", []),
    ("@namespace svg url(x.svg);a{b:url(y.png)}", ["styleURL y.png"]),
    ("@important 'x.css';", []),
    ("a{b:image-set('x.png' 1x, url(y.png) 2x type('image/png'))}", ["styleURL x.png", "styleURL y.png"]),
    ("a{b:-webkit-image-set('x.png' 1x)}", ["styleURL x.png"]),
    ("a{b:url('x.png\n);c:url(y.png)}", ["styleURL y.png"]),
    ("a{b:url(x.htc)}", ["styleURL x.htc?"]),
    ("@font-face{src:url(x.eot?#iefix),url(x.woff2)}", ["styleURL x.eot?#iefix?", "styleURL x.woff2"]),
    ("a{--x:url(y.png)}", ["styleURL y.png"]),
    ("a{b:url(x.png", ["styleURL x.png"]),
    ("a{b:url(", ["styleURL "]),
    ("a{b:'", []),
    ("/*# sourceMappingURL=x.css.map */", ["sourceMap x.css.map"]),
    ("a\\", []),
    ("a{b:url(\\", ["styleURL "]),
  ]

  @Test(arguments: 0..<cases.count) func references(index: Int) {
    let (css, found) = Self.cases[index]
    #expect(StyleScanner.references(Array(css.utf8)).map(\.shown) == found, "\(css)")
  }

  @Test func alternativesOfAFontAreOneGroup() {
    let css = "@font-face{src:url(a.eot);src:url(a.woff2),url(a.woff)}b{c:url(d.png)}"
    let groups = StyleScanner.references(Array(css.utf8)).map(\.group)
    #expect(groups.count == 4 && groups[1] == groups[2] && groups[0] != groups[1] && groups[3] == nil)
  }
}
