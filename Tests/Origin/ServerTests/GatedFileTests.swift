import HTTP
import Server
import System
import Testing

/// Files that are checked while they are sent.
@Suite struct GatedFileTests {
  /// Reads `count` bytes of a body, and whatever follows at once.
  private static func body(_ client: TestClient, _ bytes: inout [UInt8], _ count: Int) -> [UInt8] {
    while true {
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)), bytes.count - end.upperBound >= count {
        break
      }
      let piece = client.read(1 << 16)
      if piece.isEmpty { break }
      bytes += piece
    }
    let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? bytes.count
    return Array(bytes[end...])
  }

  @Test(arguments: [false, true]) func bytesAreSentAsTheyAreChecked(speaksTLS: Bool) throws {
    let server = try TestServer(speaksTLS: speaksTLS)
    let client = TestClient(server.address, speaksTLS: speaksTLS)
    client.send("GET /gated-later HTTP/1.1\r\nHost: x\r\n\r\nGET /later?next HTTP/1.1\r\nHost: x\r\n\r\n")
    var bytes: [UInt8] = []
    // The head waits for the first byte, too.
    #expect(server.events.has("asked for 0"))
    server.events.add("open 100")
    #expect(Self.body(client, &bytes, 100).count == 100)
    #expect(server.events.has("asked for 100"))
    server.events.add("open 1500000")
    #expect(Self.body(client, &bytes, 1_500_000).count == 1_500_000)
    #expect(server.events.has("asked for 1500000"))
    server.events.add("open 3000000")
    let whole = Self.body(client, &bytes, 3_000_050)
    #expect(Array(whole.prefix(3_000_000)) == TestHandler.pattern(3_000_000))
    #expect(String(decoding: whole.dropFirst(3_000_000), as: UTF8.self).hasSuffix("next"))
    #expect(String(decoding: bytes.prefix(15), as: UTF8.self) == "HTTP/1.1 200 OK")
  }

  @Test(arguments: ["/gated", "/gated-later"]) func failedCheckAbortsTheAnswerAndNotifiesTheOwner(
    path: String
  ) throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(server.events.has("asked for 0"))
    server.events.add("open 5000")
    var bytes: [UInt8] = []
    #expect(Self.body(client, &bytes, 5000).count == 5000)
    #expect(server.events.has("asked for 5000"))
    server.events.add("fail")
    #expect(Self.body(client, &bytes, 5001).count == 5000)
    #expect(server.events.has("bytes are missing"))
  }

  @Test func failedCheckBeforeTheFirstByteIsAnError() throws {
    let server = try TestServer()
    let client = server.client()
    client.send("GET /gated-later HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(server.events.has("asked for 0"))
    server.events.add("fail")
    var bytes: [UInt8] = []
    #expect(Self.body(client, &bytes, 9) == Array("it is bad".utf8))
    #expect(String(decoding: bytes.prefix(12), as: UTF8.self) == "HTTP/1.1 500")
  }

  /// Others aren't delayed meanwhile, and a client that disconnects cancels its answer.
  @Test func otherRequestsAreServedMeanwhile() throws {
    let server = try TestServer()
    var waiting = (0..<20).map { _ in server.client() }
    for client in waiting { client.send("GET /gated-later HTTP/1.1\r\nHost: x\r\n\r\n") }
    #expect(server.events.has("asked for 0"))
    let other = server.client()
    other.send("GET /later?other HTTP/1.1\r\nHost: x\r\n\r\n")
    var bytes: [UInt8] = []
    #expect(Self.body(other, &bytes, 5) == Array("other".utf8))
    waiting = []
    server.events.add("open 3000000")
    #expect(server.waitUntil { $0.open == 1 })
  }
}
