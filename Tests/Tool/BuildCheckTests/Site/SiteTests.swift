import System
import Testing
import Values

@testable import BuildCheck

/// The file that a URL refers to, and its bundle.
@Suite struct SiteTests {
  private static func file(_ url: String, _ path: String? = nil, size: Int64 = 1) throws -> CheckedBundle.File
  {
    let name = String(url.split(separator: "/").last ?? "index.html")
    let path = path ?? name
    return CheckedBundle.File(
      url: try ResourceURL(url), ctype: .of(fileName: path), location: "/build/\(path)", path: path,
      size: size)
  }

  private static func site(_ urls: [String], bases: [String], others: [String] = []) throws -> Site {
    let bundle = CheckedBundle(
      try urls.map { try file($0) }, bases: try bases.map { try BaseURL($0) }, filter: FileFilter())
    return Site([bundle], others: try others.map { try BaseURL($0) })
  }

  @Test(
    arguments: [
      ("https://m.example.com/shop/a.js", "https://m.example.com/shop"),
      ("https://m.example.com/shop/sub/a.js", "https://m.example.com/shop/sub"),
      ("https://m.example.com/shopping/a.js", nil), ("https://m.example.com/shop", nil),
      ("http://m.example.com/shop/a.js", nil), ("https://m.example.com/shop/other/a.js", nil),
      ("https://m.example.com/shop/otherwise", "https://m.example.com/shop"),
    ] as [(String, String?)])
  func longestBaseWins(url: String, base: String?) throws {
    let site = try Self.site(
      [], bases: ["https://m.example.com/shop", "https://m.example.com/shop/sub"],
      others: ["https://m.example.com/shop/other", "https://m.example.com"])
    #expect(site.base(of: try ResourceURL(url))?.url.text == base)
  }

