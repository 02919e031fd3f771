import HTTP
import Server
import System
import Testing

/// Files that are shorter than their answers' Content-Length.
@Suite struct ShortFileTests {
  @Test func answerIsAbortedAndTheOwnerNotified() throws {
    let server = try TestServer()
    for _ in 0..<3 {
      let client = server.client()
      client.send("GET /cut HTTP/1.1\r\nHost: x\r\n\r\nGET /after HTTP/1.1\r\nHost: x\r\n\r\n")
      var bytes: [UInt8] = []
      while case let piece = client.read(1 << 16), !piece.isEmpty { bytes += piece }
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(text.contains("Content-Length: 1000000\r\n"))
      // The client sees by the length that the body is incomplete, and gets nothing else that it could take for the rest.
      #expect(bytes.count < 400_000 && !text.contains("/after"))
    }
    #expect(server.events.has("bytes are missing"))
  }
}
