import Compression
import Manifests
import OriginAPI
import System
import Testing
import Values

@testable import Origin
@testable import Store

/// Files of a diff that went on under another URL.
@Suite struct RenamedFilesTests {
  private static let online = "apps/shop/channels/online"

  private static func content(_ text: String, _ type: String = "application/javascript") throws
    -> ResourceContent
  {
    let bytes = Array(text.utf8)
    return ResourceContent(
      md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(bytes.count),
      ctype: try #require(ContentType(type)))
  }

  private static func changes(_ old: [String: String], _ new: [String: String]) throws -> [ContentChange] {
    try Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted().map { path in
      ContentChange(
        url: try ResourceURL("https://m.example.com/\(path)"), was: try old[path].map { try content($0) },
        now: try new[path].map { try content($0) })
    }
  }

  /// The pairs as paths, old by new.
  private static func pairs(
    _ old: [String: String], _ new: [String: String], bases: [SHA256: [SHA256: Double]] = [:],
    sketches: [SHA256: Sketch] = [:]
  ) throws -> [String: String] {
    let renamed = RenamedFiles(try changes(old, new), bases: bases) { _ in sketches }
    func path(_ url: ResourceURL) -> String { String(url.text.dropFirst("https://m.example.com/".count)) }
    let pairs = renamed.before.map { (path($0.key), path($0.value.url)) }
    // Each is told from both sides, and no removed file is two others.
    #expect(renamed.after.count == renamed.before.count)
    for (new, old) in renamed.before { #expect(renamed.after[old.url] == new) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  struct Case: Sendable {
    let old: [String: String]
    let new: [String: String]
    let pairs: [String: String]
  }

  @Test(arguments: [
    // A hash in the name, in a folder's name, and a query.
    Case(
      old: ["js/app.1f3c77aa.js": "a"], new: ["js/app.9e8d7c6b.js": "b"],
      pairs: ["js/app.9e8d7c6b.js": "js/app.1f3c77aa.js"]),
    Case(
      old: ["_next/DkwSIi8sAb1/main.js": "a"], new: ["_next/Zk3SIi9sQb7/main.js": "b"],
      pairs: ["_next/Zk3SIi9sQb7/main.js": "_next/DkwSIi8sAb1/main.js"]),
    Case(old: ["app.js?v=1": "a"], new: ["app.js?v=2": "b"], pairs: ["app.js?v=2": "app.js?v=1"]),
    // The same bytes elsewhere, of which the one with the same name comes first.
    Case(old: ["a/x.js": "same"], new: ["b/y.js": "same"], pairs: ["b/y.js": "a/x.js"]),
    Case(
      old: ["logo.1f3c77aa.js": "same", "copy.js": "same"], new: ["logo.9e8d7c6b.js": "same"],
      pairs: ["logo.9e8d7c6b.js": "logo.1f3c77aa.js"]),
    // Other names, and nothing known of their content.
    Case(old: ["a.js": "a"], new: ["b.js": "b"], pairs: [:]),
    // Two of a name: which is which isn't known.
    Case(
      old: ["index.1f3c77aa.js": "a", "index.2f3c77aa.js": "b"],
      new: ["index.3f3c77aa.js": "c", "index.4f3c77aa.js": "d"],
      pairs: [:]),
    // One of a name is left over: it is the other one only if it is as large, more or less.
    Case(
      old: ["index.1f3c77aa.js": "same", "index.2f3c77aa.js": "0123456789"],
      new: ["index.3f3c77aa.js": "same", "index.4f3c77aa.js": "012"],
      pairs: ["index.3f3c77aa.js": "index.1f3c77aa.js"]),
    Case(
      old: ["index.1f3c77aa.js": "same", "index.2f3c77aa.js": "0123456789"],
      new: ["index.3f3c77aa.js": "same", "index.4f3c77aa.js": "012345678"],
      pairs: ["index.3f3c77aa.js": "index.1f3c77aa.js", "index.4f3c77aa.js": "index.2f3c77aa.js"]),
    // A changed file stays a changed one; what is only added or only removed has no pair.
    Case(old: ["app.js": "a"], new: ["app.js": "b", "app.1f3c77aa.js": "a"], pairs: [:]),
    Case(old: [:], new: ["app.1f3c77aa.js": "a"], pairs: [:]),
  ])
  func byNameAndBytes(_ one: Case) throws {
    #expect(try Self.pairs(one.old, one.new) == one.pairs)
  }

  @Test func deltasSayWhichOfANameIsWhich() throws {
    let old = ["index.1f3c77aa.js": "first", "index.2f3c77aa.js": "second"]
    let new = ["index.3f3c77aa.js": "second, later", "index.4f3c77aa.js": "first, later"]
    func digest(_ text: String) -> SHA256 { SHA256.of(Array(text.utf8)) }
    let bases = [
      digest("second, later"): [digest("second"): 0.9, digest("first"): 0.3],
      digest("first, later"): [digest("first"): 0.8],
    ]
    #expect(
      try Self.pairs(old, new, bases: bases)
        == ["index.3f3c77aa.js": "index.2f3c77aa.js", "index.4f3c77aa.js": "index.1f3c77aa.js"])
    // Without a name in common, a delta that saves little is no pair.
    let poor = [digest("other"): [digest("first"): 0.3]]
    #expect(try Self.pairs(["a.js": "first"], ["b.js": "other"], bases: poor).isEmpty)
    let good = [digest("other"): [digest("first"): 0.7]]
    #expect(try Self.pairs(["a.js": "first"], ["b.js": "other"], bases: good) == ["b.js": "a.js"])
  }

  @Test func sketchesSayItWithoutADelta() throws {
    func lines(_ word: String) -> String {
      (0..<300).map { "export const \(word)\($0) = \($0 * 7);\n" }.joined()
    }
    let old = ["index.1f3c77aa.js": lines("red"), "index.2f3c77aa.js": lines("blue")]
    let new = ["index.3f3c77aa.js": lines("blue") + "more();", "index.4f3c77aa.js": lines("red") + "more();"]
    let texts = Array(old.values) + Array(new.values)
    let sketches = Dictionary(
      uniqueKeysWithValues: texts.map { (SHA256.of(Array($0.utf8)), Sketch(Array($0.utf8), .tokens)) })
    #expect(
      try Self.pairs(old, new, sketches: sketches)
        == ["index.3f3c77aa.js": "index.2f3c77aa.js", "index.4f3c77aa.js": "index.1f3c77aa.js"])
  }

