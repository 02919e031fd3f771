import Testing

@testable import Values

@Suite struct URLMappingTests {
  @Test(arguments: [
    ("https://a", "b.js", "https://a/b.js"), ("https://a/", "b.js", "https://a/b.js"),
    ("https://a/x", "y/z.js", "https://a/x/y/z.js"), ("https://A/x/", "y", "https://a/x/y"),
    ("https://a/x", "", "https://a/x/"), ("https://a/x", "y/", "https://a/x/y/"),
    ("https://a", "100%.txt", "https://a/100%25.txt"), ("https://a", "%2e%2e/b", "https://a/%252e%252e/b"),
    ("https://a", "what?#.js", "https://a/what%3F%23.js"), ("https://a", "b\\c", "https://a/b%5Cc"),
    ("https://a", "é 日.js", "https://a/%C3%A9%20%E6%97%A5.js"), ("https://a", "b\tc\n", "https://a/b%09c%0A"),
    ("https://a", "a&b=c+d;e'(f)!$,@:~[]|^{}", "https://a/a&b=c+d;e'(f)!$,@:~[]|%5E%7B%7D"),
    ("https://a", "...", "https://a/..."),
  ])
  func filePathsAreMapped(_ base: String, _ path: String, _ expected: String) throws {
    #expect(try ResourceURL.mapping(base: BaseURL(base), path: path).text == expected)
  }

  @Test(arguments: ["a//b", "/a", "a/./b", "a/..", ".", ".."])
  func invalidPathsAreRefused(_ path: String) throws {
    let base = try BaseURL("https://a")
    #expect(throws: ResourceURLError(text: path, problem: .path)) {
      try ResourceURL.mapping(base: base, path: path)
    }
  }

  @Test func pathsThatAreNotUTF8AreRefused() throws {
    let base = try BaseURL("https://a")
    #expect(throws: ResourceURLError(text: "caf\u{FFFD}.js", problem: .pathNotUTF8)) {
      try ResourceURL.mapping(base: base, path: Array("caf".utf8) + [0xE9] + Array(".js".utf8))
    }
  }

  @Test(
    arguments: [
      ("m.example.com", .relative), ("https://a/?", .baseWithQuery), ("https://a/#", .baseWithQuery),
      ("ftp://a", .scheme("ftp")),
    ] as [(String, ResourceURLError.Problem)])
  func invalidBasesAreRefused(_ text: String, _ problem: ResourceURLError.Problem) {
    #expect(throws: ResourceURLError(text: text, problem: problem)) { try BaseURL(text) }
  }

  @Test(arguments: [
    ("https://a", "https://a", ""), ("https://a/", "https://a", ""),
    ("https://a/b/c/", "https://a/b/c", "/b/c"),
  ])
  func bases(_ text: String, _ expected: String, _ path: String) throws {
    #expect(try BaseURL(text).text == expected)
    #expect(try BaseURL(text).path == path)
  }

  @Test(arguments: [
    ("https://a/b%41c", "https://a/bAc"), ("https://a/b%7e", "https://a/b~"),
    ("https://a/b#c", "https://a/b"),
    ("https://a/%25%2F%3f%23%5C%26%3D%2b%3B", "https://a/%25%2F%3f%23%5C%26%3D%2b%3B"),
    ("https://a/%2541", "https://a/%2541"), ("https://a/b c", "https://a/b c"),
    ("https://a/b?%20%27'", "https://a/b? ''"), ("https://a/%C3%A9%7f%1f", "https://a/%C3%A9%7f%1f"),
    ("https://a/%c3", "https://a/%c3"), ("https://a/%4%zz%", "https://a/%4%zz%"),
    ("https://a/%%34%31", "https://a/%41"),
  ])
  func matchKeys(_ text: String, _ key: String) throws {
    #expect(try ResourceURL(text).matchKey == key)
  }
}
