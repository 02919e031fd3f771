import HTTP
import Testing

@testable import Origin

@Suite struct PollMemoTests {
  private static func document(_ text: String) -> CodedDocument { .json(Array(text.utf8)) }

  /// A thousand queries share sixty-four slots: an entry found is always the query's own.
  @Test func entriesAreNeverThoseOfAnotherQuery() throws {
    var memo = PollMemo()
    var kept: [Int: CodedDocument] = [:]
    for number in 0..<1000 {
      let document = Self.document("\(number)")
      kept[number] = document
      let query = Array("app=shop&version=\(number)".utf8)
      memo.keep(document, version: 1, channel: 1, for: query.span.bytes, edition: 1)
    }
    var found = 0
    for number in 0..<1000 {
      let query = Array("app=shop&version=\(number)".utf8)
      guard let entry = memo.entry(for: query.span.bytes, edition: 1) else { continue }
      found += 1
      #expect(entry.document === kept[number])
    }
    #expect((1...64).contains(found))
  }

  @Test func entriesExpireWithTheEdition() throws {
    var memo = PollMemo()
    let query = Array("version=1".utf8)
    memo.keep(Self.document("a"), version: 1, channel: 1, for: query.span.bytes, edition: 1)
    #expect(memo.entry(for: query.span.bytes, edition: 1) != nil)
    #expect(memo.entry(for: query.span.bytes, edition: 2) == nil)
    #expect(memo.entry(for: Array("version=2".utf8).span.bytes, edition: 1) == nil)
  }

  @Test func nextPollSeesARelease() throws {
    let origin = try TestOrigin()
    let poll = {
      try origin.ask("GET", "/configure.json?app=shop&version=1").json["data"]?["version"]?.string
    }
    try origin.publish(["a.js": "one"])
    for _ in 0..<3 { #expect(try poll() == "1") }
    try origin.publish(["a.js": "two"])
    for _ in 0..<3 { #expect(try poll() == "2") }
  }
}
