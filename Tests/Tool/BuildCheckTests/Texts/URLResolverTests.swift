import Testing
import Values

@testable import BuildCheck

@Suite struct URLResolverTests {
  private static let cases: [(text: String, url: String?)] = [
    ("x.js", "https://m.example.com/a/x.js"),
    ("./x.js", "https://m.example.com/a/x.js"),
    ("../x.js", "https://m.example.com/x.js"),
    ("../../../x.js", "https://m.example.com/x.js"),
    ("/x.js", "https://m.example.com/x.js"),
    ("//cdn.example.com/x.js", "https://cdn.example.com/x.js"),
    ("\\x.js", "https://m.example.com/x.js"),
    ("b\\x.js", "https://m.example.com/a/b/x.js"),
    ("?q=1", "https://m.example.com/a/b.html?q=1"),
    ("x.js?v=1#f", "https://m.example.com/a/x.js?v=1"),
    ("b c.js", "https://m.example.com/a/b%20c.js"),
    (" x\n.js\t", "https://m.example.com/a/x.js"),
    ("HTTP://Other.example/x.js", "http://other.example/x.js"),
    ("a:b.js", nil), ("#top", nil), ("", nil), ("data:text/css,x", nil), ("javascript:void(0)", nil),
    ("mailto:a@b", nil), ("https:x.js", nil), ("https://", nil), ("blob:https://m.example.com/1", nil),
    ("./a:b.js", "https://m.example.com/a/a:b.js"),
    ("1:b.js", "https://m.example.com/a/1:b.js"),
  ]

  @Test(arguments: 0..<cases.count) func resolves(index: Int) throws {
    let (text, url) = Self.cases[index]
    let resolver = URLResolver(base: try ResourceURL("https://m.example.com/a/b.html?p#f"))
    var found: String?
    if case .url(let target) = resolver.resolve(text) { found = target.text }
    #expect(found == url, "\(text)")
  }

  @Test(arguments: [
    ("{{ static }}/x.js", true), ("<%= x %>.js", true), ("${base}/x.js", true), ("%PUBLIC_URL%/x.js", true),
    ("__PUBLIC_PATH__/x.js", true), ("{file}.js", true), ("{% static 'x.js' %}", true),
    ("src/%s", true), ("' + x + '.js", true), ("~/x.css", true), ("@Url.x", true), ("%BASE%/x.js", true),
    ("$root/x.js", true), ("[[x]].js", true), ("50%.png", true), ("__a__.js", false), ("a%20b%2Fc.js", false),
    ("a%AB%CD.js", false), ("__init__.js", false), ("_next/static/x.js", false),
    ("a$b.js", false), ("[id].js", false), ("x.js", false), ("%E4%BD%A0.js", false),
  ]) func placeholders(text: String, isOne: Bool) {
    #expect(Placeholder.isIn(text) == isOne, "\(text)")
  }
}
