import HTTP
import System
import Testing
import TestSupport

@testable import Origin

@Suite struct ManifestMapTests {
  private static func rendered(_ map: ManifestMap) -> String {
    var bytes: [UInt8] = []
    map.forEachPart { bytes += $0.array }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func rendered(_ model: [String: String]) -> String {
    let members = model.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  @Test func emptyMapIsAnEmptyObject() {
    #expect(Self.rendered(.empty) == "{}")
    #expect(ManifestMap.empty.digest == SHA256.of(Array("{}".utf8)))
    #expect(ManifestMap.empty.byteCount == 2)
  }

  /// Random releases compared with a dictionary: bytes, digest, look-ups.
  @Test(arguments: 1...20) func randomReleasesEqualTheModel(seed: Int) {
    var generator = SplitMix(seed: UInt64(seed))
    var model: [String: String] = [:]
    var map = ManifestMap.empty
    for _ in 0..<30 {
      var changes: [String: String?] = [:]
      for _ in 0..<Int.random(in: 0...400, using: &generator) {
        let url = "https://m.example.com/\(Int.random(in: 0..<900, using: &generator))"
        changes[url] = .some(
          Int.random(in: 0..<3, using: &generator) == 0 ? nil : "{\"size\":\(generator.next() % 1000)}")
      }
      for (url, entry) in changes { model[url] = entry }
      let sorted = changes.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      map = map.applying(
        sorted.map { MapChange(url: Array($0.key.utf8), entry: $0.value.map { Array($0.utf8) }) })
      let expected = Self.rendered(model)
      #expect(Self.rendered(map) == expected)
      #expect(map.count == model.count)
      #expect(map.byteCount == expected.utf8.count)
      #expect(map.digest == SHA256.of(Array(expected.utf8)))
      #expect(map.pieces.allSatisfy { (1...2 * MapPiece.usualCount).contains($0.count) })
    }
    let reader = MapReader(map)
    let urls = model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    for url in urls.shuffled(using: &generator) {
      #expect(reader.entry(for: Array(url.utf8)).map { String(decoding: $0, as: UTF8.self) } == model[url])
      #expect(reader.index(of: Array(url.utf8)) == urls.firstIndex(of: url))
    }
    #expect(reader.entry(for: Array("https://m.example.com/none".utf8)) == nil)
    var iterated: [String] = []
    map.forEachURL { iterated.append(String(decoding: $0, as: UTF8.self)) }
    #expect(iterated == urls)
    let body = map.body([1, 2], [3]).part(2..<UInt64(2 + map.byteCount))
    let sent = body.flatMap { segment -> [UInt8] in
      guard case .bytes(let bytes, let range) = segment else { return [] }
      return Array(bytes.address[range])
    }
    #expect(String(decoding: sent, as: UTF8.self) == Self.rendered(model))
  }

  @Test func unchangedPiecesAreShared() {
    let entries = (100_000..<101_000).map { (url: Array("https://a/\($0)".utf8), entry: Array("{}".utf8)) }
    let map = ManifestMap(sorted: entries)
    let next = map.applying([MapChange(url: Array("https://a/100500".utf8), entry: Array("{\"a\":1}".utf8))])
    let shared = zip(map.pieces, next.pieces).filter { $0 === $1 }.count
    #expect(map.pieces.count == next.pieces.count)
    #expect(shared == map.pieces.count - 1)
  }
}
