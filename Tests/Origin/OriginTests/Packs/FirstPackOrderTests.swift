import Manifests
import System
import Testing
import Values

@testable import Origin

@Suite struct FirstPackOrderTests {
  /// Returns the paths of files in order, given by path and text.
  private static func order(_ files: [(path: String, text: String)]) throws -> [String] {
    var order = FirstPackOrder()
    for file in files.sorted(by: { $0.path < $1.path }) {
      let url = try ResourceURL("https://m.example.com/\(file.path)")
      let bytes = Array(file.text.utf8)
      let ending = String(file.path.split(separator: ".").last ?? "")
      let type = ["html": "text/html;charset=UTF-8", "js": "text/javascript", "png": "image/png"][ending]
      order.add(
        url,
        Entry(
          ctype: type ?? "application/octet-stream", download: "https://cdn.example.com/x",
          md5: MD5.of(bytes),
          sha256: SHA256.of(bytes), size: Int64(bytes.count), version: 1))
    }
    let texts = Dictionary(files.map { (SHA256.of(Array($0.text.utf8)), $0.text) }) { $1 }
    return order.ordered { file in texts[file.sha256].map { Array($0.utf8) } }
      .map { String($0.url.text.dropFirst("https://m.example.com/".count)) }
  }

  @Test func pagesComeFirstThenWhatTheyNameThenTheRest() throws {
    let order = try Self.order([
      ("deep/page.html", "2 <img src=photo.png>"),
      ("i.html", "1 <script src=\"/js/b.js\"></script><script src='js/a.js'>"),
      ("js/a.js", "a import(\"./d.js\")"), ("js/b.js", "b=[\"c.js\",'e.js?x']"), ("js/c.js", "c"),
      ("js/d.js", "d"),
      ("js/e.js", "e"), ("js/z.js", "z"), ("photo.png", "png"), ("a.woff2", "font"), ("other.png", "other"),
      ("b.JS", "up"),
    ])
    #expect(
      order == [
        "i.html", "deep/page.html", "js/b.js", "js/a.js", "photo.png", "js/c.js", "js/e.js", "js/d.js",
        "b.JS",
        "js/z.js", "other.png", "a.woff2",
      ])
  }

  /// Bytes that several URLs have come once, as a page if one of these is.
  @Test func equalFilesComeOnce() throws {
    #expect(try Self.order([("a.js", "same"), ("b.js", "same"), ("c.html", "other")]) == ["c.html", "a.js"])
    #expect(try Self.order([("a.bin", "same"), ("longer.html", "same"), ("b.html", "same")]) == ["b.html"])
    // By whichever name they are named.
    #expect(
      try Self.order([("0.js", "first"), ("a.js", "same"), ("b.js", "same"), ("c.html", "'b.js'")]) == [
        "c.html", "a.js", "0.js",
      ])
  }

  /// Names are whole words, a name may be several files', and pictures aren't read.
  @Test func namesAreWholeWords() throws {
    #expect(
      try Self.order([
        ("i.html", "xa.js a.jsx (a.js.map) b.js"), ("a.js", "1"), ("b.js", "2"), ("x/b.js", "3"),
      ]) == [
        "i.html", "b.js", "x/b.js", "a.js",
      ])
    #expect(
      try Self.order([("i.html", "p.png"), ("p.png", "z.js"), ("a.js", "1"), ("z.js", "2")]) == [
        "i.html", "p.png", "a.js", "z.js",
      ])
    #expect(
      try Self.order([("i.html", "ends in z.js"), ("a.js", "1"), ("z.js", "2")]) == [
        "i.html", "z.js", "a.js",
      ])
  }
}
