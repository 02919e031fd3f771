import BuildCheck
import Manifests
import Publishing
import System
import Testing
import TestSupport
import Values

@testable import xcache

@Suite struct SettingsTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  static let whole = """
    {"server": "https://origin.example.com/", "app": "shop", "channel": "test",
     "bundles": {
       "main": {"dirs": ["dist", {"dir": "static", "baseURL": "https://m.example.com/static"}, "/abs"],
         "baseURL": "https://m.example.com/", "include": ["*.js"], "exclude": ["*.map", "tmp"],
         "ctypes": {"*.foo": "text/foo", "x/*.foo": "text/x"}, "index": true,
         "headers": {"*.html": {"content-security-policy": "default-src 'self'"},
           "embed/*.html": {"Content-Security-Policy": null, "Referrer-Policy": "no-referrer"}}},
       "bare": {}}}
    """

  @Test func completeFile() throws {
    try folder.write("xcache.json", SettingsTests.whole)
    let settings = try Settings.file(from: folder.path)
    let path = try Kernel.realPath(folder.path)
    #expect(settings.file == path + "/xcache.json")
    #expect(settings.server?.text == "https://origin.example.com")
    #expect(settings.app?.text == "shop")
    #expect(settings.channel?.text == "test")
    #expect(settings.bundles.map(\.name.text) == ["bare", "main"])
    let main = try #require(settings.bundle(BundleName("main"))).source()
    #expect(main.folders.map(\.path) == [path + "/dist", path + "/static", "/abs"])
    #expect(
      main.folders.map(\.baseURL.text) == [
        "https://m.example.com", "https://m.example.com/static", "https://m.example.com",
      ])
    #expect(main.filter.exclude.map(\.text) == ["*.map", "tmp"])
    #expect(main.types.map(\.pattern.text) == ["x/*.foo", "*.foo"])
    #expect(main.mapsIndex)
    #expect(main.headers.map(\.pattern.text) == ["embed/*.html", "*.html"])
    #expect(
      main.headers.map(\.values) == [
        [.contentSecurityPolicy: nil, .referrerPolicy: try .init("no-referrer")],
        [.contentSecurityPolicy: try .init("default-src 'self'")],
      ])
  }

  /// Patterns for files that are never published needn't match; with --include, no pattern of the file needs to.
  @Test func patternsRecordTheirSource() throws {
    let text = SettingsTests.whole.replacing("\"tmp\"", with: "\"tmp\", \".DS_Store\", \"a/.git/\"")
    try folder.write("xcache.json", text)
    var main = try #require(try Settings.file(from: folder.path).bundle(BundleName("main")))
    let written = try main.source().written
    #expect(
      written.map { "\($0.keys) / \($0.pattern.text)\($0.excludes ? " out" : "")" } == [
        "bundles / main / ctypes / x/*.foo", "bundles / main / ctypes / *.foo",
        "bundles / main / exclude / tmp out",
        "bundles / main / headers / embed/*.html", "bundles / main / headers / *.html",
        "bundles / main / include / *.js",
      ])
    #expect(try written.allSatisfy { try $0.file == Kernel.realPath(folder.path) + "/xcache.json" })
    main.narrow(include: [], exclude: try [#require(Glob("more"))])
    var typed = try main.source().written
    #expect(
      typed.removeLast() == .init(try #require(Glob("more")), file: "", keys: "--exclude", excludes: true))
    #expect(typed == written && main.filter.exclude.last?.text == "more")
    main.narrow(include: try [#require(Glob("a.js"))], exclude: [])
    #expect(try main.source().written.map(\.keys) == ["--include"])
    #expect(main.filter.include.map(\.text) == ["a.js"])
  }

  @Test func flagsPrecedeTheFile() throws {
    try folder.write("xcache.json", SettingsTests.whole)
    let main = try #require(try Settings.file(from: folder.path).bundle(BundleName("main")))
    let source = try main.source(folders: ["other"], baseURL: BaseURL("http://x"), mapsIndex: false)
    #expect(source.folders == [.init("other", baseURL: try BaseURL("http://x"))])
    #expect(!source.mapsIndex)
    #expect(source.filter == main.filter)
  }

  @Test func nearestFileInAParentFolder() throws {
    try folder.write("xcache.json", #"{"app":"outer"}"#)
    try folder.write("a/xcache.json", #"{"app":"inner"}"#)
    try folder.write("a/b/c/file", "")
    try folder.write("d/file", "")
    #expect(try Settings.file(from: folder.path + "/a/b/c").app?.text == "inner")
    #expect(try Settings.file(from: folder.path + "/d").app?.text == "outer")
  }

  @Test func precedence() throws {
    var flags = Settings()
    flags.app = try AppName("flag")
    var environment = Settings()
    environment.app = try AppName("env")
    environment.channel = try ChannelName("env")
    environment.token = "t"
    var file = Settings()
    file.app = try AppName("file")
    file.channel = try ChannelName("file")
    file.server = try BaseURL("http://file")
    let merged = flags.over(environment).over(file)
    #expect(merged.app?.text == "flag")
    #expect(merged.channel?.text == "env")
    #expect(merged.token == "t")
    #expect(merged.server?.text == "http://file")
  }

  @Test(arguments: [
    ("{", "isn't JSON: it ends too early, at line 1, column 2; correct it"),
    ("{\n  \"app\": ö}", "isn't JSON: unexpected character at line 2, column 10"),
    (#"{"app":"a","app":"b"}"#, #"isn't JSON: the key "app" appears twice"#),
    ("[]", "should be an object"),
    (#"{"sever":"x"}"#, ": sever is not a key of xcache.json"),
    (#"{"token":"x"}"#, ": token: a token doesn't belong in a file that is shared; set XCACHE_TOKEN"),
    (
      #"{"server":"origin.example.com"}"#,
      ": server should be an http or https URL; origin.example.com has no scheme"
    ),
    (#"{"server":7}"#, ": server should be a URL"),
    (#"{"app":"7up"}"#, ": app should be an app's name"),
    (#"{"channel":"Test"}"#, ": channel should be a channel's name"),
    (#"{"bundles":{"-":{}}}"#, ": bundles / - should be a bundle's name"),
    (#"{"bundles":{"main":{"dir":"x"}}}"#, ": bundles / main / dir is not a key"),
    (#"{"bundles":{"main":{"dirs":"x"}}}"#, ": bundles / main / dirs should be a list"),
    (
      #"{"bundles":{"main":{"dirs":[{"baseURL":"http://x"}]}}}"#,
      ": bundles / main / dirs / item 1 should be a path"
    ),
    (#"{"bundles":{"main":{"baseURL":"x/y"}}}"#, ": bundles / main / baseURL should be"),
    (
      #"{"bundles":{"main":{"include":["a","["]}}}"#,
      #": bundles / main / include / item 2 should be a pattern, such as *.map, not "[""#
    ),
    (
      #"{"bundles":{"main":{"ctypes":{"*.x":"html"}}}}"#,
      ": bundles / main / ctypes / *.x should be a content type"
    ),
    (#"{"bundles":{"main":{"index":"yes"}}}"#, ": bundles / main / index should be true or false"),
    (
      #"{"bundles":{"main":{"headers":{"*.html":"DENY"}}}}"#,
      ": bundles / main / headers / *.html should be an object"
    ),
    (
      #"{"bundles":{"main":{"headers":{"*.html":{"Set-Cookie":"a=b"}}}}}"#,
      ": bundles / main / headers / *.html / Set-Cookie should be a header that entries may have: Content-Security-Policy, "
    ),
    (
      #"{"bundles":{"main":{"headers":{"*.html":{"X-Frame-Options":"DENY\r\nSet-Cookie: a=b"}}}}}"#,
      ": bundles / main / headers / *.html / X-Frame-Options should be a header's value, one line of ASCII: "
        + "the value has a line break at byte 4; write it on one line"
    ),
    (
      #"{"bundles":{"main":{"headers":{"*.html":{"X-Frame-Options":7}}}}}"#,
      "*.html / X-Frame-Options should be the header's value, or null"
    ),
    (
      #"{"bundles":{"main":{"headers":{"*.html":{"X-Frame-Options":"DENY","x-frame-options":"DENY"}}}}}"#,
      "*.html / x-frame-options should be given only once, whatever its case"
    ),
    (
      #"{"bundles":{"main":{"headers":{"[":{"X-Frame-Options":"DENY"}}}}}"#,
      ": bundles / main / headers / [ should be a pattern"
    ),
  ])
  func mistakesNameFileAndKey(_ text: String, _ expected: String) throws {
    let path = try Kernel.realPath(folder.path) + "/xcache.json"
    try folder.write("xcache.json", text)
    let message = try #require(words { _ = try Settings.file(from: folder.path) })
    #expect(message.hasPrefix(path))
    #expect(message.contains(expected), "\(message)")
  }

  @Test("Pages that a smoke test skips are patterns; other keys are refused") func smoke() throws {
    let json = try JSONValue.parse(Array(#"{"smoke":{"ignore":["popup.html","old/*"]}}"#.utf8))
    let settings = try Settings(json: json, file: "/x/xcache.json")
    #expect(settings.smokeIgnores.map(\.text) == ["popup.html", "old/*"])
    #expect(Settings().over(settings).smokeIgnores == settings.smokeIgnores)
    let fixtures = try JSONValue.parse(Array(#"{"smoke":{"fixtures":"test/api"}}"#.utf8))
    #expect(try Settings(json: fixtures, file: "/x/xcache.json").smokeFixtures == "/x/test/api")
    for text in [#"{"smoke":{"ignored":[]}}"#, #"{"smoke":{"ignore":"a"}}"#, #"{"smoke":[]}"#] {
      let wrong = try JSONValue.parse(Array(text.utf8))
      #expect(throws: SettingsError.self) { try Settings(json: wrong, file: "/x/xcache.json") }
    }
  }

  @Test func settingsNameRules() throws {
    let json = try JSONValue.parse(Array(#"{"check":{"off":["weight","name"],"ignore":["old/*"]}}"#.utf8))
    let settings = try Settings(json: json, file: "/x/xcache.json")
    #expect(settings.check.off == [.weight, .name] && settings.check.ignore.map(\.text) == ["old/*"])
    let wrong = try JSONValue.parse(Array(#"{"check":{"off":["wieght"]}}"#.utf8))
    let error = #expect(throws: SettingsError.self) { try Settings(json: wrong, file: "/x/xcache.json") }
    #expect(
      error?.message.contains("/x/xcache.json: check / off / item 1 should be a rule: missing, case") == true)
  }

  @Test func missingSettings() throws {
    var bundle = BundleSettings(try BundleName("main"))
    #expect(words { _ = try bundle.source() }?.hasPrefix("bundle main has no folder") == true)
    bundle.folders = [.init(path: "x", baseURL: nil)]
    #expect(words { _ = try bundle.source() }?.hasPrefix("bundle main has no base URL") == true)
  }
}

/// The message of a settings error, or nil if there is none.
private func words(_ body: () throws -> Void) -> String? {
  do {
    try body()
    return nil
  } catch let error as SettingsError {
    return error.message
  } catch {
    return "\(error)"
  }
}

/// The credentials saved by `login`.
@Suite struct ProfilesTests {
  let folder: Scratch

  init() throws { folder = try Scratch() }

  @Test("Concurrent logins are all saved, and only the owner can read them") func together() throws {
    let environment = ["XDG_CONFIG_HOME": folder.path + "/config"]
    try Parallel.forEach(8, threads: 8) { number in
      try Profiles.change(environment) {
        $0.put(
          .init(server: try BaseURL("https://origin\(number).example.com/"), token: "xcache_\(number)_x"))
      }
    }
    let profiles = try Profiles(environment)
    #expect(Set(profiles.profiles.map(\.token)) == Set((0..<8).map { "xcache_\($0)_x" }))
    #expect((try Kernel.status(profiles.path)?.mode ?? 0) & 0o777 == 0o600)
  }
}
