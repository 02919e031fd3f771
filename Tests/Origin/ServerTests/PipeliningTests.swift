import HTTP
import System
import Testing

@Suite struct PipeliningTests {
  @Test(arguments: [1, 2, 10, 100, 1000]) func answersInOrder(_ depth: Int) throws {
    let server = try TestServer()
    let client = server.client()
    var requests = ""
    for index in 0..<depth { requests += "GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n" }
    client.send(requests)
    for index in 0..<depth { #expect(client.answer()?.text == "/\(index)") }
  }

  @Test(arguments: [10, 300]) func workersDoNotChangeTheOrder(_ depth: Int) throws {
    let server = try TestServer()
    let client = server.client()
    var requests = ""
    for index in 0..<depth {
      switch index % 4 {
      case 0: requests += "GET /later?\(index) HTTP/1.1\r\nHost: h\r\n\r\n"
      case 1: requests += "POST /collect HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
      case 2:
        requests += "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
      default: requests += "GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n"
      }
    }
    client.send(requests)
    for index in 0..<depth {
      let wanted = ["\(index)", "body", "/x", "/\(index)"][index % 4]
      #expect(client.answer()?.text == wanted)
    }
  }

  /// Heads are written into one buffer. A body that isn't copied into it, such as a file's, comes between two of them, however short it is.
  @Test(arguments: ["/file", "/large", "/pieces", "/file of 10 bytes"])
  func bodiesThatAreNotCopiedStayInOrder(_ name: String) throws {
    let server = try TestServer()
    let client = server.client()
    let length = [
      "/file": 3_000_000, "/large": 1_000_000, "/pieces": 1_000_002, "/file of 10 bytes": 10,
    ][name]
    let names = ["/0", name, "/1", name, name, "/2"]
    let requests = names.map { name in
      let words = name.split(separator: " ")
      let range = words.count > 1 ? "Range: bytes=0-9\r\n" : ""
      return "GET \(words[0]) HTTP/1.1\r\nHost: h\r\n\(range)\r\n"
    }
    client.send(requests.joined())
    for wanted in names {
      let answer = try #require(client.answer())
      if wanted == name { #expect(answer.body.count == length) } else { #expect(answer.text == wanted) }
    }
  }

  @Test func sleepingReaderGetsEverything() throws {
    let server = try TestServer()
    let client = server.client(receiveBuffer: 8_192)
    let kinds = ["/large", "/file", "/pieces", "/small", "/later?q"]
    let depth = 25
    for index in 0..<depth { client.send("GET \(kinds[index % 5]) HTTP/1.1\r\nHost: h\r\n\r\n") }
    Clock.sleep(for: .milliseconds(100))
    let lengths = [1_000_000, 3_000_000, 1_000_002, 6, 1]
    for index in 0..<depth { #expect(client.answer()?.body.count == lengths[index % 5]) }
  }

  @Test func requestsThatWaitForAReaderAreNotRead() throws {
    let server = try TestServer()
    let client = server.client(receiveBuffer: 8_192, seconds: 1)
    let request = [UInt8](
      "GET /large HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 8_000))\r\n\r\n".utf8)
    // Without back-pressure, the server would read everything, and hold an answer for each request.
    var sent = 0
    while sent < 20_000, client.send(request) { sent += 1 }
    #expect(sent < 20_000)
    #expect(server.server.metrics.bytesIn < 1_000_000)
  }
}
