import BuildCheck
import Manifests
import Testing
import TestSupport
import Values

@testable import Publishing

@Suite struct MappingTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  func source(_ base: String = "https://m.example.com/app/", mapsIndex: Bool = false) throws -> BundleSource {
    BundleSource(
      try BundleName("main"), folders: [.init(folder.path, baseURL: try BaseURL(base))], mapsIndex: mapsIndex)
  }

  @Test func urlsAndTypes() throws {
    let table = [
      ("a.js", "a.js", "application/javascript;charset=UTF-8"),
      ("with space.css", "with%20space.css", "text/css;charset=UTF-8"),
      ("100%.png", "100%25.png", "image/png"),
      ("q?.html", "q%3F.html", "text/html;charset=UTF-8"),
      ("h#.json", "h%23.json", "application/json;charset=UTF-8"),
      ("b\\s", "b%5Cs", "application/octet-stream"),
      ("日本/é.svg", "%E6%97%A5%E6%9C%AC/%C3%A9.svg", "image/svg+xml;charset=UTF-8"),
      ("dir.js/README", "dir.js/README", "application/octet-stream"),
    ]
    for (name, _, _) in table { try folder.write(name, "x") }
    let mapped = try Mapping.files(of: source())
    #expect(mapped.count == table.count)
    for (name, path, ctype) in table {
      let file = try #require(mapped.first { $0.file.path == name })
      #expect(file.url.text == "https://m.example.com/app/\(path)")
      #expect(file.ctype.text == ctype)
    }
    #expect(mapped.map(\.url) == mapped.map(\.url).sorted())
  }

  @Test func indexesAreAlsoFolders() throws {
    for name in ["index.html", "a/index.html", "a/xindex.html", "index.html.txt"] {
      try folder.write(name, "x")
    }
    #expect(
      try Mapping.files(of: source(mapsIndex: true)).map(\.url.text) == [
        "https://m.example.com/app/", "https://m.example.com/app/a/",
        "https://m.example.com/app/a/index.html",
        "https://m.example.com/app/a/xindex.html", "https://m.example.com/app/index.html",
        "https://m.example.com/app/index.html.txt",
      ])
    #expect(try Mapping.files(of: source()).count == 4)
  }

  @Test func overriddenTypes() throws {
    for name in ["a.foo", "x/b.foo", "c.js"] { try folder.write(name, "x") }
    var source = try source()
    source.types = [
      .init(try #require(Glob("x/*.foo")), try #require(ContentType("text/x"))),
      .init(try #require(Glob("*.foo")), try #require(ContentType("text/foo"))),
    ]
    #expect(
      try Mapping.files(of: source).map(\.ctype.text) == [
        "text/foo", "application/javascript;charset=UTF-8", "text/x",
      ])
  }

  /// Rules are combined; for a header in several rules the first match counts, and a null removes the header.
  @Test func headersByPattern() throws {
    for name in ["index.html", "embed/a.html", "app.js"] { try folder.write(name, "x") }
    func value(_ text: String) throws -> EntryHeaders.Value? { try EntryHeaders.Value(text) }
    var source = try source()
    source.headers = [
      .init(
        try #require(Glob("embed/*")), [.xFrameOptions: nil, .referrerPolicy: try value("origin")]),
      .init(
        try #require(Glob("*.html")),
        [.xFrameOptions: try value("DENY"), .permissionsPolicy: try value("camera=()")]),
    ]
    let texts = try Mapping.files(of: source).map {
      String(decoding: $0.headers.json.canonical, as: UTF8.self)
    }
    #expect(
      texts == [
        "{}", #"{"Permissions-Policy":"camera=()","Referrer-Policy":"origin"}"#,
        #"{"Permissions-Policy":"camera=()","X-Frame-Options":"DENY"}"#,
      ])
  }

  /// Patterns written for a bundle that match nothing in any of its folders are reported.
  @Test func patternsThatMatchNothing() throws {
    for name in ["one/index.html", "one/lib/a.js", "two/b.js", "two/b.js.map", "two/tmp/c.map"] {
      try folder.write(name, "x")
    }
    func written(_ pattern: String, _ keys: String) throws -> BundleSource.WrittenPattern {
      .init(try #require(Glob(pattern)), file: "xcache.json", keys: keys, excludes: keys == "exclude")
    }
    let patterns = [
      ("exclude", ["tmp", "*.map", "lib/*.ts", "*.bak"]), ("include", ["*.js", "*.html", "*.htm"]),
      ("headers", ["*.html", "*.htm", "b.js"]), ("ctypes", ["*.map", "*.bak", "a.js"]),
    ]
    var source = try source()
    source.folders = [
      .init(folder.path + "/one", baseURL: try BaseURL("https://m.example.com/1")),
      .init(folder.path + "/two", baseURL: try BaseURL("https://m.example.com/2")),
    ]
    for (keys, list) in patterns { source.written += try list.map { try written($0, keys) } }
    source.filter = FileFilter(
      include: try patterns[1].1.map { try #require(Glob($0)) },
      exclude: try patterns[0].1.map { try #require(Glob($0)) })
    let found = try FoundBundle(source)
    let (files, idle) = (try Mapping.files(of: found), found.idle)
    #expect(files.map(\.file.path) == ["index.html", "lib/a.js", "b.js"])
    let words = idle.map { "\($0.keys) \($0.pattern.text)" }
    #expect(
      words == [
        "exclude lib/*.ts", "exclude *.bak", "include *.htm", "headers *.htm", "ctypes *.map", "ctypes *.bak",
      ])
    #expect(Finding.all(idle + idle).count == idle.count)
  }

  @Test func duplicatesNameTheirFiles() throws {
    try folder.write("one/a b.js", "x")
    try folder.write("two/a b.js", "y")
    try folder.write("two/c.js", "y")
    let base = try BaseURL("https://m.example.com")
    let source = BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path + "/one", baseURL: base), .init(folder.path + "/two", baseURL: base)])
    #expect(
      words { _ = try Mapping.files(of: source) }
        == "files with the same URL:\n  https://m.example.com/a%20b.js: \(folder.path)/one/a b.js, \(folder.path)/two/a b.js"
    )
  }

  @Test func equivalentURLsAreDuplicates() throws {
    // %41 is an A: the two base URLs are spelled differently, but equivalent.
    try folder.write("one/x.js", "x")
    try folder.write("two/x.js", "y")
    let source = BundleSource(
      try BundleName("main"),
      folders: [
        .init(folder.path + "/one", baseURL: try BaseURL("https://m.example.com/A")),
        .init(folder.path + "/two", baseURL: try BaseURL("https://m.example.com/%41")),
      ])
    #expect(words { _ = try Mapping.files(of: source) }?.hasPrefix("files with the same URL:") == true)
  }

  @Test func twoSpellingsOfALetterAreTwoFiles() throws {
    try folder.write("\u{e9}.js", "x")
    try folder.write("e\u{301}.js", "y")
    #expect(try Mapping.files(of: source()).count == 2)
  }

  @Test func namesTooLongForAURL() throws {
    let part = String(repeating: "日", count: 80)
    let name = Array(repeating: part, count: 6).joined(separator: "/")
    try folder.write(name, "x")
    #expect(words { _ = try Mapping.files(of: source()) }?.contains("the limit is 4096") == true)
  }
}
