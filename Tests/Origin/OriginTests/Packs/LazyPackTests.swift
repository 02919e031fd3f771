import Manifests
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Packs between manifests with lazy entries, as devices get them that know of these, and others.
@Suite struct LazyPackTests {
  private static let old = (0..<900).map { "let a\($0) = \($0 &* 7919);\n" }.joined()
  private static let map = (0..<900).map { "\"AAAA\($0 &* 104_729)\"," }.joined()
  private static let asked = "/configure.json?app=shop&patch=1&pack=1"

  /// An origin whose second version changed a script and, lazy in both, its map.
  private func published() throws -> TestOrigin {
    let origin = try TestOrigin()
    try origin.publish(
      ["a.js": Self.old, "a.js.map": Self.map, "de.json": "{}", "x.txt": "x"], lazy: ["a.js.map", "de.json"])
    try origin.publish(["a.js": Self.old + "//", "a.js.map": Self.map + "1"], lazy: ["a.js.map"])
    return origin
  }

  private func pack(_ origin: TestOrigin, _ query: String) throws -> [UInt8]? {
    guard let path = try PackServingTests.pack(origin, "\(Self.asked)&\(query)")?.path else { return nil }
    return try origin.ask("GET", path).body
  }

  @Test func lazyFilesAreLeftOut() throws {
    let origin = try published()
    let bytes = try #require(try pack(origin, "version=1&lazy=1"))
    #expect(bytes.starts(with: Array("XPK2".utf8)))
    let device = try DecodedPack(bytes, of: origin, base: 1)
    #expect(device.manifest == (try origin.manifest(2)))
    #expect(Array(device.files.keys) == [SHA256.of(Array((Self.old + "//").utf8))])
  }

  /// Devices that don't say that they know of lazy entries, or don't accept packs.
  @Test(arguments: [
    "pack=1&version=1", "pack=1&version=1&lazy=0", "pack=1&version=1&lazy=", "lazy=1&version=1",
    "pack=0&lazy=1&version=1",
  ]) func othersGetThePatch(query: String) throws {
    let data = try published().ask("GET", "/configure.json?app=shop&patch=1&\(query)").json["data"]
    #expect((data?["patch"] ?? data?["resourcemap"]) != nil && data?["pack"] == nil)
  }

  /// A device without lazy entries knows nothing of them.
  @Test(arguments: ["", "&lazy=1"]) func firstLazyEntriesComeWithTheirFiles(query: String) throws {
    let origin = try TestOrigin()
    try origin.publish(["a.js": Self.old, "a.js.map": Self.map, "x.txt": "x"])
    try origin.publish(
      ["a.js": Self.old + "//", "a.js.map": Self.map + "1", "de.json": "{ }"], lazy: ["a.js.map", "de.json"])
    let bytes = try #require(try pack(origin, "version=1\(query)"))
    #expect(bytes.starts(with: Array("XPK1".utf8)))
    let device = try DecodedPack(bytes, of: origin, base: 1)
    #expect(device.manifest == (try origin.manifest(2)) && device.files.count == 3)
  }

  /// Where no lazy entry changes there is nothing to leave out, and devices of before take the pack, too.
  @Test func packsWithoutLazyChangesAreForAll() throws {
    let origin = try published()
    try origin.publish(["a.js": Self.old + "///"])
    for query in ["version=2", "version=2&lazy=1"] {
      let bytes = try #require(try pack(origin, query))
      #expect(bytes.starts(with: Array("XPK1".utf8)))
      #expect(try DecodedPack(bytes, of: origin, base: 2).manifest == (try origin.manifest(3)))
    }
  }

  /// Its bytes are the same, but devices may not have them. `DecodedPack` checks that no lazy file is a base.
  @Test func whatIsNoLongerLazyComesWithItsFile() throws {
    let origin = try published()
    try origin.publish(["a.js.map": Self.map + "1", "copy.json": "{}", "a.js": Self.map + "2"])
    let bytes = try #require(try pack(origin, "version=2"))
    let device = try DecodedPack(bytes, of: origin, base: 2)
    #expect(device.manifest == (try origin.manifest(3)))
    #expect(
      Set(device.files.keys)
        == Set([Self.map + "1", "{}", Self.map + "2"].map { SHA256.of(Array($0.utf8)) }))
  }

  /// The same pack is made after the release, from older versions.
  @Test func backlogLeavesLazyFilesOut() throws {
    let origin = try TestOrigin { $0.deltaWait = 0 }
    try origin.publish(["a.js": Self.old, "a.js.map": Self.map], lazy: ["a.js.map"])
    try origin.publish(["a.js": Self.old + "/", "a.js.map": Self.map + "0"], lazy: ["a.js.map"])
    try origin.publish(["a.js": Self.old + "//", "a.js.map": Self.map + "1"], lazy: ["a.js.map"])
    try origin.origin.startBackgroundWork()
    defer { origin.origin.beginStopping() }
    for base in [2, 1] as [Int64] {
      let query = "version=\(base)&lazy=1"
      #expect(try PackServingTests.becomesTrue { try pack(origin, query) != nil })
      let device = try DecodedPack(try #require(try pack(origin, query)), of: origin, base: base)
      #expect(device.manifest == (try origin.manifest(3)) && device.files.count == 1)
      #expect(try pack(origin, "version=\(base)") == nil)
    }
  }

  /// What a publisher is told is the pack that devices get.
  @Test func costIsThatOfThePack() throws {
    let origin = try published()
    let files = ["a.js": Self.old + "/// 3", "a.js.map": Self.map + "22"]
    let planned = try PackCostTests.prepare(origin, try origin.release(files, lazy: ["a.js.map"]))
    let cost = try #require(planned["last1"]?["pack"]?.integer)
    try origin.publish(files, lazy: ["a.js.map"])
    let bytes = try #require(try pack(origin, "version=2&lazy=1"))
    #expect(bytes.starts(with: Array("XPK2".utf8)) && cost == Int64(bytes.count))
  }
}
