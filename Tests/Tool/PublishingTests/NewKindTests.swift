import Manifests
import System
import Testing

@testable import Publishing

/// Kinds of files in a release that the live bundle doesn't have.
@Suite struct NewKindTests {
  private static func kinds(_ local: [String], live: [String]) throws -> [String] {
    let files = try local.map { try PlanTests.resource($0, $0) }
    let remote = RemoteBundle(
      version: ManifestVersion(1),
      entries: try live.sorted().map { .init(try PlanTests.resource($0, $0)) })
    return NewKind.kinds(of: try BundleName("main"), files, live: remote).map { "\($0.files) .\($0.ending)" }
  }

  @Test func newSourceMaps() throws {
    #expect(try Self.kinds(["a.js", "a.js.map", "d/b.css.map"], live: ["a.js"]) == ["2 .map"])
    #expect(try Self.kinds(["a.js", "a.js.map"], live: ["a.js", "b.js.map"]) == [])
    #expect(try Self.kinds(["a.js", "a.js.map"], live: []) == [], "a first release has no new kinds")
  }

  @Test func manyFilesOfANewKind() throws {
    let psd = (0..<12).map { "\($0).psd" }
    #expect(try Self.kinds(psd + ["a.js"], live: ["a.js"]) == ["12 .psd"])
    #expect(try Self.kinds(psd + ["a.js"], live: ["a.js", "x.PSD"]) == [], "in either case of letters")
    #expect(try Self.kinds(["a.js", "new.webp"], live: ["a.js"]) == [], "one new picture isn't a new kind")
    let most = (0..<100).map { "\($0).js" }
    #expect(try Self.kinds(most + psd, live: most) == [], "a tenth is too few")
    #expect(try Self.kinds(["a.js", ".htaccess", "name", "a.b/c"], live: ["a.js"]) == [])
  }
}
