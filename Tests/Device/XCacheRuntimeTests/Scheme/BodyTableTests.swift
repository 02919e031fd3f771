import System
import Testing

@testable import XCacheRuntime

/// A `BodyTable` in a class, so that `#expect` can call its mutating methods.
private final class Table {
  var value: BodyTable
  init(_ limits: BodyTable.Limits = .init()) { value = BodyTable(limits) }
  var used: Int { value.used }
  var count: Int { value.count }

  func add(_ part: BodyPart, from origin: String = "https://m.test", at now: UInt64 = 0) -> Bool {
    value.add(part, from: origin, at: now)
  }

  func take(
    _ id: String, method: String = "POST", url: String = "https://m.test/api",
    origin: String? = "https://m.test", at now: UInt64 = 0
  ) -> BodyTable.TakeResult { value.take(id, method: method, url: url, origin: origin, at: now) }
}

@Suite struct BodyTableTests {
  private func part(
    _ id: String, _ bytes: [UInt8], of size: Int? = nil, number: Int = 0, url: String = "https://m.test/api"
  ) -> BodyPart {
    BodyPart(
      id: id, method: "POST", url: url, type: "text/plain", size: size ?? bytes.count, number: number,
      bytes: bytes)
  }

  private func body(_ bytes: [UInt8]) -> BodyTable.TakeResult {
    .body(PageBody(bytes: bytes, type: "text/plain", origin: "https://m.test"))
  }

  @Test func bodiesAreTakenOnce() {
    let table = Table()
    #expect(table.add(part("a", [1, 2, 3])))
    #expect(table.used == 3)
    #expect(table.take("a") == body([1, 2, 3]))
    #expect(table.take("a") == .missing && table.used == 0 && table.count == 0)
  }

  @Test func bodiesArriveInParts() {
    let table = Table()
    #expect(table.add(part("a", [1, 2], of: 5)))
    // Its size is reserved from the first part on.
    #expect(table.used == 5 && table.take("a") == .missing)
    #expect(table.add(part("a", [3, 4, 5], of: 5, number: 1)))
    #expect(table.take("a") == body([1, 2, 3, 4, 5]))
    #expect(table.add(part("empty", [])) && table.take("empty") == body([]))
  }

  @Test func partsMayArriveOutOfOrder() {
    let table = Table()
    #expect(table.add(part("a", [4, 5], of: 5, number: 2)) && table.used == 5)
    #expect(table.add(part("a", [1, 2], of: 5)) && table.take("a") == .missing)
    #expect(table.add(part("a", [3], of: 5, number: 1)))
    #expect(table.take("a") == body([1, 2, 3, 4, 5]))
    // As many bytes as announced, but one part is missing.
    #expect(table.add(part("b", [1], of: 2)) && table.add(part("b", [2], of: 2, number: 2)))
    #expect(table.take("b") == .missing)
  }

  /// A repeated part, one with more bytes than announced, and one with another size.
  @Test(arguments: [(0, [1], 5), (1, [3, 4, 5, 6], 5), (1, [3], 6)] as [(Int, [UInt8], Int)])
  func invalidPartsDropTheBody(_ number: Int, _ bytes: [UInt8], _ size: Int) {
    let table = Table()
    #expect(table.add(part("a", [1, 2], of: 5)))
    #expect(!table.add(part("a", bytes, of: size, number: number)))
    #expect(table.count == 0 && table.used == 0)
  }

  @Test func bodiesAreForOneRequest() {
    let table = Table()
    #expect(table.add(part("a", [1])))
    #expect(table.take("a", method: "PUT") == .refused)
    #expect(table.take("a", url: "https://m.test/other") == .refused)
    #expect(table.take("a", origin: "https://evil.test") == .refused)
    #expect(table.take("b") == .missing)
    // A request to its own origin may omit the origin.
    #expect(table.take("a", method: "post", origin: nil) == body([1]))
    #expect(table.add(part("c", [1], url: "https://api.m.test/x")))
    #expect(table.take("c", url: "https://api.m.test/x", origin: nil) == .refused)
    #expect(table.take("c", url: "https://api.m.test/x") == body([1]))
  }

  @Test func otherOriginsCanNeitherContinueNorDropABody() {
    let table = Table()
    #expect(table.add(part("a", [1], of: 2)))
    #expect(!table.add(part("a", [2], of: 2, number: 1), from: "https://evil.test"))
    #expect(table.add(part("a", [2], of: 2, number: 1)))
    #expect(table.take("a") == body([1, 2]))
  }

  @Test func sizeAndNumberAreLimited() {
    var limits = BodyTable.Limits()
    (limits.bytes, limits.count) = (10, 3)
    let table = Table(limits)
    #expect(table.add(part("a", [1], of: 6)) && !table.add(part("b", [1], of: 5)))
    #expect(table.add(part("c", [1, 2, 3, 4])) && table.used == 10)
    #expect(!table.add(part("d", [1])) && table.add(part("e", [])) && !table.add(part("f", [])))
    #expect(table.take("c") == body([1, 2, 3, 4]))
    #expect(table.add(part("b", [1, 2, 3])) && table.used == 9)
    #expect(!table.add(part("g", [], of: .max)))
  }

  @Test func unusedBodiesExpire() {
    let table = Table()
    let second: UInt64 = 1_000_000_000
    #expect(table.add(part("a", [1]), at: 10 * second) && table.add(part("b", [1], of: 2), at: 11 * second))
    #expect(table.add(part("b", [2], of: 2, number: 1), at: 69 * second))
    #expect(table.take("c", at: 71 * second) == .missing && table.count == 1 && table.used == 2)
    // A minute after the last part.
    #expect(table.take("b", at: 129 * second) == body([1, 2]))
  }

  @Test func bodiesMayComeAfterTheirRequests() async {
    let store = BodyStore()
    async let taken = store.take(
      "a", method: "POST", url: "https://m.test/api", origin: "https://m.test", within: .seconds(60))
    try? await Task.sleep(for: .milliseconds(50))
    #expect(store.add(part("a", [7]), from: "https://m.test"))
    #expect(await taken?.bytes == [7] && store.used == 0)
    #expect(
      await store.take("a", method: "POST", url: "https://m.test/api", origin: nil, within: .zero) == nil)
  }

  private static let id = String(repeating: "0f", count: 16)
  private static let head = """
    {"kind":"body","id":"\(id)","method":"PUT","url":"xcache-https://m.test/a?b=c","type":"","size":3,"part":0}
    """

  @Test func messagesAreParsed() {
    #expect(
      SchemeMessage(Self.head + "\nAQID")
        == .body(
          BodyPart(
            id: Self.id, method: "PUT", url: "https://m.test/a?b=c", type: "", size: 3, number: 0,
            bytes: [1, 2, 3])))
    let beacon = #"{"kind":"beacon","id":"\#(Self.id)","url":"xcache-https://m.test"}"# + "\n"
    #expect(SchemeMessage(beacon) == .beacon(id: Self.id, url: "https://m.test/"))
  }

  @Test(arguments: [
    "", "{}", "{}\n", head, head + "\n!!!!", head + "\nAQI",
    head.replacing(#""size":3"#, with: #""size":-1"#) + "\nAQID",
    head.replacing("xcache-https", with: "https") + "\nAQID", head.replacing("0f0f", with: "0f") + "\nAQID",
    head.replacing(#""body""#, with: #""bodies""#) + "\nAQID",
  ])
  func invalidMessagesAreRefused(_ text: String) { #expect(SchemeMessage(text) == nil) }
}