  /// A hundred thousand files with the same bytes, and as many with the same name, take no square of them.
  @Test(.timeLimit(.minutes(1))) func manyAlike() throws {
    let number = 20_000
    func files(_ hash: String, _ text: String) -> [String: String] {
      Dictionary(uniqueKeysWithValues: (0..<number).map { ("index.\(hash)\(100_000 + $0).js", text) })
    }
    #expect(try Self.pairs(files("a", "same"), files("b", "same")).count == number)
    #expect(try Self.pairs(files("a", "one"), files("b", "other")).isEmpty)
  }

  @Test func diffTellsThem() throws {
    let origin = try TestOrigin()
    let text = String(repeating: "export const total = 1;\n", count: 200)
    try origin.publish(["js/app.1f3c77aa.js": text, "index.html": "1", "old.js": "gone"])
    try origin.publish(
      ["js/app.9e8d7c6b.js": text + "more();", "index.html": "2", "new.png": "new"],
      remove: ["js/app.1f3c77aa.js", "old.js"])
    func diff(_ query: String) throws -> DiffAnswer {
      try origin.api("GET", "\(Self.online)/diff?from=1&to=2\(query)").json.decode(DiffAnswer.self)
    }
    let whole = try diff("")
    let added = try #require(whole.added.first { $0.url.hasSuffix("app.9e8d7c6b.js") })
    let removed = try #require(whole.removed.first { $0.url.hasSuffix("app.1f3c77aa.js") })
    #expect(whole.renamed == 1 && added.renamedFrom?.url == removed.url && removed.renamedTo == added.url)
    #expect(added.renamedFrom?.sha256 == removed.sha256 && added.renamedFrom?.size == removed.size)
    #expect(whole.removed.first { $0.url.hasSuffix("old.js") }?.renamedTo == nil)
    #expect(whole.added.first { $0.url.hasSuffix("new.png") }?.renamedFrom == nil)
    // A filter that finds one name finds both; a page has what it says although the partner is on another one.
    for words in ["1f3c77aa", "9e8d7c6b"] {
      let some = try diff("&limit=10&filter=\(words)")
      #expect(some.added.count == 1 && some.removed.count == 1 && some.renamed == 1)
      #expect(some.counts == ChangeCounts(added: 1, changed: 0, removed: 1))
    }
    var (after, seen, renamed): (String, Int, [Int?]) = ("", 0, [])
    for _ in 0..<10 {
      let page = try diff("&limit=1\(after)")
      seen += page.added.count + page.changed.count + page.removed.count
      renamed.append(page.renamed)
      guard let next = page.next else { break }
      after = "&after=\(next)"
    }
    #expect(seen == 5 && Set(renamed) == [1])
    // Costs alone need no pairs.
    #expect(try diff("&limit=0").renamed == nil)
  }
}
