import BuildCheck
import Manifests
import System
import Testing
import TestSupport
import Values

@testable import Publishing

/// Fallbacks of a bundle's settings, and those that are proposed for a build.
@Suite struct FallbackTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  private func source(_ page: String, mapsIndex: Bool = false, _ prefixes: String...) throws -> BundleSource {
    BundleSource(
      try BundleName("main"),
      folders: [.init(folder.path, baseURL: try BaseURL("https://m.example.com/app/"))],
      fallbacks: try prefixes.map { prefix in
        .init(
          try ResourceURL("https://m.example.com\(page)"),
          try PageFallbacks.Rule(prefix: prefix, except: ["/app/api/*"]), file: "xcache.json",
          keys: "bundles / main / fallback / 1")
      }, mapsIndex: mapsIndex)
  }

  @Test func pagesHaveTheirRules() throws {
    try folder.write("index.html", "<p>")
    try folder.write("a.js", "1")
    let mapped = try Mapping.files(of: source("/app/%69ndex.html", mapsIndex: true, "/app/", "/old/"))
    #expect(mapped.map(\.fallbacks.rules.count) == [0, 0, 2])
    #expect(mapped.last?.fallbacks.rules.map(\.prefix) == ["/app/", "/old/"])
  }

  @Test(arguments: [
    (
      "/app/",
      "bundle main has no https://m.example.com/app/; did you mean https://m.example.com/app/index.html?"
    ),
    (
      "/app/gone.html",
      "bundle main has no https://m.example.com/app/gone.html; did you mean https://m.example.com/app/index.html?"
    ),
    (
      "/app/a.js",
      "https://m.example.com/app/a.js has the type application/javascript;charset=UTF-8, and only html can answer navigations: name a page"
    ),
  ])
  func pagesThatCannotBe(_ page: String, _ message: String) throws {
    try folder.write("index.html", "<p>")
    try folder.write("a.js", "1")
    var source = try source(page, "/app/")
    #expect(
      words { _ = try Mapping.files(of: source) }
        == "xcache.json: bundles / main / fallback / 1 / page: \(message)")
    // A part of the files may lack the page.
    source.skipsFallbacks = true
    #expect((words { _ = try Mapping.files(of: source) } == nil) == !page.hasSuffix(".js"))
  }

  @Test func changedRulesAreAnotherState() throws {
    try folder.write("index.html", "<p>")
    let states = try [
      source("/app/index.html"), source("/app/index.html", "/app/"), source("/app/index.html", "/"),
    ]
    .map { LocalState($0, [try Scan.files(in: folder.path)], program: "", settled: .max).sha256 }
    #expect(Set(states).count == 3)
  }

  @Test func cachedBundles() throws {
    let form = RemoteBundle.Entry.Form(ctype: "text/html", fallbacks: #"[{"prefix":"/"}]"#)
    let bundle = RemoteBundle(
      version: ManifestVersion(3),
      entries: [
        .init(url: "https://h/", form: form, md5: .of([]), sha256: .of([]), size: 0),
        .init(url: "https://h/a", form: .init(ctype: "text/html"), md5: .of([]), sha256: .of([]), size: 0),
        .init(
          url: "https://h/b", form: .init(ctype: "text/html", isLazy: true), md5: .of([]), sha256: .of([]),
          size: 0),
      ])
    #expect(RemoteBundle(cached: bundle.cached) == bundle)
  }

  /// A key that may sign the page may not take over the whole host.
  @Test func keysMustCoverPrefixes() throws {
    try folder.write("index.html", "<p>")
    let mapped = try Mapping.files(of: source("/app/index.html", "/", "/app/"))
    let content = ResourceContent(
      md5: .of([]), sha256: .of([]), size: 0, ctype: mapped[0].ctype, fallbacks: mapped[0].fallbacks)
    let item = ManifestItem(url: mapped[0].url, entry: Entry(content, download: "", version: 1))
    let places = ["/app/index.html", "/", "/app/"].map { "https://m.example.com\($0)" }
    #expect(item.places.map(\.text) == places)
    let rewriting = URLRewriting([
      .init(from: try BaseURL("https://m.example.com"), to: try BaseURL("https://t.example.com/x"))
    ])
    let moved = try #require(item.moved(by: rewriting))
    #expect(
      moved.places.map(\.text)
        == ["/x/app/index.html", "/x/", "/x/app/"].map { "https://t.example.com\($0)" })
    #expect(moved.entry.fallbacks.rules.map(\.except) == [["/x/app/api/*"], ["/x/app/api/*"]])
    let part = URLRewriting([
      .init(from: try BaseURL("https://m.example.com/app"), to: try BaseURL("https://t.example.com"))
    ])
    #expect(item.moved(by: part) == nil)
  }

  // MARK: Proposals

  private static let router = "history.pushState(a,'',b);addEventListener('popstate',f)"

  private func proposal() throws -> FallbackProposal? {
    FallbackProposal(folder.path, at: try BaseURL("https://m.example.com/app"))
  }

  @Test func onePageWithARouter() throws {
    #expect(try proposal() == nil)
    try folder.write("index.html", "<!doctype html><script src=/app/js/a.js></script>")
    try folder.write("js/a.js", "history.pushState(a,'',b)")
    #expect(try proposal() == nil)
    try folder.write("js/b.js", Self.router)
    let proposal = try #require(try proposal())
    #expect(proposal.page == "/app/index.html" && proposal.router == "js/b.js" && proposal.relative == nil)
    #expect(proposal.rule.prefix == "/app/" && proposal.rule.except == ["/app/api/*", "/app/*.*"])
    try folder.write("about.html", "<p>")
    #expect(try self.proposal() == nil)
  }

  /// Of several pages, the app is the only one that loads a router.
  @Test func onlyOnePageLoadsTheRouter() throws {
    try folder.write(
      "index.html", "<!doctype html><base href=/app/><script type=module src=./js/a.js></script>")
    try folder.write("js/a.js", "import './b.js'; import('./c.js')")
    try folder.write("js/b.js", "import './a.js'")
    try folder.write("js/c.js", Self.router)
    try folder.write("js/d.js", "1")
    try folder.write("lib/frame/index.html", "<!doctype html><script src=../../js/d.js></script>")
    try folder.write("404.html", "<!doctype html><script src=/app/js/c.js></script>")
    let proposal = try #require(try proposal())
    #expect(proposal.page == "/app/index.html" && proposal.router == "js/c.js" && proposal.relative == nil)
    try folder.write("lib/frame/index.html", "<!doctype html><script src=../../js/c.js></script>")
    #expect(try self.proposal() == nil)
  }

  /// Such as the demonstration of a site.
  @Test func anotherPageLoadsTheRouter() throws {
    try folder.write("index.html", "<!doctype html><p>")
    try folder.write("demo.html", "<!doctype html><script>\(Self.router)</script>")
    #expect(try proposal() == nil)
    try folder.write("demo/index.html", "<!doctype html><script>\(Self.router)</script>")
    #expect(try proposal() == nil)
    try Kernel.remove("\(folder.path)/demo.html")
    #expect(try proposal()?.rule.prefix == "/app/demo/")
  }

  /// What is proposed passes the check.
  @Test func relativeURLsLeaveOutDeeperRoutes() throws {
    try folder.write(
      "index.html",
      "<!doctype html><meta charset=utf-8><link rel=icon href=./i.png><script src=./a.js></script>")
    try folder.write("i.png", "1")
    try folder.write("a.js", Self.router)
    let proposal = try #require(try proposal())
    #expect(proposal.relative == "./a.js")
    #expect(proposal.rule.except == ["/app/api/*", "/app/*.*", "/app/*/*"])
    var source = try source(proposal.page)
    source.fallbacks = [
      .init(
        try ResourceURL("https://m.example.com\(proposal.page)"), proposal.rule, file: "xcache.json", keys: ""
      )
    ]
    #expect(try LocalCheck.report([source]).findings.isEmpty)
  }
}
