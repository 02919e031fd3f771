import Manifests
import System
import Testing
import Values

@testable import Store

@Suite struct ContentTableTests {
  /// A table returns the items it was made from, finds each URL, and none between them.
  @Test func roundTrips() throws {
    var items: [ContentTable.Element] = []
    for number in 0..<1000 {
      let bytes = Array("\(number)".utf8)
      let type = try #require(ContentType(number % 3 == 0 ? "text/css" : "image/\(number % 7)"))
      let headers: EntryHeaders =
        number % 5 == 0
        ? try EntryHeaders(json: JSONValue.parse(Array(#"{"X-Frame-Options":"DENY"}"#.utf8))) : EntryHeaders()
      let query = number % 2 == 0 ? "?v=/1?2" : ""
      let url = try ResourceURL("http\(number % 4 == 0 ? "s" : "")://a:8080/p/\(number)x\(query)")
      items.append(
        (
          url,
          ResourceContent(
            md5: MD5.of(bytes), sha256: SHA256.of(bytes), size: Int64(number), ctype: type, headers: headers,
            fallbacks: number % 11 == 0
              ? try PageFallbacks([.init(prefix: "/\(number % 2)/")]) : PageFallbacks(),
            isLazy: number % 13 == 0)
        ))
    }
    items.sort { $0.url < $1.url }
    var table = ContentTable()
    for (url, content) in items { table.append(url, content) }
    #expect(table.count == items.count)
    for (index, item) in items.enumerated() {
      #expect(table[index] == item)
      #expect(table[index].url.path == item.url.path && table[index].url.query == item.url.query)
      #expect(table.sha256(at: index) == item.content.sha256)
      #expect(table.isLazy(at: index) == item.content.isLazy)
      #expect(table.index(of: item.url) == index)
      #expect(table.index(of: try ResourceURL(item.url.text + "0")) == nil)
    }
    #expect(table.index(of: try ResourceURL("http://0/")) == nil)
    #expect(ContentTable().index(of: try ResourceURL("http://0/")) == nil)
  }
}
