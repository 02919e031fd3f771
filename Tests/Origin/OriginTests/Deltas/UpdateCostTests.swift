import Manifests
import Store
import System
import Testing
import Values

@testable import Origin

/// The cost of an update, estimated without examining every file of a large manifest.
@Suite struct UpdateCostTests {
  private let origin: TestOrigin
  private var facts: DerivedFacts { DerivedFacts(store: origin.store) }

  init() throws { origin = try TestOrigin() }

  /// Uploads files without a release.
  private func contents(_ texts: [String], isLazy: (Int) -> Bool = { _ in false }) throws -> ContentTable {
    var table = ContentTable()
    for (number, text) in texts.enumerated() {
      let bytes = Array(text.utf8)
      let (md5, sha256) = (MD5.of(bytes), SHA256.of(bytes))
      _ = try origin.store.receive(
        bytes.span.bytes, BlobClaim(sha256: sha256, md5: md5, size: Int64(bytes.count)))
      let type = try #require(ContentType("application/javascript;charset=UTF-8"))
      table.append(
        try ResourceURL("https://m.example.com/\(1000 + number).js"),
        ResourceContent(
          md5: md5, sha256: sha256, size: Int64(bytes.count), ctype: type, isLazy: isLazy(number)))
    }
    return table
  }

  /// The number of files that were examined.
  private func examined(_ contents: ContentTable) throws -> Int {
    var count = 0
    for (_, content) in contents {
      if try origin.store.derived.plainSize(of: content.sha256, coded: true) != nil { count += 1 }
    }
    return count
  }

  @Test func fewOfManySmallFilesAreExamined() throws {
    let contents = try contents(
      (0..<200).map { number in
        String(repeating: "export const number\(number % 7) = \(number);\n", count: 30 + number % 11)
      })
    let cost = UpdateCost(whole: contents, facts, judged: 10)
    #expect(try examined(contents) == 10)
    let exact = UpdateCost(whole: contents, facts)
    #expect(try examined(contents) == 200)
    #expect(cost.files == 200 && exact.files == 200)
    #expect(cost.plainBytes == cost.bytes)
    let ratio = Double(cost.bytes) / Double(exact.bytes)
    #expect(ratio > 0.8 && ratio < 1.25)
  }

  @Test func lazyFilesAreCountedByThemselves() throws {
    let texts = (0..<8).map { String(repeating: "let x = \($0);\n", count: 100 + $0) }
    let all = UpdateCost(whole: try contents(texts), facts)
    // The last one has the bytes of the first, which isn't lazy.
    let cost = UpdateCost(whole: try contents(texts + [texts[0]]) { $0 > 4 }, facts)
    #expect(all.files == 8 && all.lazyFiles == 0 && all.lazyBytes == 0)
    #expect(cost.files == 5 && cost.lazyFiles == 3 && cost.lazyBytes > 0)
    #expect(cost.bytes + cost.lazyBytes == all.bytes && cost.bytes == cost.plainBytes)
  }

  /// Large files are few, and have most of the bytes.
  @Test func largeFilesAreExaminedUpToALimit() throws {
    let contents = try contents((0..<4).map { String(repeating: "let x = \($0);\n", count: 7000) })
    let cost = UpdateCost(whole: contents, facts, exact: 100_000)
    #expect(try examined(contents) == 2)
    let exact = UpdateCost(whole: contents, facts)
    #expect(try examined(contents) == 4)
    let ratio = Double(cost.bytes) / Double(exact.bytes)
    #expect(ratio > 0.8 && ratio < 1.25)
  }
}
