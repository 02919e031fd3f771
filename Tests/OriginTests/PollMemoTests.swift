import HTTP
import Testing

@testable import Origin

@Suite struct PollMemoTests {
  private static func channel() throws -> ChannelCatalog {
    let origin = try TestOrigin()
    try origin.publish(["a.js": "a"])
    return try #require(origin.origin.catalog.current.channels.first)
  }

  private static func answer(_ text: String, _ channel: ChannelCatalog) -> PollMemo.Answer {
    PollMemo.Answer(document: .json(Array(text.utf8)), version: 1, channel: 1)
  }

  /// A thousand queries fall on sixty-four places: what is found is always the query's own.
  @Test func neverGivesAnotherQuerysAnswer() throws {
    let channel = try Self.channel()
    var memo = PollMemo()
    var kept: [Int: CodedDocument] = [:]
    for number in 0..<1000 {
      let answer = Self.answer("\(number)", channel)
      kept[number] = answer.document
      memo.keep(answer, for: Array("app=shop&version=\(number)".utf8).span.bytes, edition: 1)
    }
    var found = 0
    for number in 0..<1000 {
      guard let answer = memo.answer(to: Array("app=shop&version=\(number)".utf8).span.bytes, edition: 1)
      else { continue }
      found += 1
      #expect(answer.document === kept[number])
    }
    #expect((1...64).contains(found))
  }

  @Test func forgetsWithTheEdition() throws {
    var memo = PollMemo()
    let query = Array("version=1".utf8)
    memo.keep(Self.answer("a", try Self.channel()), for: query.span.bytes, edition: 1)
    #expect(memo.answer(to: query.span.bytes, edition: 1) != nil)
    #expect(memo.answer(to: query.span.bytes, edition: 2) == nil)
    #expect(memo.answer(to: Array("version=2".utf8).span.bytes, edition: 1) == nil)
  }

  @Test func aReleaseIsSeenByTheNextPoll() throws {
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
