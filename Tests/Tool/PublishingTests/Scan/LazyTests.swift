import BuildCheck
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Publishing

/// Lazy files of a bundle's settings, and those that are proposed for a build.
@Suite struct LazyTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  private func source(_ patterns: String..., mapsIndex: Bool = false) throws -> BundleSource {
    let lazy = try patterns.map { pattern in
      BundleSource.WrittenPattern(
        try #require(Glob(pattern)), file: "xcache.json", keys: "bundles / main / lazy", excludes: false)
    }
    return BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path, baseURL: try BaseURL("https://m.example.com/app/"))], lazy: lazy,
      mapsIndex: mapsIndex, written: lazy)
  }

  private func write(_ paths: String...) throws {
    for path in paths { try folder.write(path, path) }
  }

  @Test func filesThatMatchAreLazy() throws {
    try write("index.html", "a.js", "a.js.map", "js/b.js.map", "locales/de.json", "locales/more/fr.json")
    let mapped = try Mapping.files(of: source("*.map", "locales/*.json"))
    #expect(
      mapped.filter(\.isLazy).map(\.file.path).sorted() == ["a.js.map", "js/b.js.map", "locales/de.json"])
    #expect(try Mapping.files(of: source()).allSatisfy { !$0.isLazy })
    let file = try #require(mapped.first { $0.isLazy })
    let digest = FileDigest(md5: .of([]), sha256: .of([]), size: 0)
    #expect(BuildFile(file, HashedFile(source: file.file, digest: digest)).content.isLazy)
  }

  @Test func pagesAreRefused() throws {
    try write("index.html", "docs/index.html", "docs/a.html", "docs/a.css")
    let start = "xcache.json: bundles / main / lazy: "
    let rest =
      "; pages can't be lazy, because after an update they would not open offline: write a pattern that matches none, such "
      + "as *.map or locales/*.json"
    #expect(
      words { _ = try Mapping.files(of: source("*.css", "docs", mapsIndex: true)) }
        == "\(start)\"docs\" matches 2 pages of bundle main, such as docs/a.html\(rest)")
    #expect(
      words { _ = try Mapping.files(of: source("docs/index.*", mapsIndex: true)) }
        == "\(start)\"docs/index.*\" matches docs/index.html, a page of bundle main\(rest)")
    #expect(words { _ = try Mapping.files(of: source("docs/*.css")) } == nil)
    #expect(PublishError.lazyPages(try source("docs").lazy[0], try BundleName("main"), []).exitCode == 2)
  }

  @Test func idlePatterns() throws {
    try write("index.html", "a.map")
    let found = try FoundBundle(source("*.map", "*.txt"))
    #expect(
      Finding.all(found.idle).map(\.text) == [
        "xcache.json: warning: bundles / main / lazy: the pattern \"*.txt\" matches no published file: correct or "
          + "remove it [pattern]"
      ])
  }

  @Test(
    arguments: [
      ("dist/*.map", "dist"), ("./dist/*.map", "dist"), ("/dist/a.map", "dist"), ("web/dist/**", "web/dist"),
      ("ist/*.map", nil), ("dist", nil), ("dist.map", nil), ("x/dist/*.map", nil),
    ] as [(String, String?)])
  func patternsThatNameTheFolder(pattern: String, folder name: String?) throws {
    try write("web/dist/index.html")
    let written = try source(pattern).written
    for path in ["\(folder.path)/web/dist", "\(folder.path)/web/dist/"] {
      let source = BundleSource(
        try BundleName("main"),
        folders: [.init(path, baseURL: try BaseURL("https://m.example.com/app/"))], written: written)
      #expect(try FoundBundle(source).idle.map(\.below) == [name])
    }
  }

  @Test func changedPatternsAreAnotherState() throws {
    try write("index.html", "a.map")
    let states = try [source(), source("*.map"), source("*.txt"), source("*.map", "*.txt")]
      .map { LocalState($0, [try Scan.files(in: folder.path)], program: "", settled: .max).sha256 }
    #expect(Set(states).count == 4)
  }

  // MARK: Proposals

  @Test(
    arguments: [
      (["index.html", "a.js"], []),
      (["a.js.map", "css/a.css.map"], []),
      // The forms of a font that browsers with woff2 pass over.
      (["f/A.woff2", "f/A.woff", "f/A.ttf", "f/A.eot"], ["*.eot", "*.ttf", "*.woff"]),
      (["f/A.woff2", "g/A.ttf"], []),
      (["f/A.woff2", "f/A.woff", "f/A.ttf", "f/B.ttf"], ["*.woff", "f/A.ttf"]),
      // Those of some families, though one of a family has its woff2 in the styles.
      (
        ["K-A.woff2", "K-A.ttf", "K-B.woff2", "K-B.ttf", "K-C.woff2", "K-C.ttf", "K-D.ttf", "KZ-A.ttf"],
        ["/K-*.ttf"]
      ),
      (["f/K_A.woff2", "f/K_A.ttf", "f/K_B.ttf"], []),
      (["A.ttf"], []),
      // With the hashes of Vite, webpack and Parcel.
      (
        [
          "KaTeX_AMS-Regular-BQhdFMY1.woff2", "KaTeX_AMS-Regular-DMm9YOAa.woff", "K-Bold.Dq_IR9rO.woff2",
          "K-Bold.Di6jR-x-.woff", "K-It-DRggAlZN.woff2", "K-It-yp-NvtU9.woff",
        ], ["*.woff"]
      ),
      (
        [
          "media/fa.20fd1704ea223900efa9.woff2", "media/fa.1e59d2330b4c6deb84b3.ttf",
          "media/b.20fd1704.woff2",
          "media/b.b3ffc1af.ttf",
        ], ["*.ttf"]
      ),
      (["F-Semibold.woff2", "F-Headline.ttf"], []), (["F-Bold.woff2", "F-Bold.ttf"], ["*.ttf"]),
    ] as [([String], [String])])
  func proposedPatterns(_ paths: [String], _ patterns: [String]) {
    #expect(LazyProposal(of: paths).patterns == patterns)
  }

  /// `init` leaves them out of the release, and says so.
  @Test func sourceMaps() {
    #expect(LazyProposal(of: ["a.js", "css/a.css.map"]).hasSourceMaps)
    #expect(!LazyProposal(of: ["a.js", "map"]).hasSourceMaps)
  }

  @Test func languages() {
    func proposed(_ names: [String], in folder: String = "locales/", _ more: String...) -> [String] {
      LazyProposal(of: names.map { folder + $0 } + more).patterns
    }
    let names = ["de.json", "en.json", "pt-BR.json", "zh_Hans.json", "es-419.json", "fil.json"]
    #expect(proposed(names) == ["locales/*.json"])
    #expect(proposed(Array(names.prefix(5))) == ["locales/*.json"])
    #expect(proposed(Array(names.prefix(4))) == [])
    #expect(proposed(names, "locales/de.js", "other/index.json") == ["locales/*.json"])
    // Another file of the folder would be lazy, too.
    #expect(proposed(names, "locales/index.json") == [])
    #expect(proposed(["us.svg", "gb.svg", "de.svg", "fr.svg", "it.svg", "es.svg"]) == [])
    #expect(proposed(names, in: "") == ["/*.json"])
    #expect(proposed(names, in: "a/[slug]/") == ["a/\\[slug]/*.json"])
    // Pages can't be lazy.
    #expect(proposed(names.map { $0.replacing(".json", with: ".html") }) == [])
  }

  /// The layouts of i18next, Angular, and others.
  @Test(arguments: [
    ("locales/*/app.json", ["locales/*/*.json"]), ("locales/*/a/app.json", []), ("*/app.json", ["*/*.json"]),
    ("messages.*.json", ["/messages.*.json"]), ("i18n/app-*.js", ["i18n/app-*.js"]),
    ("i18n/app_*.js", ["i18n/app_*.js"]), ("app.*.html", []), ("a.b.*.json", ["/a.b.*.json"]),
  ])
  func layoutsOfLanguages(path: String, patterns: [String]) {
    let names = ["de", "en", "pt-BR", "pt-PT", "zh_Hans", "fil"]
    let files = names.map { path.replacing("*", with: $0) }
    #expect(
      LazyProposal(of: files + ["a.js", "x/y.json"].filter { _ in path != "*/app.json" }).patterns == patterns
    )
    #expect(LazyProposal(of: Array(files.prefix(4))).patterns == [])
    // One that is no language.
    #expect(LazyProposal(of: files + [path.replacing("*", with: "index")]).patterns == [])
    for pattern in patterns {
      let glob = Glob(pattern)
      #expect(files.allSatisfy { glob?.matches($0) == true } && glob?.matches("other/x/de.json") == false)
    }
  }

  /// Each is an app of its own, which needs its scripts when it opens.
  @Test func foldersOfLanguagesWithPages() {
    let files = ["de", "en", "fr", "it", "es"].flatMap { ["app/\($0)/index.html", "app/\($0)/main.js"] }
    #expect(LazyProposal(of: files).patterns == [])
  }

  /// What is proposed matches what it was proposed for, and nothing more.
  @Test func proposedPatternsAreValid() throws {
    let names = ["de", "en", "fr", "it", "es"].map { "a/[slug]/\($0).json" }
    for pattern in LazyProposal(of: names).patterns {
      let glob = try #require(Glob(pattern))
      #expect(names.allSatisfy { glob.matches($0) } && !glob.matches("a/s/de.json"))
    }
    let top = try #require(Glob("/*.json"))
    #expect(top.matches("de.json") && !top.matches("a/de.json"))
  }
}
