import Testing
import TestSupport

@testable import Values

@Suite struct ResourceURLTests {
  @Test(arguments: [
    ("https://m.example.com/ares/0518c3.js", "https://m.example.com/ares/0518c3.js"),
    ("HTTPS://M.Example.COM", "https://m.example.com/"),
    ("http://a:80/", "http://a/"), ("http://a:443/", "http://a:443/"), ("https://a:0443/", "https://a/"),
    ("https://a:/x", "https://a/x"), ("https://a:08080/x", "https://a:8080/x"),
    ("https:a/b", "https://a/b"), ("https:\\\\a\\b\\c", "https://a/b/c"), ("https:////a/b", "https://a/b"),
    ("  https://a/b \u{1}", "https://a/b"),
    ("https://a/b/../c", "https://a/c"), ("https://a/../../c", "https://a/c"),
    ("https://a/b/.", "https://a/b/"),
    ("https://a/b/..", "https://a/"), ("https://a/b/%2E%2e/c", "https://a/c"),
    ("https://a/b/.%2e", "https://a/"),
    ("https://a/%2e/c", "https://a/c"), ("https://a//b//", "https://a//b//"),
    ("https://a/...", "https://a/..."),
    ("https://a/%2e%2e%2e", "https://a/%2e%2e%2e"), ("https://a//..", "https://a/"),
    ("https://a/b c\"<>^`{}|'", "https://a/b%20c%22%3C%3E%5E%60%7B%7D|'"),
    ("https://a/?b c\"<>^`{}|'\\/../", "https://a/?b%20c%22%3C%3E^`{}|%27\\/../"),
    ("https://a/é\u{7F}\u{1}x", "https://a/%C3%A9%7F%01x"), ("https://a/?é", "https://a/?%C3%A9"),
    ("https://a/%zz%4a%4A%", "https://a/%zz%4a%4A%"), ("https://a/b#c?d", "https://a/b"),
    ("https://a/b?c#d", "https://a/b?c"), ("https://a/b?#", "https://a/b?"), ("https://a?b", "https://a/?b"),
    ("https://%61.Com/", "https://a.com/"), ("https://xn--BCHER-kva.de/", "https://xn--bcher-kva.de/"),
    ("https://127.0.0.1/", "https://127.0.0.1/"), ("https://127.1/", "https://127.0.0.1/"),
    ("https://0x7F.0.0.01/", "https://127.0.0.1/"), ("https://2130706433/", "https://127.0.0.1/"),
    ("https://1.2.3.4./", "https://1.2.3.4/"), ("https://0x/", "https://0.0.0.0/"),
    ("https://1.2.3.com/", "https://1.2.3.com/"),
    ("https://[::1]/", "https://[::1]/"), ("https://[1:0:0:2:0:0:0:3]/", "https://[1:0:0:2::3]/"),
    ("https://[2001:DB8:0:1:1:1:1:1]:8443/", "https://[2001:db8:0:1:1:1:1:1]:8443/"),
    ("https://[::ffff:1.2.3.4]/", "https://[::ffff:102:304]/"), ("https://[::]/", "https://[::]/"),
    ("https://[1::]/", "https://[1::]/"), ("https://[1:2:3:4:5:6:7::]/", "https://[1:2:3:4:5:6:7:0]/"),
  ])
  func canonicalForm(_ text: String, _ expected: String) throws {
    let url = try ResourceURL(text)
    #expect(url.text == expected)
    #expect(try ResourceURL(url.text) == url)
  }

  /// The fast path for plain URLs gives what the parser gives, and refuses what the parser refuses.
  @Test(arguments: [UInt64(25), 26, 27]) func plainURLsAgreeWithTheParser(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var plain = 0
    for _ in 0..<20_000 {
      let text = HostileURLs.next(&random)
      plain += PlainURL.isPlain(text) ? 1 : 0
      let given = Result { () throws(ResourceURLError) -> [String] in
        let url = try ResourceURL(text)
        return [url.text, String(url.path), url.query.map { String($0) } ?? "-"]
      }
      let parsed = Result { () throws(ResourceURLError) -> [String] in
        var parser = URLTextParser(text)
        let parsed = try parser.parse()
        let bytes = Array(parsed.text.utf8)
        let query = bytes[parsed.path.upperBound...]
        return [
          parsed.text, String(decoding: bytes[parsed.path], as: UTF8.self),
          query.isEmpty ? "-" : String(decoding: query.dropFirst(), as: UTF8.self),
        ]
      }
      #expect(given == parsed, "\(text.debugDescription)")
    }
    // Both paths are taken often enough.
    #expect(plain > 2000 && plain < 18_000, "\(plain) of 20,000")
  }

