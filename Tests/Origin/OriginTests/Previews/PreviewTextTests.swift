import HTTP
import Testing

@testable import Origin

/// What is changed in a text that is shown at another origin, and what stays.
@Suite struct PreviewTextTests {
  private static let text = PreviewText(
    [
      ("m.example.com", "aaa.localhost:81"), ("static.m.example.com", "bbb.localhost:81"),
      ("m.example.com:8443", "ccc.localhost:81"),
    ],
    scheme: "http")

  private func shown(_ text: String, isPage: Bool = false) -> String {
    let bytes = Array(text.utf8)
    var shown: [UInt8] = []
    var at = 0
    for edit in Self.text.edits(in: bytes.span.bytes, isPage: isPage) {
      shown += bytes[at..<edit.range.lowerBound] + edit.text
      at = edit.range.upperBound
    }
    return String(decoding: shown + bytes[at...], as: UTF8.self)
  }

  @Test(arguments: [
    ("https://m.example.com/a.js", "http://aaa.localhost:81/a.js"),
    ("HTTP://M.Example.COM", "http://aaa.localhost:81"),
    ("'//m.example.com/a'", "'//aaa.localhost:81/a'"),
    ("{\"u\":\"https:\\/\\/m.example.com\\/a\"}", "{\"u\":\"http:\\/\\/aaa.localhost:81\\/a\"}"),
    ("url(https://static.m.example.com/f.woff2)", "url(http://bbb.localhost:81/f.woff2)"),
    (
      "https://m.example.com:8443/x https://m.example.com/x",
      "http://ccc.localhost:81/x http://aaa.localhost:81/x"
    ),
    ("\"https://m.example.com\"+p", "\"http://aaa.localhost:81\"+p"),
  ])
  func hostsOfTheVersionLeadToTheirTickets(text: String, wanted: String) { #expect(shown(text) == wanted) }

  @Test(arguments: [
    "https://m.example.com.evil.org/", "https://m.example.community/", "https://m.example.com:9/",
    "https://other.example.com/",
    "https://evil.org/m.example.com", "https://user@m.example.com/", "https://m.example.com@evil.org/",
    "wss://m.example.com/s",
    "xhttps://m.example.com/", "a//m.example.com/", "m.example.com", "https%3A%2F%2Fm.example.com", "https:",
    "//", "\\/\\/", "",
  ])
  func othersStay(text: String) { #expect(shown(text, isPage: true) == text) }

  @Test func integrityOfScriptsAndStylesGoes() {
    let page = """
      <link rel=stylesheet INTEGRITY='sha384-x' href=a.css><script integrity="a>b" src=a.js></script>
      <script>const integrity = "<link integrity=1>"</script><p integrity=x><scripts integrity=x><link data-x=' integrity=y'>
      """
    let wanted = """
      <link rel=stylesheet data-integrity='sha384-x' href=a.css><script data-integrity="a>b" src=a.js></script>
      <script>const integrity = "<link integrity=1>"</script><p integrity=x><scripts integrity=x><link data-x=' integrity=y'>
      """
    #expect(shown(page, isPage: true) == wanted)
    #expect(shown(page) == page)
  }

  /// Tags, quotes and hosts that don't end, and one that both rules find.
  @Test(arguments: [
    "<link", "<script integrity", "<link integrity=", "<link integrity=\"", "<script x=y", "<link //",
    "<script>", "<script></scrip",
  ])
  func cutMarkupIsReadToItsEnd(text: String) {
    #expect(shown(text, isPage: true).count >= text.count)
    #expect(shown(text + "//m.example.com", isPage: true).count >= text.count)
  }

  @Test func changesNeverOverlap() {
    let text = PreviewText([("integrity", "x.localhost")], scheme: "http")
    let bytes = Array("<link //integrity https://integrity".utf8)
    var end = 0
    for edit in text.edits(in: bytes.span.bytes, isPage: true) {
      #expect(edit.range.lowerBound >= end && edit.range.upperBound <= bytes.count)
      end = edit.range.upperBound
    }
  }

  @Test func changesAreLimited() {
    let bytes = Array(String(repeating: "//m.example.com ", count: PreviewText.editLimit + 10).utf8)
    #expect(Self.text.edits(in: bytes.span.bytes, isPage: false).count == PreviewText.editLimit)
  }

  // MARK: - Where previews are

  @Test func addressHasOneLabelForEachTicket() throws {
    let address = try PreviewAddress("https://*.Preview.Example.com/")
    #expect(address.pattern == "https://*.preview.example.com")
    #expect(address.origin(of: "abc") == "https://abc.preview.example.com")
    #expect(PreviewAddress(localPort: 8081).pattern == "http://*.localhost:8081")
    #expect(try PreviewAddress("http://*.localhost:8081") == PreviewAddress(localPort: 8081))
    #expect(try PreviewAddress("http://*.localhost") == PreviewAddress(localPort: 80))
  }

  @Test(arguments: [
    "https://preview.example.com", "https://*", "*.example.com", "https://a.*.example.com",
    "https://*.example.com/x",
    "https://*.example.com?x", "https://*.example.com;script-src *", "https://*.exam ple.com",
    "ftp://*.example.com",
    "https://*.a@b.com", "https://*.example.com:99999", "https://*.127.0.0.1", "",
  ])
  func otherAddressesAreRefused(text: String) {
    #expect(throws: PreviewAddress.Fault.form) { try PreviewAddress(text) }
  }

  @Test func plainAddressesAreForThisMachine() {
    #expect(throws: PreviewAddress.Fault.plain) { try PreviewAddress("http://*.preview.example.com") }
    #expect(throws: PreviewAddress.Fault.plain) { try PreviewAddress("http://*.notlocalhost") }
  }

  @Test(arguments: [
    ("abc.localhost:8081", "abc"), ("ABC.LocalHost:8081", "abc"), ("abc.localhost", "abc"),
    ("localhost:8081", nil),
    (".localhost:8081", nil), ("a.b.localhost:8081", nil), ("abc.localhost:80", nil), ("127.0.0.1:8081", nil),
    ("abc.localhost.evil.org", nil), ("abclocalhost:8081", nil), ("", nil),
  ])
  func hostsBelowTheNameHaveALabel(host: String, label: String?) {
    let bytes = Array(host.utf8)
    #expect(PreviewAddress(localPort: 8081).label(of: bytes.span.bytes) == label)
  }

  /// RFC 4648 §10.
  @Test(arguments: [("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")])
  func ticketsAreBase32(bytes: String, text: String) {
    #expect(PreviewTicket.text(of: Array(bytes.utf8)) == text)
  }

  @Test func ticketsAreLongAndDiffer() {
    let tickets = (0..<100).map { _ in PreviewTicket.make() }
    #expect(Set(tickets).count == 100 && tickets.allSatisfy { $0.utf8.count == PreviewTicket.length })
  }
}
