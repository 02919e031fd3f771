import Testing
import Values

@testable import BuildCheck

/// The small grammars within pages: character references, escapes in scripts, source sets, media types, positions.
@Suite struct TextTests {
  /// HTML standard, section 13.2.5.72; nil: a name that may be any reference.
  @Test(
    arguments: [
      ("a", "a"), ("&", "&"), ("&&amp;", "&&"), ("&amp", "&"), ("&ampx", "&ampx"), ("&amp=", "&amp="),
      ("&AMP;&LT&gt;", "&<>"), ("&quot;&apos;", "\"'"), ("&#65;&#x42;&#X43;", "ABC"), ("&#65x", "Ax"),
      ("&#;", "&#;"), ("&#x;", "&#x;"), ("&#xg", "&#xg"), ("&#0;", "\u{FFFD}"), ("&#xD800;", "\u{FFFD}"),
      ("&#99999999999999999999;", "\u{FFFD}"), ("&#x1F600;", "\u{1F600}"), ("&sol;&period;&num;", "/.#"),
      ("&nosuch;", nil), ("a&eacute;b", nil), ("&eacute", "&eacute"), ("&a=b&c=d", "&a=b&c=d"),
    ] as [(String, String?)])
  func characterReferences(text: String, decoded: String?) {
    #expect(CharacterReferences.decode(Array(text.utf8)[...]) == decoded)
  }

  /// ECMA-262, section 12.9.4.
  @Test(arguments: [
    (#"a"#, "a"), (#"\n\r\t"#, "\n\r\t"), (#"\x41\u0042\u{43}"#, "ABC"), (#"\u{1F600}"#, "\u{1F600}"),
    (#"\u{110000}"#, "\u{FFFD}"), (#"\ud83d"#, "\u{FFFD}"), (#"\'\"\\\/"#, #"'"\/"#), ("a\\\nb", "ab"),
    ("a\\\r\nb", "ab"), (#"\xg"#, "\u{FFFD}g"), ("a\\", "a"),
  ])
  func escapes(text: String, decoded: String) {
    let bytes = Array(text.utf8)
    #expect(ScriptText.decode(bytes, bytes.indices) == decoded)
  }

  /// "parse a srcset attribute": each URL, and its offset.
  @Test(
    arguments: [
      ("", []), (" , ,", []), ("a", ["a@0"]), ("a 1x", ["a@0"]), ("a,b", ["a,b@0"]),
      ("a, b", ["a@0", "b@3"]),
      ("a 1x,b 2x", ["a@0", "b@5"]), ("a,, b", ["a@0", "b@4"]), ("a (x,y) 1x, b", ["a@0", "b@12"]),
      ("data:a,b 1x, c", ["data:a,b@0", "c@13"]), ("\n\ta\t2x\n,\nb", ["a@2", "b@9"]), ("a (x, b", ["a@0"]),
    ] as [(String, [String])])
  func sourceSets(text: String, found: [String]) {
    #expect(SourceSet.urls(Array(text.utf8)).map { "\($0.url)@\($0.at)" } == found)
  }

  /// Lines and columns count from 1, columns in characters; offsets past the end give the end.
  @Test(
    arguments: [
      ("", 0, 1, 1), ("ab", 1, 1, 2), ("a\nb", 2, 2, 1), ("a\nb", 1, 1, 2), ("ä\u{1F600}b", 6, 1, 3),
      ("a\r\nb", 3, 2, 1), ("\n\n", 2, 3, 1), ("ab", 99, 1, 3),
    ] as [(String, Int, Int, Int)])
  func positions(text: String, at: Int, line: Int, column: Int) {
    let position = TextPosition(of: at, in: Array(text.utf8))
    #expect(position.line == line && position.column == column)
  }

  @Test func cursorStaysInItsRange() {
    var cursor = TextCursor(Array("xxABC</yy".utf8), 2..<7)
    #expect(cursor.starts(with: "abc") && !cursor.starts(with: "abc</y") && cursor.byte(4) == 0x2F)
    #expect(cursor.byte(5) == 0 && cursor.seek(text: "bc") && cursor.at == 3)
    #expect(!cursor.seek(text: "yy") && cursor.isAtEnd && cursor.at == 7 && cursor.byte == 0)
  }

  @Test(arguments: [
    ("text/html", "a", "page"), ("application/xhtml+xml", "a", "page"), ("text/css", "a.txt", "style"),
    ("application/javascript", "a", "script"), ("application/manifest+json", "a", "manifest"),
    ("application/json", "a.js.map", "sourceMap"), ("text/plain", "a.css.map", "sourceMap"),
    ("application/json", "a.map", "-"), ("image/svg+xml", "a.svg", "-"), ("application/json", "a.json", "-"),
  ])
  func forms(type: String, path: String, form: String) {
    #expect(TextForm(ctype: type, path: path).map { "\($0)" } ?? "-" == form)
  }

  private static func read(_ form: TextForm, _ text: String) throws -> ReadText {
    ReadText(form, Array(text.utf8), at: try ResourceURL("https://m.example.com/a/index.html"))
  }

  /// With a base that isn't an http URL, or is set by a script, relative references have no address.
  @Test(
    arguments: [
      ("<img src=x.png>", "https://m.example.com/a/x.png"),
      ("<base href=/b/><img src=x.png>", "https://m.example.com/b/x.png"),
      ("<base href='//cdn.example.com/'><img src=x.png>", "https://cdn.example.com/x.png"),
      ("<base href='#'><img src=x.png>", "https://m.example.com/a/x.png"),
      ("<base href='data:,'><img src=x.png>", nil), ("<base href='{{ root }}'><img src=x.png>", nil),
      ("<base href='data:,'><img src=https://n.example.com/x.png>", "https://n.example.com/x.png"),
      ("<img src='{{ x }}.png'>", nil),
    ] as [(String, String?)])
  func bases(html: String, url: String?) throws {
    let text = try Self.read(.page, "<!doctype html>" + html)
    #expect(text.url(of: try #require(text.references.first))?.text == url)
  }

  /// The base of a page fragment is unknown.
  @Test func fragmentsAreUncertain() throws {
    let piece = try Self.read(.page, "<img src=x.png>")
    #expect(!piece.isDocument && piece.references.map(\.isCertain) == [false])
  }

  @Test(arguments: [
    ("", true), ("{\"version\":3}", true), (" \n{", true), (")]}'\n{}", true), ("<html>", false),
    ("[]", false),
  ])
  func sourceMaps(text: String, isReadable: Bool) throws {
    #expect(try Self.read(.sourceMap, text).isReadable == isReadable)
  }

  @Test func manifests() throws {
    let text = """
      {"icons": [{"src": "i.png"}, {"sizes": "any"}, 7], "screenshots": [{"src": "s.png"}], "start_url": "./",
       "shortcuts": [{"url": "/new", "icons": [{"src": "n.png"}]}, null], "related": [{"url": "x"}]}
      """
    let read = try Self.read(.manifest, text)
    #expect(
      read.references.map(\.shown) == [
        "appIcon i.png", "appIcon s.png", "appIcon n.png", "appPage /new", "appPage ./",
      ])
    #expect(read.references.map { TextPosition(of: $0.at, in: Array(text.utf8)).line } == [1, 1, 2, 2, 1])
    for (text, isReadable) in [("", true), ("{}", true), ("[]", false), ("{", false), ("\"x\"", false)] {
      #expect(try Self.read(.manifest, text).isReadable == isReadable, "\(text)")
    }
  }
}
