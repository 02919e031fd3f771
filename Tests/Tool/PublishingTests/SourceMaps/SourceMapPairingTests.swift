import System
import Testing
import TestSupport

@testable import Publishing

/// Which map belongs to which file of a build.
@Suite struct SourceMapPairingTests {
  private let folder: Scratch

  init() throws { folder = try Scratch() }

  private static func map(file: String? = nil) -> String {
    #"{"version":3,"mappings":""\#(file.map { #","file":"\#($0)""# } ?? "")}"#
  }

  private func write(_ files: [String: String], below name: String) throws {
    for (path, text) in files { try folder.write("\(name)/\(path)", text) }
  }

  /// Pairs, and returns the maps' paths by those of the files.
  private func pair(_ build: [String: String], _ maps: [String: String]) throws -> (
    pairs: [String: String], pairing: SourceMapPairing
  ) {
    try write(build, below: "site")
    try write(maps, below: "maps")
    let files = try Scan.files(in: folder.path + "/site")
    let pairing = try SourceMapPairing(folder.path + "/maps", files)
    var pairs: [String: String] = [:]
    for file in files { pairs[file.path] = pairing.pairs[file.location]?.path }
    return (pairs, pairing)
  }

  @Test func bySourceMappingURLThenNameThenMember() throws {
    let (pairs, pairing) = try pair(
      [
        "a.js": "a()\n//# sourceMappingURL=maps/one.js.map\n", "b.mjs": "b()\n",
        "c.css": "c{}\n/*# sourceMappingURL=https://x.example.com/m/c.css.map?v=1 */",
        "js/d.js": "d()\n//@ sourceMappingURL=%64.x.map", "e.3f1c.js": "e()", "f.js": "f()",
        "page.html": "<p>",
      ],
      [
        "maps/one.js.map": Self.map(), "b.mjs.map": Self.map(), "m/c.css.map": Self.map(),
        "js/d.x.map": Self.map(),
        "other.map": Self.map(file: "../static/e.3f1c.js"), "stray.js.map": Self.map(),
        "page.html.map": Self.map(),
        "broken.js.map": "no map", "notes.txt": "x",
      ])
    #expect(
      pairs == [
        "a.js": "maps/one.js.map", "b.mjs": "b.mjs.map", "c.css": "m/c.css.map", "js/d.js": "js/d.x.map",
        "e.3f1c.js": "other.map",
      ])
    #expect(pairing.found == 8 && pairing.paired == 5)
    #expect(pairing.unpaired.map(\.path).sorted() == ["broken.js.map", "page.html.map", "stray.js.map"])
    #expect(pairing.unpaired.filter { $0.reason != nil }.map(\.path) == ["broken.js.map"])
  }

  /// The folders decide between maps of the same name; where they don't, nothing is guessed.
  @Test func sameNames() throws {
    let (pairs, pairing) = try pair(
      ["one/app.js": "1", "two/app.js": "2", "app.js": "3"],
      ["build/one/app.js.map": Self.map(), "build/two/app.js.map": Self.map()])
    #expect(pairs == ["one/app.js": "build/one/app.js.map", "two/app.js": "build/two/app.js.map"])
    #expect(pairing.unpaired.isEmpty)
  }

  /// A map that isn't one belongs to nothing, whatever it is called.
  @Test func brokenMaps() throws {
    let (pairs, pairing) = try pair(
      ["a.js": "a", "b.js": "b"], ["a.js.map": #"{"version":3,"mappings":"!"}"#, "b.js.map": Self.map()])
    #expect(pairs == ["b.js": "b.js.map"] && pairing.paired == 1)
    #expect(pairing.unpaired.first?.reason?.contains("mappings") == true)
  }

  @Test func noneIsAnError() throws {
    #expect(throws: PublishError.self) { try pair(["a.js": "a"], ["b.js.map": Self.map()]) }
    #expect(throws: PublishError.self) {
      try SourceMapPairing(folder.path + "/site", try Scan.files(in: folder.path + "/site"))
    }
    #expect(throws: PublishError.self) { try SourceMapPairing(folder.path + "/nothing", []) }
    #expect(
      PublishError.noSourceMaps("dist", found: 3).message.hasPrefix(
        "none of the 3 source maps in dist belongs"))
    #expect(
      PublishError.noSourceMaps("dist", found: 1).message.hasPrefix(
        "the only source map in dist belongs to no script"))
    #expect(PublishError.noSourceMaps("dist", found: 0).exitCode == 3)
  }

  @Test(
    arguments: [
      ("//# sourceMappingURL=a.js.map", "js/x.js", "js/a.js.map"),
      ("//# sourceMappingURL=../m/a.js.map\n", "js/x.js", "m/a.js.map"),
      ("//# sourceMappingURL=/m/a.js.map", "js/x.js", "m/a.js.map"),
      ("//# sourceMappingURL=../../../a.map", "js/x.js", "a.map"),
      ("//# sourceMappingURL=old.map\n//# sourceMappingURL=new.map", "x.js", "new.map"),
      ("//# sourceMappingURL=data:application/json;base64,e30=", "x.js", nil),
      ("//# sourceMappingURL=", "x.js", nil),
      ("x()", "x.js", nil),
    ] as [(String, String, String?)])
  func references(tail: String, path: String, wanted: String?) {
    #expect(SourceMapPairing.reference(in: Array(tail.utf8), of: path) == wanted)
  }
}