  @Test func filesByURL() throws {
    let site = try Self.site(
      [
        "https://m.example.com/a%20b.js", "https://m.example.com/x.js?v=1",
        "https://m.example.com/d/index.html",
      ],
      bases: ["https://m.example.com"])
    func place(_ url: String) throws -> Int? { site.file(try ResourceURL(url)) }
    #expect(try place("https://m.example.com/a b.js") == 0 && place("https://m.example.com/x.js") == nil)
    #expect(
      try place("https://m.example.com/x.js?v=1") == 1 && place("https://m.example.com/x.js?v=2") == nil)
    #expect(try site.fileWithoutQuery(ResourceURL("https://m.example.com/a%20b.js?v=2")) == 0)
    #expect(try site.fileWithoutQuery(ResourceURL("https://m.example.com/a%20b.js")) == nil)
    #expect(
      try ["d", "d/", "d/?q", ""].map { try site.isIndexed(ResourceURL("https://m.example.com/\($0)")) } == [
        true, true, true, false,
      ])
  }

  @Test func pathsAreDecoded() throws {
    let site = try Self.site([], bases: ["https://m.example.com/shop"])
    let base = try #require(site.base(of: ResourceURL("https://m.example.com/shop/a%20b/%E4%BD%A0.js")))
    #expect(
      try site.path(of: ResourceURL("https://m.example.com/shop/a%20b/%E4%BD%A0.js"), under: base)
        == "a b/你.js")
    // Bytes that aren't UTF-8 stay escaped.
    #expect(try site.path(of: ResourceURL("https://m.example.com/shop/%FF.js"), under: base) == "%FF.js")
  }

  // MARK: Reading

  private static func check(_ files: [CheckedBundle.File], _ texts: [String: String]) throws -> SiteCheck {
    SiteCheck([CheckedBundle(files, bases: [try BaseURL("https://m.example.com")], filter: FileFilter())]) {
      texts[$0].map { Array($0.utf8) }
    }
  }

  @Test func removedFileIsNamed() throws {
    let check = try Self.check([Self.file("https://m.example.com/gone.html")], [:])
    let error = #expect(throws: CheckError.self) { try check.read() }
    guard case .gone("/build/gone.html")? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    let folder = CheckedBundle.File(
      url: try ResourceURL("https://m.example.com/a.html"), ctype: .of(fileName: "a.html"), location: "/",
      path: "a.html", size: 1)
    let unreadable = #expect(throws: CheckError.self) { try Self.check([folder], [:]).read() }
    guard case .unreadable("/", let cause)? = unreadable else {
      Issue.record("\(String(describing: unreadable))")
      return
    }
    #expect(cause.code == .isDirectory)
  }

  /// A file with two URLs is read once; generated files and binary files aren't read.
  @Test func filesThatAreRead() throws {
    let page = "<!doctype html><meta charset=utf-8><p>"
    let files = [
      try Self.file("https://m.example.com/d/index.html", "d/index.html"),
      try Self.file("https://m.example.com/d/", "d/index.html"),
      try Self.file("https://m.example.com/large.js", size: FileCheck.limit + 1),
      try Self.file("https://m.example.com/a.png"),
    ]
    let check = try Self.check(files, ["/build/d/index.html": page])
    let report = check.report(try check.read())
    #expect(report.files == 4 && report.bytesRead == Int64(page.utf8.count) && report.findings == [])
  }

  @Test func missingFilesAreListed() throws {
    let text =
      "<!doctype html><meta charset=utf-8><img src=a.png><img src=https://n.example.com/b.png><a href=c.html>"
    let check = try Self.check([Self.file("https://m.example.com/index.html")], ["/build/index.html": text])
    #expect(
      try check.read().missing.map(\.text) == ["https://m.example.com/a.png", "https://m.example.com/c.html"])
  }

  // MARK: Names and sizes

  private static func names(_ files: [(path: String, size: Int64)]) throws -> [String] {
    let checked = try files.map { path, size in
      try file("https://m.example.com/\(path)", path, size: size)
    }
    let site = Site([CheckedBundle(checked, bases: [], filter: FileFilter())])
    return FileNames.findings(site, used: []).map(\.text)
  }

  @Test func emptyFiles() throws {
    #expect(
      try Self.names([
        ("index.html", 0), ("a/index.html", 0), ("b.html", 0), (".nojekyll", 0), ("a.png", 0), ("a.txt", 0),
      ])
      .map { String($0.prefix { $0 != "t" }) } == [
        "/build/index.h", "/build/a/index.h", "/build/b.h", "/build/a.png: warning: ",
      ])
  }

  /// A copy is reported if its original exists; a name that only begins like a pattern isn't.
  @Test func filesThatNoDeviceNeeds() throws {
    #expect(
      try Self.names([
        ("a.js", 1), ("a.js.gz", 1000), ("b.gz", 5), ("a.js.map", 7), ("map", 1), ("x/._a", 1),
        ("Thumbs.db", 2),
        ("Thumbs.dbx", 3), ("a~", 4), ("~a", 5),
      ]) == [
        "warning: 1 source map (7 B) is not needed on devices: leave it out with --exclude '*.js.map', or name it in "
          + "\"lazy\" in xcache.json; publish --source-maps DIR stores it where nobody can download it [weight]",
        "warning: 1 compressed copy (1.0 KB) is not needed on devices: leave it out with --exclude '*.gz' [weight]",
        "warning: 2 desktop files (3 B) are not needed on devices: leave them out with --exclude '._*' --exclude "
          + "'Thumbs.db' [weight]",
        "warning: 1 editor backup (4 B) is not needed on devices: leave it out with --exclude '*~' [weight]",
      ])
  }

  /// Each unusual character is named once.
  @Test func oddNames() throws {
    let file = CheckedBundle.File(
      url: try ResourceURL("https://m.example.com/x"), ctype: .of(fileName: "x"), location: "x",
      path: "a b c/%\u{7F}\u{1}\"<.x", size: 1)
    let site = Site([CheckedBundle([file], bases: [], filter: FileFilter())])
    #expect(
      FileNames.findings(site, used: []).map(\.message) == [
        "the name contains a space, %, a control character, \", <, which must be escaped in URLs: rename the file"
      ])
  }
}
