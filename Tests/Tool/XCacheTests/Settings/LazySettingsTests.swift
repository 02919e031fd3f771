import BuildCheck
import Manifests
import Publishing
import Testing
import Values

@testable import xcache

/// The member `lazy` of a bundle in `xcache.json`.
@Suite struct LazySettingsTests {
  private static func settings(_ lazy: String) throws -> BundleSettings {
    let text = #"""
      {"bundles": {"main": {"dirs": ["dist"], "baseURL": "https://m.example.com/app/", "lazy": \#(lazy)}}}
      """#
    return try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "xcache.json").bundles[0]
  }

  @Test("Patterns keep their place, and should match something, but those for source maps") func forms()
    throws
  {
    var settings = try Self.settings(#"["*.map", "locales/*.json"]"#)
    let lazy = try settings.source().lazy
    #expect(lazy.map(\.pattern.text) == ["*.map", "locales/*.json"])
    #expect(lazy.allSatisfy { $0.file == "xcache.json" && $0.keys == "bundles / main / lazy" })
    #expect(try settings.source().written.map(\.pattern.text) == ["locales/*.json"])
    #expect(try Self.settings("[]").source().lazy.isEmpty)
    // A part of the files may lack them, and is lazy all the same.
    settings.narrow(include: [try #require(Glob("*.js"))], exclude: [])
    #expect(try settings.source().lazy == lazy)
    #expect(try settings.source().written.map(\.keys) == ["--include"])
  }

  @Test("A pattern that is excluded, too, should match something, also one for source maps") func excluded()
    throws
  {
    let text = #"""
      {"bundles": {"main": {"dirs": ["dist"], "baseURL": "https://m.example.com/app/", "lazy": ["*.map"], "exclude": ["*.map"]}}}
      """#
    let settings = try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "xcache.json").bundles[0]
    #expect(try settings.source().written.map(\.keys) == ["bundles / main / lazy"])
  }

  @Test(arguments: [
    (#""*.map""#, "lazy should be a list: […]"), ("[1]", "lazy / item 1 should be a pattern, such as *.map"),
    (#"["*.map", "a[b"]"#, #"lazy / item 2 should be a pattern, such as *.map, not "a[b""#),
    (#"{"*.map": true}"#, "lazy should be a list: […]"),
  ])
  func mistakes(_ lazy: String, _ message: String) {
    let error = #expect(throws: SettingsError.self) { try Self.settings(lazy) }
    #expect(error?.message == "xcache.json: bundles / main / \(message)")
  }

  @Test func keysThatAreNearlyRight() {
    let text = #"{"bundles": {"main": {"lasy": []}}}"#
    let error = #expect(throws: SettingsError.self) {
      try Settings(json: try JSONValue.parse(Array(text.utf8)), file: "xcache.json")
    }
    #expect(
      error?.message == "xcache.json: bundles / main / lasy is not a key of xcache.json; did you mean lazy?")
  }
}