  @Test func plainURLsHaveTheSameLengthLimit() throws {
    for count in [ResourceURL.limit - 1, ResourceURL.limit, ResourceURL.limit + 1] {
      let text = "https://a.b/" + String(repeating: "c", count: count - 12)
      #expect(PlainURL.isPlain(text) == (count <= ResourceURL.limit))
      #expect((try? ResourceURL(text))?.text == (count <= ResourceURL.limit ? text : nil))
    }
  }

  @Test(
    arguments: [
      ("", .relative), ("m.example.com/a", .relative), ("/a", .relative), ("//a/b", .relative),
      ("ftp://a/", .scheme("ftp")), ("localhost:8080/a", .scheme("localhost")),
      ("file:///a", .scheme("file")),
      ("https://a/\tb", .lineBreak), ("https://a/b\n", .lineBreak), ("https://u@a/", .userinfo),
      ("https://u:p@a/", .userinfo), ("https://@a/", .userinfo), ("https://", .noHost),
      ("https://:80/", .noHost),
      ("https:///?a", .noHost), ("https://bücher.de/", .hostNotASCII), ("https://a%C3%A9/", .hostNotASCII),
      ("https://a b/", .hostByte(0x20)), ("https://a%2Fb/", .hostByte(0x2F)),
      ("https://a<b/", .hostByte(0x3C)),
      ("https://a%/", .hostByte(0x25)), ("https://1.2.3.256/", .ipv4), ("https://1.2.3.4.5/", .ipv4),
      ("https://1..2/", .ipv4), ("https://a.0x1/", .ipv4), ("https://4294967296/", .ipv4),
      ("https://0x100000000000000000001/", .ipv4), ("https://09.1/", .ipv4),
      ("https://[::1/", .ipv6), ("https://[1:2:3]/", .ipv6), ("https://[::1%25eth0]/", .ipv6),
      ("https://[1::2::3]/", .ipv6), ("https://[12345::]/", .ipv6), ("https://[:1]/", .ipv6),
      ("https://[1:]/", .ipv6), ("https://[::1.2.3]/", .ipv6), ("https://[::1.2.3.04]/", .ipv6),
      ("https://[1:2:3:4:5:6:7:8:9]/", .ipv6), ("https://[::1]x/", .ipv6), ("https://[]/", .ipv6),
      ("https://a:65536/", .port), ("https://a:8x/", .port), ("https://a:-1/", .port),
      ("https://a:1:2/", .port),
      ("https://a/" + String(repeating: "x", count: 4087), .tooLong(4097)),
      ("https://a/" + String(repeating: " ", count: 2000) + "x", .tooLong(6011)),
    ] as [(String, ResourceURLError.Problem)])
  func invalidURLsAreRefused(_ text: String, _ problem: ResourceURLError.Problem) {
    #expect(throws: ResourceURLError(text: text, problem: problem)) { try ResourceURL(text) }
  }

  @Test func longestURLIsAccepted() throws {
    #expect(try ResourceURL("https://a/" + String(repeating: "x", count: 4086)).text.utf8.count == 4096)
  }

  @Test(
    arguments: [
      ("https://m.a.com:8080/b/c.js?d=e?f", "https", "m.a.com:8080", "m.a.com", "/b/c.js", "d=e?f"),
      ("http://[::1]:81", "http", "[::1]:81", "[::1]", "/", nil),
      ("http://[::1]/?", "http", "[::1]", "[::1]", "/", ""),
    ] as [(String, String, String, String, String, String?)])
  func parts(
    _ text: String, _ scheme: String, _ authority: String, _ host: String, _ path: String, _ query: String?
  ) throws {
    let url = try ResourceURL(text)
    #expect(url.scheme == scheme)
    #expect(url.authority == authority)
    #expect(url.host == host)
    #expect(url.path == path)
    #expect(url.query.map(String.init) == query)
  }

  @Test func canonicalFormIsStable() throws {
    var random = SplitMix(seed: 1)
    let pieces = [
      "a", "B", "/", "//", "\\", ".", "..", "%2e", "%2E", "%", "%4", "%41", "%c3", "?", "#", ":", "@", " ",
      "'",
      "^", "é", "日", "[", "]", "|", "&", "=", "+", ";", "\u{1}", "0x1", "1", "~", "{", "\"", "xn--",
    ]
    var accepted = 0
    for _ in 0..<20_000 {
      let tail = (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in
        pieces.randomElement(using: &random)
      }
      let prefix = ["https://", "http://a", "https://a/", "HTTP:\\\\"].randomElement(using: &random) ?? ""
      guard let url = try? ResourceURL(prefix + tail.joined()) else { continue }
      accepted += 1
      #expect(try ResourceURL(url.text) == url, "\(prefix + tail.joined())")
      #expect(url.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }
    #expect(accepted > 5_000)
  }
}
