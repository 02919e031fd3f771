import Manifests
import System
import Testing

@testable import Publishing

/// What a release by hand drops of the live bundle's `lazy` and `fallback`.
@Suite struct DroppedSettingsTests {
  private typealias Form = RemoteBundle.Entry.Form

  /// Compares files without `lazy` and `fallback` with live ones, of which those of `lazy` are lazy and those of `pages` answer routes.
  private static func dropped(
    _ local: [String], live: [String], lazy: Set<String> = [], pages: Set<String> = []
  ) throws -> DroppedSettings? {
    let entries = try live.sorted().map { name in
      let entry = RemoteBundle.Entry(try PlanTests.resource(name, name))
      let form = Form(
        ctype: entry.form.ctype, fallbacks: pages.contains(name) ? "[{}]" : Form.noFallbacks,
        isLazy: lazy.contains(name))
      return RemoteBundle.Entry(
        url: entry.url, form: form, md5: entry.md5, sha256: entry.sha256, size: entry.size)
    }
    return DroppedSettings(
      try BundleName("main"), try local.map { try PlanTests.resource($0, $0) },
      live: RemoteBundle(version: ManifestVersion(1), entries: entries))
  }

  @Test func filesThatStayAreCounted() throws {
    let names = ["a.html", "b.json", "c.json"]
    #expect(try Self.dropped(names, live: names) == nil)
    #expect(try Self.dropped(names, live: []) == nil)
    let both = try #require(
      try Self.dropped(names, live: names, lazy: ["b.json", "c.json"], pages: ["a.html"]))
    #expect(both.lazy == 2 && both.pages.count == 1 && both.pages[0].hasSuffix("a.html"))
    let one = try #require(try Self.dropped(["a.html", "b.json"], live: names, lazy: ["b.json", "c.json"]))
    #expect(one.lazy == 1 && one.pages.isEmpty)
    // What goes altogether isn't dropped by a setting.
    #expect(try Self.dropped(["a.html"], live: names, lazy: ["b.json", "c.json"]) == nil)
  }
}
