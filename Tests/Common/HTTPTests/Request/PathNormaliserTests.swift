import HTTP
import Testing
import TestSupport

@Suite struct PathNormaliserTests {
  static let cases: [(String, String)] = [
    ("/", "/"), ("/a/b", "/a/b"), ("//", "//"), ("/a//b", "/a//b"),
    ("/.", "/"), ("/./", "/"), ("/..", "/"), ("/../", "/"), ("/../../x", "/x"),
    ("/a/.", "/a/"), ("/a/..", "/"), ("/a/b/..", "/a/"), ("/a/b/../", "/a/"), ("/a/./b", "/a/b"),
    ("/a/../b", "/b"), ("/a/b/../../c", "/c"), ("/a/../../b", "/b"), ("/a//../b", "/a/b"),
    ("/...", "/..."), ("/.a", "/.a"), ("/..a/b", "/..a/b"), ("/a../b", "/a../b"), ("/a/.b.", "/a/.b."),
    ("/%2e", "/"), ("/%2E%2e/x", "/x"), ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b", "/b"), ("/a/%2e/b", "/a/b"),
    ("/%7Euser", "/~user"), ("/%41%5a%61%7A%30", "/AZaz0"), ("/%2D%5f", "/-_"),
    ("/%2f", "/%2f"), ("/a%2F..%2Fb", "/a%2F..%2Fb"), ("/..%2f..%2fetc", "/..%2f..%2fetc"),
    ("/%5c..%5C", "/%5c..%5C"), ("/%252e%252e/x", "/%252e%252e/x"), ("/%25", "/%25"),
    ("/https%253A%252F%252Fm.example.com%252Fa.js", "/https%253A%252F%252Fm.example.com%252Fa.js"),
    ("/%E4%BD%A0", "/%E4%BD%A0"), ("/a%20b", "/a%20b"), ("/%2e%2e%2e", "/..."),
  ]

  private func normalised(_ path: String) -> String {
    let text = ParsedRequest.describe("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
    return String(text.dropFirst(4).prefix { $0 != " " })
  }

  @Test(arguments: cases) func pathsAreNormalised(_ sent: String, _ wanted: String) {
    #expect(normalised(sent) == wanted)
  }

  @Test(arguments: cases) func normalisedPathsAreUnchanged(_ sent: String, _ wanted: String) {
    #expect(normalised(wanted) == wanted)
  }

  @Test func pathsStayBelowTheRoot() {
    var random = SplitMix(seed: 7)
    let parts = ["/", ".", "..", "%2e", "%2E", "%2f", "a", "%25", "%5c", "%252e", "//", "%41"]
    for _ in 0..<20_000 {
      var path = "/"
      for _ in 0..<(random.next() % 12) { path += parts[Int(random.next() % UInt64(parts.count))] }
      let result = normalised(path)
      #expect(result.hasPrefix("/"))
      let segments = result.split(separator: "/")
      #expect(!segments.contains(".") && !segments.contains(".."), "\(path) gave \(result)")
      #expect(normalised(result) == result, "\(path) gave \(result)")
    }
  }
}
