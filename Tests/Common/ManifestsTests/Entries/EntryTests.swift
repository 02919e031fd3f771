import Manifests
import Testing
import Values

@Suite struct EntryTests {
  static let text = """
    {"ctype":"application/javascript;charset=UTF-8","download":"https://cdn.example.com/x/1/https%253A",\
    "md5":"0518c371936fd611fc3b897a76c11111",\
    "sha256":"cb71c52abf851f6ed634144a40500112cb71c52abf851f6ed634144a40500112","size":43121,"version":"1"}
    """

  @Test func entriesRoundTrip() throws {
    let entry = try Entry(parsing: Array(Self.text.utf8))
    #expect(entry.size == 43121)
    #expect(entry.version == 1)
    #expect(entry.others.isEmpty)
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == Self.text)
    #expect(entry.json.canonical == entry.canonicalJSON)
  }

  @Test func membersOfLaterVersionsAreKept() throws {
    let text = Self.text.dropLast() + ",\"w\":{\"a\":1.50}}"
    let entry = try Entry(parsing: Array(text.utf8))
    #expect(String(decoding: entry.canonicalJSON, as: UTF8.self) == text)
  }

  @Test(arguments: [
    ("43121", "\"43121\"", "size"), ("43121", "-1", "size"), ("43121", "1e3", "size"),
    ("43121", "9223372036854775808", "size"), ("\"1\"", "1", "version"), ("\"1\"", "\"01\"", "version"),
    ("\"1\"", "\"0\"", "version"), ("0518c", "0518C", "md5"), ("cb71", "b71", "sha256"),
    ("\"download\"", "\"upload\"", "download"), ("javascript;", "javascript\\r\\n;", "ctype"),
  ])
  func invalidMembersAreRefused(_ part: String, _ replacement: String, _ member: String) throws {
    let range = try #require(Self.text.firstRange(of: part))
    let text = Self.text.replacingCharacters(range, with: replacement)
    #expect(throws: JSONError.member(member)) { try Entry(parsing: Array(text.utf8)) }
  }

  @Test(arguments: [
    ("text/html", "text/html"), (" Text/HTML ; Charset=UTF-8", "text/html;charset=UTF-8"),
    ("text/html;", "text/html"), ("a/b;c=\"d;e\\\"\";f=g", "a/b;c=\"d;e\\\"\";f=g"),
  ])
  func contentTypes(_ header: String, _ expected: String) {
    #expect(ContentType(header)?.text == expected)
  }

  @Test(arguments: [
    "", "text", "text/", "/html", "text/html x", "text/html;a", "text/html;a=", "te xt/html",
    "text/html;a=\"b", "text/html\r\nX: y", "text/é", "text/html;a=\"\u{7F}\"",
    "a/" + String(repeating: "b", count: 254),
  ])
  func invalidContentTypesAreRefused(_ header: String) {
    #expect(ContentType(header) == nil)
  }

  @Test(arguments: [
    ("a.js", "application/javascript;charset=UTF-8", true), ("A.CSS", "text/css;charset=UTF-8", true),
    ("a.min.map", "application/json;charset=UTF-8", true), ("a.svg", "image/svg+xml;charset=UTF-8", true),
    ("a.png", "image/png", false), ("a.woff2", "font/woff2", false), ("a.ttf", "font/ttf", true),
    ("a.wasm", "application/wasm", true), ("a.mp4", "video/mp4", false),
    ("js", "application/octet-stream", false),
    ("a.", "application/octet-stream", false), ("a.unknown", "application/octet-stream", false),
  ])
  func contentTypesOfFiles(_ name: String, _ type: String, _ isCompressible: Bool) {
    #expect(ContentType.of(fileName: name).text == type)
    #expect(ContentType.of(fileName: name).isCompressible == isCompressible)
    #expect(ContentType(type)?.text == type)
  }

  @Test func contentsRoundTrip() throws {
    let text = """
      {"ctype":"text/css","md5":"0518c371936fd611fc3b897a76c11111",\
      "sha256":"cb71c52abf851f6ed634144a40500112cb71c52abf851f6ed634144a40500112","size":0}
      """
    let content = try ResourceContent(json: JSONValue.parse(Array(text.utf8)))
    #expect(String(decoding: content.json.canonical, as: UTF8.self) == text)
    #expect(throws: JSONError.member("md5")) { try ResourceContent(json: ["ctype": "x"]) }
  }
}
